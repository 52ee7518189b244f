/** @file Which configurations are refused, and what is said of them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { describe, Harness } from "../../../sdk/javascript/src/testing.js";
import plugin from "../src/index.ts";

const start = (...goals) => Harness.start(plugin, { goals });

const KNOBS = { "learning-rate/rest": {}, "learning-rate/no-decay": {}, "clip-norm": {} };

for (const [goal, words] of [
  [{ do: "stop" }, "goals[0].when is missing"],
  [{ when: "true" }, "goals[0].do is missing"],
  [{ when: 5, do: "stop" }, "goals[0].when is 5: it has to be a text"],
  [{ when: "true", do: "halt" }, 'goals[0].do is "halt": it has to be one of stop, '],
  [{ when: "true", do: "stop", att: "log" }, "unknown key att in goals[0], expected one of when, do, at, "],
  [{ when: "true", do: "stop", for: 0 }, "goals[0].for is 0: it has to be 1 or more"],
  [{ when: "true", do: "stop", at: "end" }, 'goals[0].at is "end"'],
  [
    { when: "true", do: "stop", at: "train-end" },
    "goals[0]: `stop` means nothing at train-end; it does at train-begin",
  ],
  [{ when: "true", do: "skip", at: "step-end" }, "it does at step-begin, gradients, evaluate-begin, save-begin"],
  [{ when: "true", do: "restore" }, "goals[0]: `restore` needs tag"],
  [{ when: "true", do: "set", knob: "clip-norm" }, "goals[0]: `set` needs value"],
  [{ when: "true", do: "scale", knob: "clip-norm", value: 2 }, "goals[0]: `scale` needs factor"],
  [{ when: "true", do: "scale", knob: "clip-norm", factor: 2, value: 2 }, "goals[0]: `scale` has no value"],
  [{ when: "true", do: "stop", tag: "best" }, "goals[0]: `stop` has no tag"],
  [{ when: "true", do: "save", tag: "last" }, 'goals[0].tag is "last"'],
  [{ when: "true", do: "save", tag: "My Tag" }, 'goals[0].tag is "My Tag"'],
  [{ when: "true", do: "report", name: "Gap", value: 1 }, 'goals[0].name is "Gap"'],
  [{ when: "true", do: "report", name: "gap", value: "loss <" }, "goals[0].value, column 7: expected a number"],
  [
    { when: "true", do: "report", name: "gap", value: "loss < 1" },
    "goals[0].value, column 1: expected a number, and this is",
  ],
  [
    { when: "true", do: "report", name: "gap", value: true },
    "goals[0].value is true: it has to be a number or an expression",
  ],
  [{ when: "true", do: "set", knob: "learning-rat", value: 1 }, "did you mean `learning-rate`?"],
  [
    { when: "true", do: "set", knob: "clip-nrom", value: 1 },
    "no knob of this run is called, did you mean `clip-norm`?",
  ],
]) {
  test(`refused: ${JSON.stringify(goal)}`, () => {
    const refused = () => Harness.start(plugin, { goals: [goal] }, { knobs: KNOBS });
    assert.throws(refused, (error) => error.message.includes(words) || assert.fail(error.message));
  });
}

test("knobs are addressed by their names, what is above them, and patterns", () => {
  for (const knob of ["clip-norm", "learning-rate", "learning-rate/rest", "learning-rate/*", "*-norm", "*"]) {
    Harness.start(plugin, { goals: [{ when: "true", do: "set", knob, value: 1 }] }, { knobs: KNOBS });
  }
});

test("everything that is wrong is said at once", () => {
  const goals = [
    { when: "loss <", do: "stop" },
    { when: "true", do: "restore" },
    { when: "loss", do: "stop" },
  ];
  assert.throws(
    () => start(...goals),
    (error) =>
      ["goals[0].when, column 7", "goals[1]: `restore`", "goals[2].when, column 1"].every((it) =>
        error.message.includes(it),
      ),
  );
});

test("how much is remembered has a limit", () => {
  const goal = {
    when: `${Array.from({ length: 6 }, (_, i) => `mean(loss, ${1000 - i})`).join(" + ")} > 1`,
    do: "note",
  };
  assert.throws(() => start(goal, goal), /look back on 11970 values in all; 10000 is the limit/);
});

test("there is at least one goal, and not too many", () => {
  assert.throws(() => start(), /the length of goals is 0/);
  assert.throws(() => Harness.start(plugin, {}), /goals is missing/);
  assert.throws(() => start(...Array(65).fill({ when: "true", do: "log" })), /the length of goals is 65/);
});

test("the schema names every key of a goal", () => {
  const { properties, required } = describe(plugin).configSchema.properties.goals.items;
  const keys = "when do at every for cooldown once because tag knob value factor name";
  assert.deepEqual(Object.keys(properties), keys.split(" "));
  assert.deepEqual(required, ["when", "do"]);
});
