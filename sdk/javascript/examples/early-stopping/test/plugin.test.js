/**
 * @file What the plugin decides: what is saved and put back, which checks count, which settings go together.
 * Leaves the numbers to `fixtures`.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Harness } from "host-sdk/testing";
import plugin from "../src/index.ts";

const start = (config = {}) => Harness.start(plugin, config);
const evaluate = (harness, step, loss) => harness.send({ hook: "evaluate-end", step, scalars: { "eval/loss": loss } });
const end = (harness, step, detail) => harness.send({ hook: "train-end", step, detail });
const report = (name, value) => ({ tag: "report", val: { name, value } });
const stops = (decisions) => decisions.some(({ tag }) => tag === "stop");
const save = { tag: "save", val: "best" };
const restore = { tag: "restore", val: "best" };

test("an improvement saves and a stop says why", () => {
  const harness = start({ patience: 2 });
  assert.deepEqual(evaluate(harness, 10, 0.5), [save, report("best", 0.5), report("wait", 0)]);
  assert.deepEqual(evaluate(harness, 20, 0.75), [report("best", 0.5), report("wait", 1)]);
  const stop = { tag: "stop", val: "eval/loss has not improved for 2 checks: now 0.625, best 0.5 at step 10" };
  assert.deepEqual(evaluate(harness, 30, 0.625), [report("best", 0.5), report("wait", 2), stop]);
});

test("the best comes back whatever the cause of the end", () => {
  for (const why of ["eval/loss has not improved for 3 checks", "all steps are done", "interrupted", "out of memory"]) {
    const harness = start();
    evaluate(harness, 10, 0.5);
    evaluate(harness, 20, 0.75);
    assert.deepEqual(end(harness, 20, why), [restore], why);
  }
});

test("nothing is put back over the best weights themselves", () => {
  const harness = start();
  evaluate(harness, 10, 0.5);
  evaluate(harness, 20, 0.25);
  assert.deepEqual(end(harness, 20, "all steps are done"), []);
  // Three more steps that no evaluation has seen: the best weights that are known are those of step 20.
  assert.deepEqual(end(harness, 23, "all steps are done"), [restore]);
});

test("nothing is put back where there never was a best", () => {
  const harness = start();
  evaluate(harness, 10, NaN);
  assert.deepEqual(end(harness, 20, "all steps are done"), []);
});

test("nothing is saved or put back when that is not wanted", () => {
  const harness = start({ "restore-best": false });
  assert.deepEqual(evaluate(harness, 10, 0.5), [report("best", 0.5), report("wait", 0)]);
  evaluate(harness, 20, 0.75);
  assert.deepEqual(end(harness, 20, "all steps are done"), []);
});

test("NaN is never the best and a first NaN does not poison", () => {
  const harness = start({ patience: 3 });
  assert.deepEqual(evaluate(harness, 10, NaN), [report("wait", 1)]);
  assert.deepEqual(evaluate(harness, 20, 0.5)[0], save);
  assert.deepEqual(evaluate(harness, 30, NaN), [report("best", 0.5), report("wait", 1)]);
  assert.equal(harness.state.memory.best, 0.5);
});

test("patience goes back to zero on improvement", () => {
  const harness = start({ patience: 2 });
  for (const [index, loss] of [1, 2, 0.5, 0.75, 0.25, 0.5].entries()) {
    assert.ok(!stops(evaluate(harness, index + 1, loss)), `step ${index + 1}`);
  }
  assert.ok(stops(evaluate(harness, 7, 0.5)));
});

test("a resumed run stops at the same step", () => {
  const losses = [1, 0.5, 0.75, NaN, 0.625, 0.5];
  const run = (resumeBefore) => {
    const harness = start({ patience: 4 });
    const step = losses.findIndex((loss, index) => {
      if (resumeBefore === index) harness.resume(index);
      return stops(evaluate(harness, index, loss));
    });
    return [step, end(harness, 6, "stopped")];
  };
  assert.deepEqual(run(), [5, [restore]]);
  for (const before of losses.keys()) assert.deepEqual(run(before), [5, [restore]], `resumed before check ${before}`);
});

test("checks during the warm-up are left out", () => {
  const harness = start({ "warm-up": 20, patience: 1 });
  assert.deepEqual(evaluate(harness, 10, 0.1), []);
  assert.deepEqual(evaluate(harness, 19, 0.1), []);
  assert.deepEqual(evaluate(harness, 20, 0.5)[0], save);
});

test("checks before an epoch are left out", () => {
  const harness = start({ "start-from-epoch": 2 });
  const at = (epoch) => harness.send({ hook: "evaluate-end", step: 1, epoch, scalars: { "eval/loss": 1 } }).length;
  // Epochs 0 and 1 end at 1 and 2; the first moment of epoch 2 is just behind.
  assert.deepEqual([0.5, 1, 2].map(at), [0, 0, 0]);
  assert.notEqual(at(2.01), 0);
});

test("another measurement can be watched at another moment", () => {
  const harness = start({ monitor: "accuracy", mode: "max", "check-at": "step-end", "check-every": 2, patience: 1 });
  const at = (step, accuracy) => harness.send({ hook: "step-end", step, scalars: { accuracy } });
  assert.deepEqual(at(1, 0.25), []);
  assert.deepEqual(at(2, 0.5)[0], save);
  assert.deepEqual(at(3, 0.25), []);
  assert.ok(stops(at(4, 0.5)));
});

test("a value that is missing is told once", () => {
  const harness = start({ monitor: "loss" });
  const line = { tag: "note", val: "loss is not known here, so nothing was checked" };
  assert.deepEqual(evaluate(harness, 10, 0.5), [line]);
  assert.deepEqual(evaluate(harness, 20, 0.5), []);
});

test("thresholds stop at once", () => {
  const config = { "stopping-threshold": 0.25, "divergence-threshold": 4, "check-finite": true };
  for (const [loss, words] of [
    [0.125, "stopping"],
    [5, "divergence"],
    [NaN, "finite"],
    [Infinity, "finite"],
  ]) {
    const stop = evaluate(start(config), 10, loss).find(({ tag }) => tag === "stop");
    assert.ok(stop?.val.includes(words), `${loss}`);
  }
  // What reaches the goal is also the best.
  assert.deepEqual(evaluate(start(config), 10, 0.125)[0], save);
});

test("settings that make no sense are refused with the reason", () => {
  for (const [config, words] of [
    [{ "min-delta": -1 }, "min-delta is -1"],
    [{ "check-every": 0 }, "check-every is 0"],
    [{ rule: "huggingface", baseline: 1 }, "baseline is not part of the huggingface rule"],
    [{ rule: "keras", "check-finite": true }, "check-finite is not part of the keras rule"],
    [{ rule: "lightning", baseline: 1 }, "baseline is not part of the lightning rule"],
    [{ patience: -1 }, "patience is -1"],
    [{ patiense: 1 }, "unknown key patiense"],
    [{ mode: "least" }, 'mode is "least"'],
  ]) {
    assert.throws(
      () => start(config),
      (error) => error.message.includes(words),
      words,
    );
  }
});
