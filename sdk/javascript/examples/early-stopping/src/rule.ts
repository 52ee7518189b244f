/**
 * When a value is better and when to stop: our own rule, and those of three libraries to the letter.
 * Plain arithmetic on what has been seen; knows nothing of hooks and decisions.
 */

import { isBetter, worst } from "host-sdk";
import type { Mode } from "host-sdk";

/**
 * Whose rule decides: `sound` is ours, in which only a finite value can be the best and every check without improvement
 * counts. The others are `EarlyStoppingCallback` of transformers and `EarlyStopping` of lightning and keras, with their
 * state kept on resume.
 */
export type Rule = "sound" | "huggingface" | "lightning" | "keras";

/** What a value is compared with. */
export interface Terms {
  readonly mode: Mode;
  readonly patience: number;
  readonly minDelta: number;
  readonly stoppingThreshold: number | undefined;
  readonly divergenceThreshold: number | undefined;
  readonly checkFinite: boolean;
  readonly baseline: number | undefined;
}

/** What a rule remembers from check to check. */
export interface Memory {
  /** The best value so far, as the rule sees it; `null` before there is one. */
  best: number | null;
  /** Checks since the last improvement that counted. */
  wait: number;
}

/** Why a run should end. */
export type Cause = "patience" | "not-finite" | "reached" | "diverged";

/** What a check comes to. */
export interface Verdict {
  /** The weights are the best so far. */
  readonly improved: boolean;
  /** Why the run should end, if it should. */
  readonly stop?: Cause | undefined;
}

/** The settings that each rule has beside monitor, mode, patience and min-delta. */
export const KNOWN: Readonly<Record<Rule, readonly string[]>> = {
  sound: ["stopping-threshold", "divergence-threshold", "check-finite", "baseline"],
  huggingface: [],
  lightning: ["stopping-threshold", "divergence-threshold", "check-finite"],
  keras: ["baseline"],
};

/** Takes one value. `epoch` is the running epoch, counted from 0. */
export function judge(rule: Rule, terms: Terms, memory: Memory, value: number, epoch: number): Verdict {
  switch (rule) {
    case "sound":
      return sound(terms, memory, value);
    case "huggingface":
      return huggingface(terms, memory, value);
    case "lightning":
      return lightning(terms, memory, value);
    case "keras":
      return keras(terms, memory, value, epoch);
  }
}

function sound(terms: Terms, memory: Memory, value: number): Verdict {
  const isFinite = Number.isFinite(value);
  // An infinity on the good side comes from a broken computation as surely as one on the bad side, and nothing would
  // ever be better than it.
  const improved = isFinite && (memory.best === null || beats(terms, value, memory.best));
  if (improved) memory.best = value;
  const givesPatienceBack = improved && (terms.baseline === undefined || beats(terms, value, terms.baseline));
  memory.wait = givesPatienceBack ? 0 : memory.wait + 1;
  if (terms.checkFinite && !isFinite) return { improved, stop: "not-finite" };
  if (isFinite && hasReached(terms, value)) return { improved, stop: "reached" };
  if (hasDiverged(terms, value)) return { improved, stop: "diverged" };
  return { improved, stop: improved ? undefined : patience(terms, memory) };
}

function huggingface(terms: Terms, memory: Memory, value: number): Verdict {
  const { mode, minDelta } = terms;
  const isGood =
    memory.best === null || (isBetter(mode, value, memory.best) && Math.abs(value - memory.best) > minDelta);
  memory.wait = isGood ? 0 : memory.wait + 1;
  // The best takes any gain, also one below the threshold: a slow steady gain stops the run.
  const best = memory.best ?? worst(mode);
  const improved = isBetter(mode, value, best);
  memory.best = improved ? value : best;
  return { improved, stop: patience(terms, memory) };
}

function lightning(terms: Terms, memory: Memory, value: number): Verdict {
  memory.best ??= worst(terms.mode);
  const improved = beats(terms, value, memory.best);
  if (terms.checkFinite && !Number.isFinite(value)) return { improved: false, stop: "not-finite" };
  // Neither threshold touches the library's memory; the weights that reach the goal are worth keeping all the same.
  if (hasReached(terms, value)) return { improved, stop: "reached" };
  if (hasDiverged(terms, value)) return { improved: false, stop: "diverged" };
  if (improved) {
    Object.assign(memory, { best: value, wait: 0 });
    return { improved };
  }
  memory.wait += 1;
  return { improved, stop: patience(terms, memory) };
}

function keras(terms: Terms, memory: Memory, value: number, epoch: number): Verdict {
  memory.wait += 1;
  // The first value is always the best, NaN included, and then nothing is ever better.
  if (memory.best === null || beats(terms, value, memory.best)) {
    memory.best = value;
    if (terms.baseline === undefined || beats(terms, value, terms.baseline)) memory.wait = 0;
    return { improved: true };
  }
  return { improved: false, stop: epoch > 0 ? patience(terms, memory) : undefined };
}

function patience(terms: Terms, memory: Memory): Cause | undefined {
  return memory.wait >= terms.patience ? "patience" : undefined;
}

function hasReached({ mode, stoppingThreshold: limit }: Terms, value: number): boolean {
  return limit !== undefined && isBetter(mode, value, limit);
}

function hasDiverged({ mode, divergenceThreshold: limit }: Terms, value: number): boolean {
  return limit !== undefined && isBetter(mode, limit, value);
}

/** Better by more than `min-delta`; never with NaN. */
function beats({ mode, minDelta }: Terms, value: number, than: number): boolean {
  return mode === "min" ? value + minDelta < than : value - minDelta > than;
}
