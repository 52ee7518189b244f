/**
 * @file Plays the host for a callback in plain Node, so that `node --test` can check its logic.
 * Does not check answers against grants and ranges, as a real host does.
 */

import { HOOKS } from "./hook.js";
import { Instance } from "./instance.js";
import { write } from "./json.js";
import * as log from "./log.js";
import { describe as contract } from "./manifest.js";
import { matches } from "./names.js";
import { encode } from "./utf8.js";

/** A plugin's manifest as a host reads it, with the JSON Schema of its settings as an object. */
export function describe(plugin) {
  const about = contract(plugin.manifest);
  return { ...about, configSchema: JSON.parse(about.configSchema) };
}

/** A callback in a run that exists only in a test. Every failure is an `Error`. */
export class Harness {
  #plugin;
  #config;
  #description;
  #host = new Host();
  #occurrences = Object.fromEntries(HOOKS.map((hook) => [hook, 0]));
  #instance;
  #lines = [];

  /**
   * A callback with this configuration, at the beginning of a run.
   *
   * @param plugin what the author's module exports
   * @param config the configuration, with keys as in `[plugin.config]`
   * @param description what is known about the run: `groups`, `knobs` and so on, with keys as in the contract
   */
  static start(plugin, config = {}, description = {}) {
    return new Harness(plugin, config, description);
  }

  constructor(plugin, config, description) {
    this.#plugin = plugin;
    this.#config = JSON.stringify(config, worded);
    this.#description = JSON.stringify(description);
    this.#begin(0);
  }

  /** Lets a moment of the run happen, and gives the decisions: none where the callback is not called for it. */
  send(moment) {
    const { hook } = moment;
    if (!HOOKS.includes(hook)) throw new Error(`there is no hook ${hook}; there are ${HOOKS.join(", ")}`);
    const occurrence = ++this.#occurrences[hook];
    const due = this.#instance.subscriptions.filter((it) => it.hook === hook && occurrence % it.every === 0);
    if (due.length === 0) return [];
    const reads = due.flatMap((subscription) => subscription.reads);
    const event = this.#host.show(moment, (name) => reads.some((read) => matches(read, name)));
    return this.#call(() => this.#instance.handle(event));
  }

  /** What a resume does: save the state, start a new instance with the same configuration, give it the state. */
  resume(step) {
    const state = this.#call(() => this.#instance.save());
    this.#begin(step);
    this.#call(() => this.#instance.load(state, this.#plugin.manifest.stateVersion));
  }

  /** Gives the callback state as an earlier version of it saved it. */
  load(state, version) {
    this.#call(() => this.#instance.load(encode(write(state)), version));
  }

  /** What the callback has learned so far. */
  get state() {
    return this.#instance.state;
  }

  /** What the callback subscribed to. */
  get subscriptions() {
    return this.#instance.subscriptions;
  }

  /** The lines that the callback has logged since the last call. */
  takeLog() {
    return this.#lines.splice(0);
  }

  #begin(step) {
    const info = { run: "test", seed: 0, rank: 0, worldSize: 1, step, description: this.#description };
    this.#instance = this.#call(() => new Instance(this.#plugin, this.#config, info, this.#host.functions));
  }

  /** Lines of one call come from one callback, also where a test has several. */
  #call(action) {
    log.connect((level, line) => this.#lines.push({ level, line }));
    try {
      return action();
    } catch (error) {
      throw typeof error === "string" ? new Error(error) : error;
    }
  }
}

/** The contract's functions over the events of a test. */
class Host {
  /** A name's place is its number, which it gets when it is first shown. */
  #catalog = [];
  /** Equal keys are an equal shape, as in a real run. */
  #shapes = new Map();
  #shown = { keys: [], detail: "", vectors: new Map(), texts: new Map() };

  functions = {
    keyOf: (name) => (this.#catalog.includes(name) ? this.#catalog.indexOf(name) : null),
    nameOf: (key) => this.#catalog[key] ?? null,
    keys: () => this.#shown.keys,
    detail: () => this.#shown.detail,
    vectors: () => [...this.#shown.vectors.keys()],
    vector: (key) => this.#shown.vectors.get(key) ?? null,
    texts: () => [...this.#shown.texts.keys()],
    text: (key) => this.#shown.texts.get(key) ?? null,
  };

  /** The event of a moment; what is asked for is kept until the next one. */
  show(moment, isRead) {
    const { hook, step, totalSteps = null, epoch = 0, samples = 0, tokens = 0, detail = "" } = moment;
    const keyed = (values = {}) =>
      new Map(
        Object.entries(values)
          .filter(([name]) => isRead(name))
          .map(([name, value]) => [this.#number(name), value]),
      );
    const scalars = keyed(moment.scalars);
    const keys = [...scalars.keys()];
    this.#shown = { keys, detail, vectors: keyed(single(moment.vectors)), texts: keyed(moment.texts) };
    const progress = { step, totalSteps, epoch, samples, tokens };
    return { hook, progress, shape: this.#shape(keys), values: [...scalars.values()] };
  }

  #number(name) {
    if (!this.#catalog.includes(name)) this.#catalog.push(name);
    return this.#catalog.indexOf(name);
  }

  #shape(keys) {
    const known = keys.join();
    if (!this.#shapes.has(known)) this.#shapes.set(known, this.#shapes.size);
    return this.#shapes.get(known);
  }
}

/** The numbers that a configuration can hold and JSON has not, as a host writes them. */
function worded(_key, value) {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

/** Lists of numbers in single precision, as the contract carries them. */
function single(vectors = {}) {
  return Object.fromEntries(Object.entries(vectors).map(([name, values]) => [name, Array.from(values, Math.fround)]));
}
