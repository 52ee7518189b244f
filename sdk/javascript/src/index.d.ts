/**
 * The types of the SDK, and what each part means.
 *
 * A **plugin** is a manifest and a **callback**. The callback joins a run with its **settings**; what it learns on the
 * way is its **state**. At a **hook** it is shown an {@link Event} with the **measurements** that it subscribed to, and
 * fills in an {@link Answer} with **decisions**.
 */

import type { Settings, Setting } from "./settings.js";

export { boolean, choice, integer, list, number, table, text } from "./settings.js";
export type { Choices, Counted, Missing, Ranged, Setting, Settings, Values } from "./settings.js";

import type { Values } from "./settings.js";

/** A moment in the training loop, by its name in the contract. */
export type Hook =
  | "train-begin"
  | "epoch-begin"
  | "step-begin"
  | "gradients"
  | "step-end"
  | "evaluate-begin"
  | "evaluate-end"
  | "log"
  | "save-begin"
  | "save-end"
  | "epoch-end"
  | "failure"
  | "train-end";

/** All hooks, in the order in which a step meets them. */
export const HOOKS: readonly Hook[];

/** When a callback is called and what it is shown then. Made with {@link on}. */
export interface Subscription {
  readonly hook: Hook;
  readonly every: number;
  readonly reads: readonly string[];
}

/**
 * A subscription. Several to one hook that are due together are one call, with everything that they read.
 *
 * @param hook the moment
 * @param reads names of measurements, `*` allowed: `loss`, `eval/*`. The host refuses one that the run does not offer.
 * @param options `every`: call at every n-th occurrence, from 1 to 2^32 - 1, counted from the beginning of the run;
 * default 1
 * @throws there is no such hook, or `every` is out of its range
 */
export function on(hook: Hook, reads?: readonly string[], options?: { readonly every?: number }): Subscription;

/** How far the run is. Counted from the beginning of the run, resumed parts included. */
export interface Progress {
  /** Steps finished: 0 at `step-begin` of the first one, 1 at its `step-end`. */
  readonly step: number;
  /** Steps that the run will do if nothing stops it; `null` where that is not known. */
  readonly totalSteps: number | null;
  /** Epochs finished, with the fraction of the running one: finite and not negative. */
  readonly epoch: number;
  /** Training samples seen. */
  readonly samples: number;
  /** Tokens seen; 0 where the task has no tokens. */
  readonly tokens: number;
}

/**
 * What a callback is shown at a hook. Good for the one call that it is given to.
 *
 * Numbers come along with the event, so that reading one is a look-up. Vectors, words and `detail` are fetched from the
 * host by whoever asks for them, once an event.
 */
export interface Event {
  /** The moment in the loop. */
  readonly hook: Hook;
  /** Steps finished: 0 at `step-begin` of the first one, 1 at its `step-end`. */
  readonly step: number;
  /** How far the run is. */
  readonly progress: Progress;
  /** Why: the stop reason at `train-end`, the error at `failure`, the tag at `save-begin` and `save-end`. */
  readonly detail: string;
  /** The measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN. */
  get(name: string): number | undefined;
  /**
   * As {@link get}, and the first time that it is missing says so in the log and the timeline.
   *
   * For a name from the settings: the run may offer it and yet not know it at this hook, and a callback that silently
   * does nothing looks like one that works.
   *
   * @param told the names that were missing before: a list in the callback's state
   */
  getOrTell(name: string, told: string[], answer: Answer): number | undefined;
  /** The measurement of this name, if it is several numbers; they are of single precision. */
  vector(name: string): readonly number[] | undefined;
  /** The measurement of this name, if it is words. */
  text(name: string): string | undefined;
  /** All single numbers whose names fit `pattern` (`*` allowed), as pairs of name and value. */
  matching(pattern: string): [name: string, value: number][];
  /** All single numbers, as pairs of name and value. */
  scalars(): [name: string, value: number][];
  /** All lists of numbers, as pairs of name and values. */
  vectors(): [name: string, values: readonly number[]][];
  /** All words, as pairs of name and text. */
  texts(): [name: string, text: string][];
}

/** A decision as the contract has it; what tests compare with. */
export type Decision =
  | { readonly tag: "stop" | "end-epoch" | "save" | "skip" | "restore" | "mute" | "note"; readonly val: string }
  | { readonly tag: "set" | "scale"; readonly val: { readonly knob: string; readonly value: number } }
  | { readonly tag: "report"; readonly val: { readonly name: string; readonly value: number } }
  | { readonly tag: "evaluate" | "log" };

/**
 * What a callback answers to one event, in order. An empty answer is "go on". Methods can be chained.
 *
 * The host checks each decision against the manifest, the grants and the knobs' ranges, and names those that it refuses
 * in the run's timeline. Here a value of a wrong type throws a `TypeError`.
 *
 * A hook that throws tells the host that the event could not be handled: its decisions are dropped, the callback is
 * made anew with its last good state, and its failure policy counts one more.
 */
