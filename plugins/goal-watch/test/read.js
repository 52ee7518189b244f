/** @file What the tests share: an expression's value at an event, and what is said of one that is wrong. */

import { Evaluator } from "../src/evaluator.ts";
import { expression } from "../src/expression.ts";

/** An event with these measurements; what is missing is not known. */
export function event(values = {}, progress = {}) {
  const whole = { step: 0, epoch: 0, samples: 0, tokens: 0, totalSteps: null, ...progress };
  return { get: (name) => values[name], progress: whole, step: whole.step };
}

/** An expression as a function of an event, which takes in one check a call. */
export function compile(source, kind = "number") {
  const { node } = expression("when", source, kind);
  const evaluator = new Evaluator();
  const value = evaluator.number(source, node);
  return (at) => {
    for (const history of evaluator.histories.values()) history.observe(at);
    return value(at);
  };
}

/** The value of a number or a condition. */
export function value(source, values, progress) {
  return compile(source, isCondition(source) ? "condition" : "number")(event(values, progress));
}

/** What is said of a wrong expression, and the column that it names. */
export function fault(source, kind = "condition") {
  try {
    expression("when", source, kind);
  } catch (error) {
    const [, column] = /column (\d+)/.exec(error.message) ?? [];
    return { words: error.message, column: Number(column) };
  }
  return { words: "nothing", column: 0 };
}

function isCondition(source) {
  try {
    expression("when", source, "condition");
    return true;
  } catch {
    return false;
  }
}

/** Numbers from 0 to below 1 that are the same in each run (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
