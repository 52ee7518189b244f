/**
 * What goals can do: the keys that an action has, the hooks at which it means something, and its decision.
 * Does not decide when.
 */

import { HOOKS, matches } from "../../../sdk/javascript/src/index.js";
import type { Answer, Hook } from "../../../sdk/javascript/src/index.js";

import { didYouMean } from "./fault.ts";
import type { DO, GoalSettings } from "./settings.ts";

type Key = "tag" | "knob" | "value" | "factor" | "name";

const KEYS: readonly Key[] = ["tag", "knob", "value", "factor", "name"];

export interface Action {
  /** The keys that it has to be given. */
  readonly needs: readonly Key[];
  /** The keys that it can be given besides. */
  readonly takes: readonly Key[];
  /** The hooks at which the contract gives it a meaning. */
  readonly hooks: readonly Hook[];
  /** Whether its decision carries the reason. */
  readonly isSpoken: boolean;
  /** Adds the decision. `amount` is what `value` or `factor` came to. */
  readonly decide: (answer: Answer, goal: GoalSettings, words: string, amount: number) => void;
}

const except = (...hooks: Hook[]): readonly Hook[] => HOOKS.filter((hook) => !hooks.includes(hook));
const REQUEST = except("failure", "train-end");
const silent = { needs: [], takes: [], hooks: REQUEST, isSpoken: false };
const spoken = { ...silent, isSpoken: true };

export const ACTIONS: Readonly<Record<(typeof DO)[number], Action>> = {
  stop: { ...spoken, decide: (answer, _, words) => answer.stop(words) },
  "end-epoch": {
    ...spoken,
    hooks: except("train-begin", "epoch-end", "failure", "train-end"),
    decide: (answer, _, words) => answer.endEpoch(words),
  },
  evaluate: { ...silent, decide: (answer) => answer.evaluate() },
  save: { ...silent, takes: ["tag"], decide: (answer, goal) => answer.save(goal.tag) },
  log: { ...silent, decide: (answer) => answer.log() },
  skip: {
    ...spoken,
    hooks: ["step-begin", "gradients", "evaluate-begin", "save-begin"],
    decide: (answer, _, words) => answer.skip(words),
  },
  restore: {
    ...silent,
    needs: ["tag"],
    hooks: except("train-begin", "failure"),
    decide: (answer, goal) => answer.restore(goal.tag!),
  },
  set: {
    ...silent,
    needs: ["knob", "value"],
    hooks: except("train-end"),
    decide: (answer, goal, _, amount) => answer.set(goal.knob!, amount),
  },
  scale: {
    ...silent,
    needs: ["knob", "factor"],
    hooks: except("train-end"),
    decide: (answer, goal, _, amount) => answer.scale(goal.knob!, amount),
  },
  report: {
    ...silent,
    needs: ["name", "value"],
    hooks: HOOKS,
    decide: (answer, goal, _, amount) => answer.report(goal.name!, amount),
  },
  note: { ...spoken, hooks: HOOKS, decide: (answer, _, words) => answer.note(words) },
  mute: { ...silent, needs: ["name"], hooks: ["log"], decide: (answer, goal) => answer.mute(goal.name!) },
};

/**
 * What is wrong with a goal's action: its keys, its hook, its names.
 *
 * @param path where the goal stands: `goals[0]`
 * @param knobs the names of the run's knobs; none where they are not known
 */
export function problems(goal: GoalSettings, at: Hook, path: string, knobs: readonly string[]): string[] {
  const { needs, takes, hooks } = ACTIONS[goal.do];
  const found: string[] = [];
  for (const key of KEYS) {
    const isGiven = goal[key] !== undefined;
    if (!isGiven && needs.includes(key)) found.push(`${path}: \`${goal.do}\` needs ${key}`);
    if (isGiven && !needs.includes(key) && !takes.includes(key)) found.push(`${path}: \`${goal.do}\` has no ${key}`);
  }
  if (!hooks.includes(at)) {
    found.push(`${path}: \`${goal.do}\` means nothing at ${at}; it does at ${hooks.join(", ")}`);
  }
  if (goal.do === "save" && goal.tag !== undefined && !isTag(goal.tag)) {
    found.push(`${path}.tag is "${goal.tag}": it has to be 1 to 64 of a-z, 0-9 and -, and not last or step-<n>`);
  }
  if (goal.do === "report" && goal.name !== undefined && !/^[a-z0-9_./][a-z0-9\-_./]{0,63}$/.test(goal.name)) {
    found.push(`${path}.name is "${goal.name}": it has to be 1 to 64 of a-z, 0-9, -, _, . and /`);
  }
  const names = [...new Set(knobs.flatMap(addresses))];
  if (goal.knob !== undefined && names.length > 0 && !names.some((name) => matches(goal.knob!, name))) {
    found.push(`${path}.knob is "${goal.knob}", which no knob of this run is called${didYouMean(goal.knob, names)}`);
  }
  return found;
}

function isTag(tag: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,63}$/.test(tag) && !/^(?:last|step-\d+)$/.test(tag);
}

/** The names that address a knob: its own and those above it. */
function addresses(knob: string): string[] {
  const parts = knob.split("/");
  return parts.map((_, place) => parts.slice(0, place + 1).join("/"));
}