export interface Answer {
  /** End the run after this event, cleanly. `reason` is what people read. */
  stop(reason: string): this;
  /** Go on with the next epoch. */
  endEpoch(reason: string): this;
  /** Evaluate at the next safe point, once, however many ask. */
  evaluate(): this;
  /**
   * Save a checkpoint at the next safe point.
   *
   * @param tag points to it from then on: lower-case letters, digits and `-`; empty, the default, for none
   */
  save(tag?: string): this;
  /** Write a log record at the next safe point. */
  log(): this;
  /** Drop what this hook announces. */
  skip(reason: string): this;
  /** Put weights and optimizer state back to the checkpoint that `tag` points to: `best`, `last`, `step-1200`. */
  restore(tag: string): this;
  /** Give a knob a value. A name such as `learning-rate` addresses all of `learning-rate/<group>`. */
  set(knob: string, value: number): this;
  /** Multiply a knob by a factor. */
  scale(knob: string, factor: number): this;
  /**
   * Publish a measurement of the callback's own, which others see as `<instance>/<name>`.
   *
   * @param name 1 to 64 of lower-case letters, digits, `-`, `_`, `.` and `/`
   * @param value any number; NaN and infinities are kept
   */
  report(name: string, value: number): this;
  /** At the `log` hook: leave a name (`*` allowed) out of the record. */
  mute(name: string): this;
  /** Leave a line in the run's timeline. */
  note(line: string): this;
  /** What has been decided so far in this call. */
  readonly decisions: readonly Decision[];
}

/** One of the optimizer's parameter groups, as configured: a resumed run shows the same values. */
export interface Group {
  /** Its name, which ends `learning-rate/<name>` and `weight-decay/<name>`. */
  readonly name: string;
  /** The base learning rate. */
  readonly learningRate: number;
  /** The weight decay. */
  readonly weightDecay: number;
  /** The names of the parameters in it. */
  readonly parameters: readonly string[];
}

/** A value that callbacks may write, and its range. A bound that is missing does not exist. */
export interface Knob {
  /** The lowest value that the host accepts. */
  readonly min: number | undefined;
  /** The highest value that the host accepts. */
  readonly max: number | undefined;
  /** The unit; `1` for a plain number. */
  readonly unit: string;
  /** The value at the start of the run. */
  readonly value: number | undefined;
}

/** The run that a callback joins. What moves is in the events. */
export interface Run {
  /** The run's name. */
  readonly name: string;
  /** What everything random in the run comes from. One above 2^53 is rounded. */
  readonly seed: number;
  /** This process among `worldSize`, from 0. Callbacks run on rank 0. */
  readonly rank: number;
  /** How many processes train together; at least 1. */
  readonly worldSize: number;
  /** The step at which the callback joins: 0 at the beginning, more after a resume. */
  readonly step: number;
  /**
   * The model, its parameter groups and the knobs. What the host left out is empty. Read when first asked for.
   *
   * @throws the host's text is not what this version of the SDK reads
   */
  readonly description: {
    readonly model: string;
    readonly task: string;
    /** How many numbers the model learns. */
    readonly parameters: number;
    /** In the optimizer's order. */
    readonly groups: readonly Group[];
    readonly knobs: Readonly<Record<string, Knob>>;
  };
  /**
   * The parameter groups whose names fit one of the patterns (`*` allowed), in the optimizer's order.
   *
   * @throws none does; the words name those that there are
   */
  groupsMatching(patterns: readonly string[]): readonly Group[];
}

/** A kind of decision that has to be announced. Reports and notes are free; writes go by `knobs`. */
export type Request = "stop" | "end-epoch" | "evaluate" | "save" | "log" | "skip" | "restore" | "mute";

/** What a plugin is, whatever its configuration. What it asks here is the most that it can ever get. */
export interface Manifest<S extends Settings = Settings, T = unknown> {
  /** Lower-case letters, digits and `-`. */
  readonly name: string;
  /** Semantic version. */
  readonly version: string;
  /** One sentence on what it does. */
  readonly summary: string;
  /** What it may want to ask for; default nothing. */
  readonly requests?: readonly Request[];
  /** Knobs that it may want to write, `*` allowed; default none. */
  readonly knobs?: readonly string[];
  /** `background`: the loop does not wait, and takes only reports and notes. Default `inline`. */
  readonly lane?: "inline" | "background";
  /** The place among the callbacks of a hook: lower runs earlier. A whole number; default 0. */
  readonly order?: number;
  /** The settings by key: `minDelta` is `min-delta` in a configuration. Default none: any key is then refused. */
  readonly settings?: S;
  /**
   * The state at the beginning of a run: an object that JSON can hold, of plain objects, lists, numbers, strings,
   * booleans and null. Without it, the callback keeps none.
   */
  readonly state?: () => T;
  /**
   * The version of the state; default 1. Raise it when older state no longer reads, and add `migrate`. A new field
   * needs neither: older state gets the value that it has at the beginning.
   */
  readonly stateVersion?: number;
}

