/** @file What goals do: when they act and when not, and what they say. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Harness } from "../../../sdk/javascript/src/testing.js";
import plugin from "../src/index.ts";

const start = (...goals) => Harness.start(plugin, { goals });
const step = (harness, step, loss) => harness.send({ hook: "step-end", step, scalars: { loss } });
/** The steps, from 1, at which anything was decided. */
const acts = (harness, losses) =>
  losses.map((loss, place) => (step(harness, place + 1, loss).length > 0 ? place + 1 : 0)).filter((at) => at > 0);
const note = (val) => ({ tag: "note", val });

test("a goal that holds decides, and says with which values", () => {
  const harness = start({ when: "eval/loss < 0.1 && epoch > 3", do: "stop", because: "the goal is reached" });
  const evaluate = (epoch, loss) =>
    harness.send({ hook: "evaluate-end", step: 1, epoch, scalars: { "eval/loss": loss } });
  assert.deepEqual(evaluate(3, 0.05), []);
  assert.deepEqual(evaluate(4, 0.1), []);
  assert.deepEqual(evaluate(4, 0.0123456789), [
    { tag: "stop", val: "the goal is reached (eval/loss 0.0123457, epoch 4)" },
  ]);
});

test("without a reason the expression is one", () => {
  assert.deepEqual(step(start({ when: "loss  >\n 1", do: "note" }), 1, 2), [note("loss > 1 (loss 2)")]);
});

test("what a side that was not looked at would say is said too", () => {
  const decisions = step(start({ when: "loss > 1 || eval/loss > 1", do: "note", at: "step-end" }), 1, 2);
  assert.deepEqual(decisions, [note("loss > 1 || eval/loss > 1 (loss 2, eval/loss not known)")]);
});

for (const [goal, decisions] of [
  [{ do: "stop" }, [{ tag: "stop", val: "why (loss 2)" }]],
  [{ do: "end-epoch" }, [{ tag: "end-epoch", val: "why (loss 2)" }]],
  [{ do: "note" }, [note("why (loss 2)")]],
  [{ do: "skip", at: "gradients" }, [{ tag: "skip", val: "why (loss 2)" }]],
  [{ do: "evaluate" }, [{ tag: "evaluate" }, note("why (loss 2)")]],
  [{ do: "log" }, [{ tag: "log" }, note("why (loss 2)")]],
  [{ do: "save" }, [{ tag: "save", val: "" }, note("why (loss 2)")]],
  [{ do: "save", tag: "low" }, [{ tag: "save", val: "low" }, note("why (loss 2)")]],
  [{ do: "restore", tag: "best" }, [{ tag: "restore", val: "best" }, note("why (loss 2)")]],
  [
    { do: "set", knob: "clip-norm", value: 3 },
    [{ tag: "set", val: { knob: "clip-norm", value: 3 } }, note("why (loss 2)")],
  ],
  [
    { do: "scale", knob: "learning-rate", factor: "1 / loss" },
    [{ tag: "scale", val: { knob: "learning-rate", value: 0.5 } }, note("why (loss 2)")],
  ],
  [
    { do: "report", name: "twice", value: "2 * loss" },
    [{ tag: "report", val: { name: "twice", value: 4 } }, note("why (loss 2)")],
  ],
  [{ do: "mute", name: "time/*", at: "log" }, [{ tag: "mute", val: "time/*" }, note("why (loss 2)")]],
]) {
  test(`${goal.do} decides, with a reason and without`, () => {
    const moment = { hook: goal.at ?? "step-end", step: 1, scalars: { loss: 2 } };
    assert.deepEqual(start({ when: "loss > 1", because: "why", ...goal }).send(moment), decisions);
    const silent = start({ when: "loss > 1", ...goal }).send(moment);
    assert.deepEqual(
      silent.map(({ tag }) => tag),
      [goal.do],
    );
  });
}

test("each goal is looked at where it says, or where it is usual", () => {
  for (const [goal, hook] of [
    [{ when: "loss > 1", do: "stop" }, "step-end"],
    [{ when: "loss > eval/loss", do: "stop" }, "evaluate-end"],
    [{ when: "mean(`eval/loss`, 3) > 1", do: "stop" }, "evaluate-end"],
    [{ when: "loss > eval/loss", do: "stop", at: "epoch-end" }, "epoch-end"],
    [{ when: "loss > 1", do: "skip" }, "gradients"],
    [{ when: "true", do: "mute", name: "loss" }, "log"],
  ]) {
    assert.deepEqual(
      start(goal).subscriptions.map((it) => it.hook),
      [hook],
    );
  }
});

