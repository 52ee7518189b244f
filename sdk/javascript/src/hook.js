/**
 * @file The hooks of the contract, and the method of a callback that each one calls.
 * Does not call them: `instance` does.
 */

/** The method of each hook, in the order in which a step meets them. Names of hooks are the contract's. */
export const METHODS = Object.freeze({
  "train-begin": "trainBegin",
  "epoch-begin": "epochBegin",
  "step-begin": "stepBegin",
  gradients: "gradients",
  "step-end": "stepEnd",
  "evaluate-begin": "evaluateBegin",
  "evaluate-end": "evaluateEnd",
  log: "log",
  "save-begin": "saveBegin",
  "save-end": "saveEnd",
  "epoch-end": "epochEnd",
  failure: "failure",
  "train-end": "trainEnd",
});

/** The names of all hooks, in the order in which a step meets them. */
export const HOOKS = Object.freeze(Object.keys(METHODS));

/**
 * A subscription: call at a hook, and show what is read there.
 *
 * @param {string} hook the hook's name in the contract: `step-end`
 * @param {readonly string[]} [reads] names of measurements, `*` allowed
 * @param {{every?: number}} [options] `every`: call at every n-th occurrence, counted from the beginning of the run
 */
export function on(hook, reads = [], { every = 1 } = {}) {
  if (!Object.hasOwn(METHODS, hook)) {
    throw new Error(`there is no hook ${hook}; there are ${HOOKS.join(", ")}`);
  }
  if (!Array.isArray(reads) || reads.some((name) => typeof name !== "string")) {
    throw new TypeError(`the names that are read at ${hook} have to be a list of strings`);
  }
  if (!Number.isInteger(every) || every < 1 || every > 0xffff_ffff) {
    throw new RangeError(`every is ${every} at ${hook}: it has to be a whole number from 1 to 4294967295`);
  }
  return { hook, every, reads: [...reads] };
}
