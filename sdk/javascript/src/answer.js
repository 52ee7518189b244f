/**
 * @file The decisions of one call, collected in order.
 * Checks only that each is one: the host judges them, and names those that it refuses in the run's timeline.
 */

/**
 * What a callback answers to one event. An empty answer is "go on". Methods can be chained. As with events, an instance
 * has one.
 */
export class Answer {
  #decisions = [];

  /** Starts over for another call. */
  clear() {
    this.#decisions = [];
    return this;
  }

  /** End the run after this event, cleanly. `reason` is what people read. */
  stop(reason) {
    return this.#add("stop", words("stop", reason));
  }

  /** Go on with the next epoch. */
  endEpoch(reason) {
    return this.#add("end-epoch", words("endEpoch", reason));
  }

  /** Evaluate at the next safe point. */
  evaluate() {
    this.#decisions.push({ tag: "evaluate" });
    return this;
  }

  /** Save a checkpoint at the next safe point, and point `tag` to it (empty for none). */
  save(tag = "") {
    return this.#add("save", words("save", tag));
  }

  /** Write a log record at the next safe point. */
  log() {
    this.#decisions.push({ tag: "log" });
    return this;
  }

  /** Drop what this hook announces. */
  skip(reason) {
    return this.#add("skip", words("skip", reason));
  }

  /** Put weights and optimizer state back to the checkpoint that `tag` points to. */
  restore(tag) {
    return this.#add("restore", words("restore", tag));
  }

  /** Give a knob a value. */
  set(knob, value) {
    return this.#add("set", { knob: words("set", knob), value: number("set", knob, value) });
  }

  /** Multiply a knob by a factor. */
  scale(knob, factor) {
    return this.#add("scale", { knob: words("scale", knob), value: number("scale", knob, factor) });
  }

  /** Publish a measurement of the callback's own, which others see as `<instance>/<name>`. */
  report(name, value) {
    return this.#add("report", { name: words("report", name), value: number("report", name, value) });
  }

  /** At the `log` hook: leave a name (`*` allowed) out of the record. */
  mute(name) {
    return this.#add("mute", words("mute", name));
  }

  /** Leave a line in the run's timeline. */
  note(line) {
    return this.#add("note", words("note", line));
  }

  /** What has been decided so far in this call. */
  get decisions() {
    return this.#decisions;
  }

  #add(tag, val) {
    this.#decisions.push({ tag, val });
    return this;
  }
}

// A value of another type than the contract's would end the call in a trap that says nothing of its cause. So would
// half of a surrogate pair, which the second half of a cut emoji is.

function words(decision, text) {
  if (typeof text !== "string") throw new TypeError(`answer.${decision} takes a string, and got ${String(text)}`);
  return text.isWellFormed() ? text : text.toWellFormed();
}

function number(decision, name, value) {
  if (typeof value !== "number") {
    throw new TypeError(`answer.${decision} takes a number for ${name}, and got ${String(value)}`);
  }
  return value;
}