test("what is read is what is named, once, and nothing else", () => {
  const harness = start(
    { when: "loss > 1 && mean(gradient-norm, 3) > lowest(`loss`)", do: "note" },
    { when: "step > 5", do: "report", name: "a", value: "accuracy" },
    { when: "eval/loss > 1", do: "stop" },
    { when: "epoch > 1", do: "log", at: "epoch-end" },
  );
  assert.deepEqual(harness.subscriptions, [
    { hook: "step-end", every: 1, reads: ["loss", "gradient-norm", "accuracy"] },
    { hook: "evaluate-end", every: 1, reads: ["eval/loss"] },
    { hook: "epoch-end", every: 1, reads: [] },
  ]);
});

test("a goal acts at each check, after some in a row, with pauses, or once", () => {
  const losses = [2, 2, 0, 2, 2, 2, 2, 2, 2];
  for (const [goal, steps] of [
    [{}, [1, 2, 4, 5, 6, 7, 8, 9]],
    [{ for: 2 }, [2, 5, 7, 9]],
    [{ for: 3 }, [6, 9]],
    [{ once: true }, [1]],
    [{ for: 3, once: true }, [6]],
    [{ cooldown: 2 }, [1, 4, 7]],
    [{ for: 2, cooldown: 1 }, [2, 5, 8]],
    [{ every: 2 }, [2, 4, 6, 8]],
    [{ every: 2, for: 2 }, [4, 8]],
    [{ every: 3 }, [6, 9]],
  ]) {
    assert.deepEqual(acts(start({ when: "loss > 1", do: "log", ...goal }), losses), steps, JSON.stringify(goal));
  }
});

test("goals of one hook keep their own pace", () => {
  const report = (name, every) => ({ when: "true", do: "report", name, value: "step", every });
  const harness = start(report("four", 4), report("six", 6));
  assert.deepEqual(harness.subscriptions, [{ hook: "step-end", every: 2, reads: [] }]);
  const names = Array.from({ length: 12 }, (_, place) => step(harness, place + 1).map(({ val }) => val.name));
  const at = Object.fromEntries(names.map((list, place) => [place + 1, list]).filter(([, list]) => list.length > 0));
  assert.deepEqual(at, { 4: ["four"], 6: ["six"], 8: ["four"], 12: ["four", "six"] });
});

test("decisions are in the order of the goals", () => {
  const harness = start({ when: "true", do: "save" }, { when: "true", do: "evaluate" }, { when: "false", do: "log" });
  assert.deepEqual(
    step(harness, 1).map(({ tag }) => tag),
    ["save", "evaluate"],
  );
});

test("what is not known neither counts nor breaks a row, and is told once", () => {
  const harness = start({ when: "loss > 1", do: "log", for: 2 });
  const words = "`loss > 1` is not decided while loss is not known at step-end";
  assert.deepEqual(step(harness, 1, 2), []);
  assert.deepEqual(harness.send({ hook: "step-end", step: 2 }), [note(words)]);
  assert.deepEqual(harness.send({ hook: "step-end", step: 3 }), []);
  assert.deepEqual(step(harness, 4, 2), [{ tag: "log" }]);
  assert.deepEqual(harness.takeLog(), [{ level: "warn", line: words }]);
});

test("an amount that is not known leaves the goal undecided", () => {
  const harness = start({ when: "true", do: "set", knob: "clip-norm", value: "2 * loss", once: true });
  assert.deepEqual(
    harness.send({ hook: "step-end", step: 1 }).map(({ tag }) => tag),
    ["note"],
  );
  assert.deepEqual(step(harness, 2, 3), [{ tag: "set", val: { knob: "clip-norm", value: 6 } }]);
});

test("what has to be remembered first is no cause to complain", () => {
  const harness = start({ when: "loss > mean(loss, 3)", do: "log" });
  assert.deepEqual(acts(harness, [1, 2, 3, 1, 5]), [3, 5]);
  assert.deepEqual(harness.takeLog(), []);
});

test("NaN reaches no goal that compares", () => {
  for (const when of ["loss < 1", "loss > 1", "loss >= 1", "lowest(loss) < 1", "mean(loss, 1) < 1"]) {
    assert.deepEqual(acts(start({ when, do: "log" }), [NaN, NaN]), [], when);
  }
  assert.deepEqual(acts(start({ when: "is-nan(loss)", do: "log" }), [1, NaN]), [2]);
});
