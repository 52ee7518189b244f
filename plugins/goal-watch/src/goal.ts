/**
 * One goal while a run goes on: whether it is due, whether it holds, and since when.
 * Does not know how expressions are written; `expression` and `evaluator` do.
 */

import { log } from "../../../sdk/javascript/src/index.js";
import type { Answer, Event, Hook } from "../../../sdk/javascript/src/index.js";

import { ACTIONS } from "./actions.ts";
import type { Action } from "./actions.ts";
import { Evaluator } from "./evaluator.ts";
import type { Expression } from "./expression.ts";
import type { History, Value } from "./history.ts";
import type { GoalSettings } from "./settings.ts";

/** What a goal remembers. */
export interface Memory {
  /** Calls since the last check, where only every n-th call is one. */
  calls: number;
  /** Checks in a row at which it held. */
  held: number;
  /** Checks that still do not count after it has acted. */
  pause: number;
  /** How often it has acted. */
  acted: number;
  /** Somebody has been told that a measurement is not known. */
  told: boolean;
  /** What its expressions remember, by their words. */
  windows: Record<string, number[]>;
}

export class Goal {
  readonly settings: GoalSettings;
  readonly at: Hook;
  /** What it looks for, when and what for; a goal with the same words takes over its memory. */
  readonly words: string;
  /** The measurements that it reads. */
  readonly reads: readonly string[];
  /** A check is at every n-th call. The host counts calls where all goals of a hook go the same way. */
  stride = 1;

  #memory!: Memory;
  readonly #action: Action;
  readonly #condition: Value<boolean>;
  readonly #amount: Value<number> | undefined;
  readonly #histories: readonly [string, History][];
  readonly #shown: readonly [string, Value<number>][];

  constructor(settings: GoalSettings, at: Hook, condition: Expression, amount: Expression | undefined) {
    const { do: action, every, knob = "", name = "", tag = "" } = settings;
    this.settings = settings;
    this.at = at;
    const what = squeezed(`${action} ${knob}${name}${tag}`);
    this.words = `${what} at ${at}/${every} when ${squeezed(condition.source)}`;
    this.#action = ACTIONS[action];
    const evaluator = new Evaluator();
    this.#condition = evaluator.condition(condition.source, condition.node);
    this.#shown = [...evaluator.shown];
    this.#amount = amount && evaluator.number(amount.source, amount.node);
    this.#histories = [...evaluator.histories];
    this.reads = [...evaluator.names];
  }

  /** The most numbers that it remembers. */
  get size(): number {
    return this.#histories.reduce((sum, [, history]) => sum + history.size, 0);
  }

  /** Goes on with this memory, or from the beginning. Gives the memory. */
  bind(memory: Memory | undefined): Memory {
    const fresh = { calls: 0, held: 0, pause: 0, acted: 0, told: false };
    const { windows = {}, ...counts } = memory ?? {};
    this.#memory = { ...fresh, ...counts, windows: {} };
    for (const [words, history] of this.#histories) {
      this.#memory.windows[words] = history.window = windows[words] ?? [];
    }
    return this.#memory;
  }

  /** Answers an event at its hook. */
  check(event: Event, answer: Answer): void {
    const memory = this.#memory;
    const { settings } = this;
    if (this.stride > 1) {
      memory.calls = (memory.calls + 1) % this.stride;
      if (memory.calls > 0) return;
    }
    if (settings.once && memory.acted > 0) return;
    const histories = this.#histories;
    for (let place = 0; place < histories.length; place++) histories[place]![1].observe(event);
    if (memory.pause > 0) {
      memory.pause--;
      return;
    }
    const holds = this.#condition(event);
    if (holds === false) {
      memory.held = 0;
      return;
    }
    const amount = this.#amount === undefined ? 0 : this.#amount(event);
    if (holds === undefined || amount === undefined) {
      if (!memory.told) this.#tell(event, answer);
      return;
    }
    if (++memory.held < settings.for) return;
    memory.held = 0;
    memory.pause = settings.cooldown;
    memory.acted++;
    this.#act(event, answer, amount);
  }

  #act(event: Event, answer: Answer, amount: number): void {
    const { isSpoken, decide } = this.#action;
    const isTold = isSpoken || this.settings.because !== undefined;
    const words = isTold ? this.#reason(event) : "";
    decide(answer, this.settings, words, amount);
    if (isTold && !isSpoken) answer.note(words);
  }

  #reason(event: Event): string {
    const { because, when, for: times } = this.settings;
    const values = this.#shown.map(([words, value]) => `${words} ${figure(value(event))}`);
    if (times > 1) values.push(`${times} checks in a row`);
    return `${because ?? squeezed(when)}${values.length > 0 ? ` (${values.join(", ")})` : ""}`;
  }

  /** A goal that silently does nothing looks like one that works. What only has to be remembered first is no cause. */
  #tell(event: Event, answer: Answer): void {
    const missing = this.reads.filter((name) => event.get(name) === undefined);
    if (missing.length === 0) return;
    this.#memory.told = true;
    const when = squeezed(this.settings.when);
    const line = `\`${when}\` is not decided while ${missing.join(", ")} is not known at ${this.at}`;
    log.warn(line);
    answer.note(line);
  }
}

/** A value for people: six digits. */
function figure(value: number | undefined): string {
  return value === undefined ? "not known" : String(Number(value.toPrecision(6)));
}

function squeezed(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