/** What every callback has, as `this`. */
export interface Joined<S extends Settings, T> {
  /** The values of the settings. */
  readonly settings: Values<S>;
  /** What the callback has learned. Whatever changes while a run goes on belongs here: it is in every checkpoint. */
  state: T;
  /** The run that it has joined. */
  readonly run: Run;
}

/** What an author implements. Each hook is optional; one that is implemented must also be subscribed to in `start`. */
export interface Hooks {
  /**
   * Joins a run, and says when to be called. Called again after a resume, a crash or a change of configuration, before
   * the state comes back.
   *
   * @throws the settings do not make sense together or for this run; shown to whoever wrote them
   */
  start(): readonly Subscription[];
  /**
   * Takes back state that was saved under another version, and gives what it is now.
   *
   * @throws the version is not one that this callback knows
   */
  migrate?(saved: any, version: number): unknown;
  /** Answers every event, instead of the methods below. */
  handle?(event: Event, answer: Answer): void;
  /** Once in the life of a run, before its first step. Not sent again after a resume. */
  trainBegin?(event: Event, answer: Answer): void;
  /** Before the first batch of an epoch. */
  epochBegin?(event: Event, answer: Answer): void;
  /** Before the batch is fetched. `skip` drops it. */
  stepBegin?(event: Event, answer: Answer): void;
  /** All gradients of this update are there, not yet clipped or applied. `skip` drops the update. */
  gradients?(event: Event, answer: Answer): void;
  /** The optimizer has been applied, or the update was dropped. */
  stepEnd?(event: Event, answer: Answer): void;
  /** `skip` drops this evaluation. */
  evaluateBegin?(event: Event, answer: Answer): void;
  /** An evaluation is complete. One that was cut short does not get here. */
  evaluateEnd?(event: Event, answer: Answer): void;
  /** A log record is about to be written. `mute` leaves a name out of it. */
  log?(event: Event, answer: Answer): void;
  /** `skip` drops this save. */
  saveBegin?(event: Event, answer: Answer): void;
  /** The checkpoint is durable on disk. */
  saveEnd?(event: Event, answer: Answer): void;
  /** After the last step of an epoch. */
  epochEnd?(event: Event, answer: Answer): void;
  /** The loop failed; the event's `detail` says how. */
  failure?(event: Event, answer: Answer): void;
  /** The run ends; the event's `detail` says why. `restore` is still possible. */
  trainEnd?(event: Event, answer: Answer): void;
}

/** A plugin, ready to become a component or to be tested. */
export interface Plugin<T = unknown> {
  readonly manifest: Required<Manifest<Settings, T>>;
}

/** A manifest for a callback that is a class. Throws for a key or a request that the contract does not have. */
export function manifest<const S extends Settings = {}, T = undefined>(about: Manifest<S, T>): Manifest<S, T>;

/** The base of callbacks that are classes: `class Mine extends Callback<typeof about>`. */
export abstract class Callback<M extends Manifest<any, any>> implements Joined<
  M extends Manifest<infer S, any> ? S : never,
  M extends Manifest<any, infer T> ? T : never
> {
  readonly settings: Values<M extends Manifest<infer S, any> ? S : never>;
  state: M extends Manifest<any, infer T> ? T : never;
  readonly run: Run;
}

/**
 * A plugin from its manifest and its callback. A module's default export.
 *
 * @param about what it is
 * @param callback what it does: an object with `start` and hooks, or a class of such. In its methods, also in those of
 * its own, `this` has `settings`, `state` and `run`
 * @throws the manifest has a key or a request that the contract does not have
 */
export function plugin<const S extends Settings = {}, T = undefined, H extends Hooks = Hooks>(
  about: Manifest<S, T>,
  callback: H & Hooks & ThisType<Joined<S, T> & H>,
): Plugin<T>;
export function plugin<S extends Settings, T>(about: Manifest<S, T>, callback: new () => Hooks): Plugin<T>;

/** How urgent a line is. */
export type Level = "debug" | "info" | "warn" | "error";

/** Lines in the host's log, which cuts long ones and drops what is too much. `console` writes there too. */
export declare namespace log {
  /** A line of use while the callback is being written. */
  function debug(...values: unknown[]): void;
  /** A line of use to whoever watches the run. */
  function info(...values: unknown[]): void;
  /** The run goes on, perhaps not as wanted. */
  function warn(...values: unknown[]): void;
  /** Something failed. */
  function error(...values: unknown[]): void;
}

/** Which direction of a measurement is better: lower or higher. */
export type Mode = "min" | "max";

/** Whether `value` is strictly better than another one. Never with NaN, on either side. */
export function isBetter(mode: Mode, value: number, than: number): boolean;

/** What every number but itself is better than. */
export function worst(mode: Mode): number;

/** Whether `name` fits `pattern`, in which `*` stands for any characters, also none. */
export function matches(pattern: string, name: string): boolean;
