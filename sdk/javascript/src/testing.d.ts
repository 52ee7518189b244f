/** Plays the host in plain Node. Does not check answers against grants and ranges, as a real host does. */

import type { Decision, Hook, Level, Plugin, Subscription } from "./index.js";

/** A moment of a run, with everything that could be observed then. */
export interface Moment {
  /** The hook's name: `step-end`. */
  readonly hook: Hook;
  /** Steps finished. */
  readonly step: number;
  /** Steps that the run will do; without it, they are not known. */
  readonly totalSteps?: number;
  /** Epochs finished, with the fraction of the running one; default 0. */
  readonly epoch?: number;
  /** Training samples seen; default 0. */
  readonly samples?: number;
  /** Tokens seen; default 0. */
  readonly tokens?: number;
  /** Why: a stop reason, an error, a tag; default empty. */
  readonly detail?: string;
  /** Measurements that are one number, by name. */
  readonly scalars?: Readonly<Record<string, number>>;
  /** Measurements that are several numbers, by name. They are shown in single precision. */
  readonly vectors?: Readonly<Record<string, ArrayLike<number>>>;
  /** Measurements that are words, by name. */
  readonly texts?: Readonly<Record<string, string>>;
}

/** A line that a callback logged. */
export interface Line {
  readonly level: Level;
  readonly line: string;
}

/** A plugin's manifest as a host reads it: requests are flags, and the schema of its settings is an object. */
export interface Description {
  readonly name: string;
  readonly version: string;
  readonly summary: string;
  readonly requests: Readonly<Record<string, boolean>>;
  readonly knobs: readonly string[];
  readonly lane: "inline" | "background";
  readonly order: number;
  readonly configSchema: Readonly<Record<string, unknown>>;
  readonly stateVersion: number;
}

/** A plugin's manifest as a host reads it. */
export function describe(plugin: Plugin): Description;

/**
 * A callback in a run that exists only in a test.
 *
 * Events reach the callback as a host would send them: only at hooks that it subscribed to, when they are due, and with
 * nothing but the measurements that it reads. Whatever fails throws an `Error` with the words that a host would show.
 *
 * A resume makes a new callback from the same module. In a real run the module is new as well: a variable outside of
 * the state would be lost there, and is not here.
 */
export class Harness<T = unknown> {
  /**
   * A callback at the beginning of a run.
   *
   * @param config the configuration, with keys as in `[plugin.config]`; default empty
   * @param description what is known about the run, with keys as in the contract: `groups`, `knobs`; default empty
   * @throws what is wrong with the configuration, or what `start` threw
   */
  static start<T>(
    plugin: Plugin<T>,
    config?: Readonly<Record<string, unknown>>,
    description?: Readonly<Record<string, unknown>>,
  ): Harness<T>;

  /**
   * Lets a moment of the run happen. Gives the decisions; none where the callback is not called for it.
   *
   * @throws what the hook threw
   */
  send(moment: Moment): Decision[];

  /**
   * What a resume does: save the state, start a new instance with the same configuration, give it the state.
   *
   * @param step the step at which the run goes on
   * @throws what saving, starting or loading gives
   */
  resume(step: number): void;

  /**
   * Gives the callback state as an earlier version of it saved it.
   *
   * @throws what loading gives, `migrate` included; the state is then what it was
   */
  load(state: unknown, version: number): void;

  /** What the callback has learned so far. */
  readonly state: T;

  /** What the callback subscribed to. */
  readonly subscriptions: readonly Subscription[];

  /** The lines that the callback has logged since the last call of this. */
  takeLog(): Line[];

  private constructor();
}
