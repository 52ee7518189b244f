/** @file What expressions come to. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { compile, event, random, value } from "./read.js";

const KNOWN = {
  loss: 2,
  "eval/loss": 0.5,
  "gradient-norm/layers.0.*": 7,
  "a-b": 11,
  "learning-rate/no-decay": 1e-3,
  "odd name [0]": 5,
  step: 99,
  nan: NaN,
  inf: Infinity,
};

for (const [source, expected] of [
  // Numbers.
  ["3", 3],
  ["0.5", 0.5],
  ["1e-3", 1e-3],
  ["2.5E+2", 250],
  ["2-1", 1],
  ["007", 7],
  // Names read on through -, /, . and *.
  ["eval/loss", 0.5],
  ["loss / 2", 1],
  ["loss /2", 1],
  ["2*loss", 4],
  ["4/loss", 2],
  ["loss * 3", 6],
  ["loss -1", 1],
  ["loss - 1", 1],
  ["-loss", -2],
  ["a-b", 11],
  ["a-b - a-b", 0],
  ["gradient-norm/layers.0.* * 2", 14],
  ["learning-rate/no-decay * 1000", 1],
  ["`odd name [0]` + 1", 6],
  ["`eval/loss`/loss", 0.25],
  ["`step`", 99],
  // The event itself.
  ["step", 7],
  ["epoch", 1.5],
  ["samples + tokens", 300],
  ["step / total-steps", 0.07],
  // Precedence and direction.
  ["1 + 2 * 3", 7],
  ["(1 + 2) * 3", 9],
  ["10 - 4 - 3", 3],
  ["16 / 4 / 2", 2],
  ["17 % 10 % 4", 3],
  ["-2 * -3", 6],
  ["--2", 2],
  ["-7 % 3", -1],
  ["2 - -1", 3],
  ["1 + 1 == 2", true],
  ["1 < 2 && 2 < 1 || true", true],
  ["true || true && false", true],
  ["!true || true", true],
  ["!(true || true)", false],
  ["!!true", true],
  // Comparisons.
  ["loss<3", true],
  ["loss>=2&&loss<=2", true],
  ["loss != 2", false],
  ["0.1 + 0.2 == 0.3", false],
  // Functions.
  ["min(3, loss, 4)", 2],
  ["max(3, loss)", 3],
  ["abs(-4) + sqrt(9) + floor(2.75)", 9],
  ["exp(0) + log(1)", 1],
  ["is-finite(loss)", true],
  ["is-finite(inf) || is-nan(inf)", false],
  ["is-nan(nan)", true],
  ["min (1, 2)", 1],
  // NaN and infinities.
  ["nan < 1", false],
  ["nan >= 1", false],
  ["nan == nan", false],
  ["nan != nan", true],
  ["!(nan < 1)", true],
  ["inf > 1e300", true],
  ["1 / 0", Infinity],
  ["0 / 0", NaN],
  ["sqrt(-1)", NaN],
  ["min(nan, 1)", NaN],
  // What is not known.
  ["other", undefined],
  ["other + 1", undefined],
  ["-other", undefined],
  ["max(1, other)", undefined],
  ["other > 1", undefined],
  ["!(other > 1)", undefined],
  ["other > 1 && true", undefined],
  ["true && other > 1", undefined],
  ["other > 1 && false", false],
  ["false && other > 1", false],
  ["other > 1 || true", true],
  ["true || other > 1", true],
  ["other > 1 || false", undefined],
  ["false || other > 1", undefined],
]) {
  test(`${source} is ${expected}`, () => {
    const progress = { step: 7, epoch: 1.5, samples: 100, tokens: 200, totalSteps: 100 };
    assert.deepEqual(value(source, KNOWN, progress), expected);
  });
}

test("the number of all steps can be unknown", () => assert.equal(value("total-steps"), undefined));

for (const [source, inputs, expected] of [
  ["previous(x)", [1, 2, 4], [undefined, 1, 2]],
  ["x - previous(x)", [1, 2, 4], [undefined, 1, 2]],
  ["previous(previous(x))", [1, 2, 4, 8], [undefined, undefined, 1, 2]],
  ["lowest(x)", [3, 1, NaN, 2, -Infinity], [3, 1, 1, 1, 1]],
  ["highest(x)", [NaN, 3, 1, 4, Infinity], [undefined, 3, 3, 4, 4]],
  ["previous(lowest(x))", [3, 1, 2], [undefined, 3, 1]],
  ["mean(x, 3)", [1, 2, 6, 10], [undefined, undefined, 3, 6]],
  ["mean(x, 2)", [1, NaN, 2, 4], [undefined, NaN, NaN, 3]],
  ["mean(x, 1)", [1, 2], [1, 2]],
  ["mean(2 * x + 1, 2)", [1, 2], [undefined, 4]],
  ["slope(x, 3)", [1, 3, 5, 5], [undefined, undefined, 2, 1]],
  ["slope(x, 2)", [1, 4], [undefined, 3]],
  // A check at which the input is not known is left out.
  ["previous(x)", [1, undefined, 4], [undefined, undefined, 1]],
  ["mean(x, 2)", [1, undefined, 3], [undefined, undefined, 2]],
]) {
  test(`${source} over ${inputs.join(", ")}`, () => {
    const next = compile(source);
    assert.deepEqual(
      inputs.map((x) => next(event({ x }))),
      expected,
    );
  });
}

test("what remembers takes part also behind && and ||", () => {
  const next = compile("gate > 0 && x > previous(x)", "condition");
  assert.equal(next(event({ gate: 0, x: 5 })), false);
  assert.equal(next(event({ gate: 1, x: 4 })), false);
  assert.equal(next(event({ gate: 1, x: 6 })), true);
});

test("an expression comes to what JavaScript makes of the same text", () => {
  const next = random(1);
  const pick = (list) => list[Math.floor(next() * list.length)];
  const maybe = (text, other) => (next() < 0.2 ? text : other);
  const number = (depth) => {
    if (depth === 0 || next() < 0.2) return pick(["1", "2", "3.5", "0.25", "1e1"]);
    const both = `${number(depth - 1)} ${pick(["+", "-", "*", "/", "%"])} ${number(depth - 1)}`;
    return maybe("- ", "") + maybe(`(${both})`, both);
  };
  const condition = (depth) => {
    if (depth === 0) return `${number(3)} ${pick(["==", "!=", "<", "<=", ">", ">="])} ${number(3)}`;
    const both = `${condition(depth - 1)} ${pick(["&&", "||"])} ${condition(depth - 1)}`;
    return maybe(`!(${both})`, maybe(`(${both})`, both));
  };
  const seen = { true: 0, false: 0 };
  for (let round = 0; round < 3000; round++) {
    const source = condition(Math.floor(next() * 4));
    const ours = value(source);
    assert.equal(ours, new Function(`return ${source}`)(), source);
    seen[ours]++;
  }
  assert.ok(seen.true > 500 && seen.false > 500);
});
