/**
 * @file The component's exports: calls from the host to the one instance that a component has.
 * Part of every bundle, which also holds the only import of the contract; not part of what an author uses.
 */

import "./console.js";
import { Instance } from "./instance.js";
import * as log from "./log.js";
import { describe } from "./manifest.js";
import { seed } from "./random.js";

/**
 * A plugin as the contract's `callback` interface.
 *
 * @param plugin what the author's module exports
 * @param host the contract's functions
 */
export function component(plugin, host) {
  let instance = null;
  const running = () => {
    if (instance === null) throw "called before start";
    return instance;
  };
  return {
    describe() {
      log.connect(host.log);
      return describe(plugin.manifest);
    },
    start(config, run) {
      log.connect(host.log);
      seed(run.seed, run.step);
      instance = new Instance(plugin, config, run, host);
      return instance.subscriptions;
    },
    // Said without `running`: this is the one call that comes with every step.
    handle(event) {
      if (instance === null) throw "called before start";
      return instance.handle(event);
    },
    save: () => running().save(),
    load: (state, version) => running().load(state, version),
  };
}
