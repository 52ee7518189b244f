/** @file A run that was resumed anywhere is the run that was not; changed goals keep what is theirs. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Harness } from "../../../sdk/javascript/src/testing.js";
import plugin from "../src/index.ts";
import { random } from "./read.js";

const GOALS = [
  { when: "mean(loss, 5) < 0.5", do: "note", for: 2 },
  { when: "loss > 1.5 * lowest(loss)", do: "scale", knob: "learning-rate", factor: "0.5", cooldown: 3, because: "up" },
  { when: "slope(loss, 4) > 0 && previous(loss) < loss", do: "report", name: "rise", value: "loss - previous(loss)" },
  { when: "highest(loss) > 0.9", do: "save", tag: "high", once: true },
  { when: "eval/loss < 0.5", do: "log", at: "step-end" },
  { when: "is-nan(loss)", do: "skip", at: "gradients", for: 2 },
  { when: "loss < 0.5", do: "evaluate", every: 4 },
  { when: "loss < 0.5", do: "evaluate", every: 6, for: 2 },
];

function moments(seed, count) {
  const next = random(seed);
  const loss = () => [NaN, Infinity, -0, undefined][Math.floor(next() * 60)] ?? next();
  return Array.from({ length: count }, (_, place) => {
    const scalars = next() < 0.9 ? { loss: loss(), ...(place > 20 && { "eval/loss": next() }) } : {};
    return ["gradients", "step-end"].map((hook) => ({ hook, step: place + 1, epoch: place / 10, scalars }));
  }).flat();
}

const run = (all, resumeBefore) => {
  const harness = Harness.start(plugin, { goals: GOALS });
  const decisions = all.map((moment, place) => {
    if (place === resumeBefore) harness.resume(moment.step);
    return harness.send(moment);
  });
  return { decisions, state: harness.state };
};

test("resumed before any event, a run decides and remembers the same", () => {
  const all = moments(3, 60);
  const whole = run(all);
  const made = new Set(whole.decisions.flat().map(({ tag }) => tag));
  assert.deepEqual([...made].sort(), ["evaluate", "log", "note", "report", "save", "scale"]);
  for (const before of all.keys()) assert.deepEqual(run(all, before), whole, `before event ${before}`);
});

test("asking for the state changes nothing", () => {
  const harness = Harness.start(plugin, { goals: GOALS });
  for (const moment of moments(4, 20)) {
    const before = structuredClone(harness.state);
    harness.resume(moment.step);
    assert.deepEqual(harness.state, before);
    harness.send(moment);
  }
});

test("a goal that has acted once does not act again after a resume", () => {
  const harness = Harness.start(plugin, { goals: [{ when: "loss > 1", do: "note", once: true }] });
  const send = (step) => harness.send({ hook: "step-end", step, scalars: { loss: 2 } }).length;
  assert.equal(send(1), 1);
  harness.resume(1);
  assert.equal(send(2), 0);
});

test("where goals were changed, those that are still there go on", () => {
  const kept = { when: "loss > 1", do: "note", once: true };
  const before = Harness.start(plugin, { goals: [{ when: "loss > 0", do: "log" }, kept] });
  before.send({ hook: "step-end", step: 1, scalars: { loss: 2 } });
  const after = Harness.start(plugin, {
    goals: [
      { ...kept, because: "other words" },
      { when: "loss > 1", do: "log" },
    ],
  });
  after.load(before.state, 1);
  assert.deepEqual(after.send({ hook: "step-end", step: 2, scalars: { loss: 2 } }), [{ tag: "log" }]);
  assert.deepEqual(Object.keys(after.state.goals), [
    "note at step-end/1 when loss > 1",
    "log at step-end/1 when loss > 1",
  ]);
});

test("goals with the same words have a memory each", () => {
  const goal = { when: "loss > 1", do: "note" };
  const harness = Harness.start(plugin, {
    goals: [
      { ...goal, once: true },
      { ...goal, for: 2 },
    ],
  });
  const send = (step) => harness.send({ hook: "step-end", step, scalars: { loss: 2 } }).length;
  assert.deepEqual([1, 2, 3, 4].map(send), [1, 1, 0, 1]);
});

test("windows do not grow", () => {
  const harness = Harness.start(plugin, { goals: GOALS });
  for (const moment of moments(5, 300)) harness.send(moment);
  assert.ok(JSON.stringify(harness.state).length < 2000);
});
