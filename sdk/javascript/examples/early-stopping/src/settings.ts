/**
 * The settings of early stopping, their defaults, and which of them go together.
 * Does not judge values; `rule` does.
 */

import { boolean, choice, integer, number, text } from "host-sdk";
import type { Progress, Values } from "host-sdk";

import { KNOWN } from "./rule.ts";
import type { Terms } from "./rule.ts";

/** The largest number of 32 bits. */
const MOST = 2 ** 32 - 1;

export const settings = {
  monitor: text("The measurement to watch.", { default: "eval/loss" }),
  mode: choice("Whether lower or higher is better.", ["min", "max"], { default: "min" }),
  patience: integer("Stop after this many checks in a row without improvement. 0 is as 1.", {
    default: 3,
    min: 0,
    max: MOST,
  }),
  minDelta: number("A value has to be better than the best by more than this to count.", {
    default: 0,
    min: 0,
    below: Infinity,
  }),
  checkAt: choice("When the measurement is checked.", ["evaluate-end", "epoch-end", "step-end"], {
    default: "evaluate-end",
  }),
  checkEvery: integer("Check at every n-th occurrence of that moment.", { default: 1, min: 1, max: MOST }),
  warmUp: integer("Checks before this many steps are finished are left out.", { default: 0, min: 0 }),
  startFromEpoch: integer("Checks before this epoch, counted from 0, are left out.", { default: 0, min: 0 }),
  restoreBest: boolean("Save each new best, and put it back when the run ends.", { default: true }),
  tag: text("The tag of the best checkpoint.", { default: "best" }),
  rule: choice("Whose rule decides what is better and when to stop.", ["sound", "huggingface", "lightning", "keras"], {
    default: "sound",
  }),
  stoppingThreshold: number("Stop at a value better than this.", { optional: true }),
  divergenceThreshold: number("Stop at a value worse than this.", { optional: true }),
  checkFinite: boolean(
    "Stop at a value that is not finite. The default is the rule's: `true` for `lightning`, `false` for `sound`.",
    { optional: true },
  ),
  baseline: number("An improvement that does not beat this does not give the patience back.", { optional: true }),
};

export type EarlyStoppingSettings = Values<typeof settings>;

/** Refuses what the schema can't. */
export function check(values: EarlyStoppingSettings): void {
  const { rule, stoppingThreshold, divergenceThreshold, checkFinite, baseline } = values;
  const ofRules = {
    "stopping-threshold": stoppingThreshold,
    "divergence-threshold": divergenceThreshold,
    "check-finite": checkFinite,
    baseline,
  };
  for (const [name, value] of Object.entries(ofRules)) {
    if (value !== undefined && !KNOWN[rule].includes(name)) {
      throw new Error(`${name} is not part of the ${rule} rule; leave it out, or the rule`);
    }
  }
}

/** What a value is compared with. */
export function terms(values: EarlyStoppingSettings): Terms {
  return { ...values, checkFinite: values.checkFinite ?? values.rule === "lightning" };
}

export function isWarmingUp(values: EarlyStoppingSettings, progress: Progress): boolean {
  return progress.step < values.warmUp || epochIndex(progress) < values.startFromEpoch;
}

/** The epoch, counted from 0, that the last step belonged to: a check at the very end of an epoch is still about it. */
export function epochIndex(progress: Progress): number {
  return Math.max(0, Math.ceil(progress.epoch) - 1);
}
