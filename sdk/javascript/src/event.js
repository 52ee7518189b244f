/**
 * @file What a callback is shown at a hook.
 * Holds only what was subscribed to; a value that is not known now is missing.
 */

import * as log from "./log.js";

/**
 * What a callback is shown at a hook. Good for the one call that it is given to: an instance has one, and shows each
 * moment with it. To make one for each call would take longer than the rest of what the SDK does.
 */
export class Event {
  #joined;
  #raw;
  #values;
  /** What `values` are called, where that was asked for and is still true. */
  #shape = null;
  #number = -1;
  /** What has been fetched from the host for this moment. */
  #rest = null;

  /** @param joined host, names and shapes of the instance */
  constructor(joined) {
    this.#joined = joined;
  }

  /** Shows another moment from now on, as the contract has it. */
  show(raw) {
    this.#raw = raw;
    this.#values = raw.values;
    this.#rest = null;
    if (raw.shape !== this.#number) {
      this.#number = raw.shape;
      this.#shape = null;
    }
    return this;
  }

  /** The moment in the loop: `step-end`. */
  get hook() {
    return this.#raw.hook;
  }

  /** Steps finished: 0 at `step-begin` of the first one, 1 at its `step-end`. */
  get step() {
    return this.#raw.progress.step;
  }

  /** How far the run is, in steps, epochs, samples and tokens. */
  get progress() {
    return this.#raw.progress;
  }

  /** Why: the stop reason at `train-end`, the error at `failure`, the tag at `save-begin` and `save-end`. */
  get detail() {
    return (this.#asked().detail ??= this.#joined.host.detail());
  }

  /** The measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN. */
  get(name) {
    // A place that is missing is `undefined`, and so is what stands there.
    return this.#values[(this.#shape ?? this.#named()).places[name]];
  }

  /**
   * As `get`, and the first time that it is missing says so in the log and the timeline.
   *
   * @param {string[]} told the names that were missing before: a list in the callback's state
   */
  getOrTell(name, told, answer) {
    const value = this.get(name);
    if (value === undefined && !told.includes(name)) {
      told.push(name);
      const line = `${name} is not known here, so nothing was checked`;
      log.warn(line);
      answer.note(line);
    }
    return value;
  }

  /** The measurement of this name, if it is several numbers. */
  vector(name) {
    return this.#measured(this.#vectors(), name, this.#joined.host.vector);
  }

  /** The measurement of this name, if it is words. */
  text(name) {
    return this.#measured(this.#texts(), name, this.#joined.host.text);
  }

  /** All single numbers whose names fit `pattern` (`*` allowed), as pairs of name and value. */
  matching(pattern) {
    const shape = this.#shape ?? this.#named();
    return shape.matching(pattern).map((place) => [shape.names[place], this.#values[place]]);
  }

  /** All single numbers, as pairs of name and value. */
  scalars() {
    return this.matching("*");
  }

  /** All lists of numbers, as pairs of name and values. */
  vectors() {
    return this.#all(this.#vectors(), (name) => this.vector(name));
  }

  /** All words, as pairs of name and text. */
  texts() {
    return this.#all(this.#texts(), (name) => this.text(name));
  }

  #named() {
    return (this.#shape = this.#joined.shapes.of(this.#number));
  }

  #asked() {
    return (this.#rest ??= { detail: null, vectors: null, texts: null });
  }

  #vectors() {
    return (this.#asked().vectors ??= missing(this.#joined.host.vectors()));
  }

  #texts() {
    return (this.#asked().texts ??= missing(this.#joined.host.texts()));
  }

  #measured(values, name, fetch) {
    const key = this.#joined.names.keyOf(name);
    if (!values.has(key)) return undefined;
    if (values.get(key) === null) values.set(key, fetch(key) ?? undefined);
    return values.get(key);
  }

  #all(values, value) {
    return [...values.keys()].map((key) => this.#joined.names.nameOf(key)).map((name) => [name, value(name)]);
  }
}

/** The keys of an event's measurements of one kind, each without its value: that is fetched when it is asked for. */
function missing(keys) {
  return new Map(keys.map((key) => [key, null]));
}
