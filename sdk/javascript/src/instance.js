/**
 * @file A callback that has joined a run, with its state and the names that it has looked up.
 * Knows nothing of how calls come in; `component` and `testing` do.
 */

import { Answer } from "./answer.js";
import { values } from "./configuration.js";
import { Event } from "./event.js";
import { HOOKS, METHODS } from "./hook.js";
import { isPlain, read, write } from "./json.js";
import * as log from "./log.js";
import { Names } from "./names.js";
import { Run } from "./run.js";
import { Shapes } from "./shapes.js";
import { decode, encode } from "./utf8.js";

/** A callback that has joined a run. Every method throws a string, as the contract's results want it. */
export class Instance {
  #manifest;
  #callback;
  /** The name of the method that each hook calls. */
  #methods;
  #event;
  #answer = new Answer();

  /**
   * @param plugin what to start
   * @param {string} config JSON of the configuration
   * @param info the run as the contract has it
   * @param host the contract's functions
   */
  constructor(plugin, config, info, host) {
    this.#manifest = plugin.manifest;
    const names = new Names(host);
    this.#event = new Event({ host, names, shapes: new Shapes(host, names) });
    // What is wrong with a configuration is said to whoever wrote it; where the code noticed does not matter.
    this.subscriptions = told(() => {
      const callback = plugin.make();
      callback.settings = values(plugin.manifest.settings, config);
      callback.state = plugin.manifest.state?.();
      callback.run = new Run(info);
      this.#callback = callback;
      this.#methods = methods(callback);
      return checked(callback, this.#methods, callback.start?.());
    });
  }

  /** What the callback has learned so far. */
  get state() {
    return this.#callback.state;
  }

  /** Answers an event. */
  handle(raw) {
    const callback = this.#callback;
    const answer = this.#answer.clear();
    const event = this.#event.show(raw);
    try {
      const result = callback[this.#methods[raw.hook]](event, answer);
      if (typeof result?.then === "function") {
        throw new Error(`${raw.hook} gave a promise; a hook has to answer at once`);
      }
    } catch (error) {
      // The error's message is all that the host gets to know; the place is for whoever wrote the callback.
      if (error instanceof Error) log.error(error);
      throw message(error);
    }
    return answer.decisions;
  }

  /** The state as bytes; none for a callback that keeps none. */
  save() {
    const { state } = this.#callback;
    return told(() => (state === undefined ? new Uint8Array() : encode(write(state))));
  }

  /** Takes back what `save` of this or an earlier version gave. When it throws, the state is what it was. */
  load(bytes, version) {
    const { state: initial, stateVersion } = this.#manifest;
    told(() => {
      if (bytes.length === 0) {
        this.#callback.state = initial?.();
      } else if (version === stateVersion) {
        this.#callback.state = completed(initial?.(), saved(bytes, version));
      } else if (this.#callback.migrate) {
        this.#callback.state = this.#callback.migrate(saved(bytes, version), version);
      } else {
        throw new Error(`state of version ${version} was saved, and this version of the plugin reads ${stateVersion}`);
      }
    });
  }
}

/** Runs something whose error is a message for people. */
function told(action) {
  try {
    return action();
  } catch (error) {
    throw message(error);
  }
}

function message(error) {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.toWellFormed();
}

/** A callback that treats all hooks alike has one method for them. */
function methods(callback) {
  return callback.handle ? Object.fromEntries(HOOKS.map((hook) => [hook, "handle"])) : METHODS;
}

/** Subscriptions of a callback, each of which it has a method for. */
function checked(callback, methods, subscriptions) {
  if (!Array.isArray(subscriptions)) throw new TypeError("start has to give a list of subscriptions, made with `on`");
  const missing = subscriptions.find(({ hook }) => !callback[methods[hook]]);
  if (missing) throw new Error(`the callback subscribes to ${missing.hook} and has no method ${methods[missing.hook]}`);
  return subscriptions;
}

function saved(bytes, version) {
  try {
    return read(decode(bytes));
  } catch (error) {
    throw new Error(`state of version ${version}: ${error.message}`);
  }
}

/** Saved state, with the first values of fields that are newer than it. */
function completed(initial, state) {
  if (initial === undefined) throw new Error("state was saved, and this version of the plugin keeps none");
  return isPlain(initial) && isPlain(state) ? { ...initial, ...state } : state;
}
