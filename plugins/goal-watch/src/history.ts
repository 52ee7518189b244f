/**
 * What a call remembers from check to check.
 * Does not say what it makes of it: `functions` does.
 */

import type { Event } from "../../../sdk/javascript/src/index.js";
import type { Remembering } from "./functions.ts";

/** A value at an event; nothing where it is not known. */
export type Value<T extends number | boolean> = (event: Event) => T | undefined;

/** A call that remembers: its window, and its value at the check that goes on. */
export class History {
  /** The values so far, oldest first: a part of the state. */
  window: number[] = [];
  value: number | undefined;
  readonly #input: Value<number>;
  readonly #count: number;
  readonly #take: Remembering["take"];

  constructor(input: Value<number>, count: number, take: Remembering["take"]) {
    this.#input = input;
    this.#count = count;
    this.#take = take;
  }

  /** Takes in this check. One at which the input is not known leaves the window as it is. */
  observe(event: Event): void {
    const input = this.#input(event);
    this.value = input === undefined ? undefined : this.#take(this.window, input, this.#count);
  }

  /** The most numbers in the window. */
  get size(): number {
    return this.#count;
  }
}
