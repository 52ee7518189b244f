/**
 * @file What an author relies on, seen from outside: hooks, state and its versions, settings, the log.
 * Plays the host in Node; the component's binary interface is tested where components are run.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Callback, log, manifest, number, on, plugin, text } from "host-sdk";
import { describe, Harness } from "host-sdk/testing";

/** Remembers the lowest value of a measurement. */
const lowest = plugin(
  {
    name: "lowest",
    version: "1.2.3",
    summary: "Remembers the lowest value of a measurement.",
    requests: ["stop", "end-epoch"],
    knobs: ["learning-rate*"],
    order: -5,
    settings: { monitor: text("What to watch.") },
    state: () => ({ lowest: Infinity, told: [] }),
    stateVersion: 2,
  },
  {
    start() {
      return [
        on("step-end", [this.settings.monitor]),
        on("log", ["eval/*", "samples/*", "words"], { every: 2 }),
        on("train-end"),
      ];
    },
    migrate(saved, version) {
      // Version 1 was the number alone.
      if (version === 1) return { lowest: saved, told: [] };
      throw new Error(`no version ${version}`);
    },
    stepEnd(event, answer) {
      const value = event.getOrTell(this.settings.monitor, this.state.told, answer);
      if (value !== undefined) this.remember(value, answer);
    },
    remember(value, answer) {
      this.state.lowest = Math.min(this.state.lowest, value);
      answer.report("lowest", this.state.lowest);
    },
    log(event, answer) {
      for (const [name, value] of event.matching("eval/*")) answer.note(`${name} ${value}`);
      answer.note(JSON.stringify([event.vector("samples/a"), event.text("words"), event.vector("words")]));
    },
    trainEnd(event, answer) {
      answer.note("not kept");
      throw new Error(event.detail);
    },
  },
);

const start = () => Harness.start(lowest, { monitor: "loss" });
const note = (val) => ({ tag: "note", val });

test("only what was subscribed to is seen", () => {
  const harness = start();
  const decisions = harness.send({ hook: "step-end", step: 1, scalars: { other: 1, loss: 2 } });
  assert.deepEqual(decisions, [{ tag: "report", val: { name: "lowest", value: 2 } }]);
  assert.equal(harness.state.lowest, 2);
  assert.deepEqual(harness.send({ hook: "step-begin", step: 1 }), []);
});

test("every kind of measurement is read and every second occurrence called", () => {
  const harness = start();
  const moment = {
    hook: "log",
    step: 1,
    scalars: { "eval/loss": 0.5, "eval/accuracy": 0.25, loss: 1 },
    vectors: { "samples/a": [1, 0.1] },
    texts: { words: "hello" },
  };
  assert.deepEqual(harness.send(moment), []);
  const rest = JSON.stringify([[1, Math.fround(0.1)], "hello", null]);
  assert.deepEqual(harness.send(moment), [note("eval/loss 0.5"), note("eval/accuracy 0.25"), note(rest)]);
});

test("state survives a resume, also where it is not finite", () => {
  const harness = start();
  harness.resume(0);
  assert.deepEqual(harness.state, { lowest: Infinity, told: [] });
  harness.send({ hook: "step-end", step: 1, scalars: { loss: -Infinity } });
  harness.resume(1);
  assert.equal(harness.state.lowest, -Infinity);
});

test("state of an older version is migrated or refused, and a newer field gets its first value", () => {
  const harness = start();
  harness.load(0.25, 1);
  assert.deepEqual(harness.state, { lowest: 0.25, told: [] });
  assert.throws(() => harness.load(0.25, 7), { message: "no version 7" });
  assert.equal(harness.state.lowest, 0.25, "a failed load leaves the state alone");
  harness.load({ lowest: 1 }, 2);
  assert.deepEqual(harness.state, { lowest: 1, told: [] });
});

test("a missing value is told once, in log and timeline, also after a resume", () => {
  const harness = start();
  const line = "loss is not known here, so nothing was checked";
  assert.deepEqual(harness.send({ hook: "step-end", step: 1 }), [note(line)]);
  harness.resume(1);
  assert.deepEqual(harness.send({ hook: "step-end", step: 2 }), []);
  assert.deepEqual(harness.takeLog(), [{ level: "warn", line }]);
});

test("a hook that throws drops its decisions and logs where it was", () => {
  const harness = start();
  assert.throws(() => harness.send({ hook: "train-end", step: 1, detail: "the reason" }), { message: "the reason" });
  const [{ level, line }] = harness.takeLog();
  assert.equal(level, "error");
  assert.match(line, /the reason[^]*trainEnd/);
  assert.deepEqual(
    harness.send({ hook: "step-end", step: 1, scalars: { loss: 2 } }).length,
    1,
    "and nothing is left over",
  );
});

test("the manifest is what the contract has", () => {
  const { configSchema, ...about } = describe(lowest);
  assert.deepEqual(about, {
    name: "lowest",
    version: "1.2.3",
    summary: "Remembers the lowest value of a measurement.",
    requests: {
      stop: true,
      endEpoch: true,
      evaluate: false,
      save: false,
      log: false,
      skip: false,
      restore: false,
      mute: false,
    },
    knobs: ["learning-rate*"],
    lane: "inline",
    order: -5,
    stateVersion: 2,
  });
  assert.deepEqual(configSchema.required, ["monitor"]);
});

test("a class can be a callback, and each instance has its own fields", () => {
  const about = manifest({
    name: "counter",
    version: "0.1.0",
    summary: "Counts.",
    settings: { from: number("Start.") },
  });
  class Counter extends Callback {
    #count = 0;
    start() {
      this.#count = this.settings.from;
      return [on("step-end"), on("failure")];
    }
    handle(event, answer) {
      answer.report(event.hook, ++this.#count);
    }
  }
  const counter = plugin(about, Counter);
  const [one, other] = [Harness.start(counter, { from: 1 }), Harness.start(counter, { from: 10 })];
  const count = (harness, hook) => harness.send({ hook, step: 1 })[0].val;
  assert.deepEqual(count(one, "step-end"), { name: "step-end", value: 2 });
  assert.deepEqual(count(other, "step-end"), { name: "step-end", value: 11 });
  assert.deepEqual(count(one, "failure"), { name: "failure", value: 3 });
});

test("the run is what the host says of it", () => {
  let run;
  const about = { name: "curious", version: "0.1.0", summary: "Asks." };
  const groups = [
    { name: "lora-a", "learning-rate": 1, new: true },
    { name: "head", "learning-rate": 2, parameters: ["w"] },
  ];
  const knobs = { "learning-rate/head": { min: 0, max: null, unit: "1", value: 2 } };
  const curious = plugin(about, {
    start() {
      run = this.run;
      return [];
    },
  });
  Harness.start(curious, {}, { groups, knobs });
  const head = { name: "head", learningRate: 2, weightDecay: 0, parameters: ["w"] };
  assert.deepEqual(run.description.groups[1], head);
  assert.deepEqual(run.description.knobs, { "learning-rate/head": { min: 0, max: undefined, unit: "1", value: 2 } });
  assert.equal(run.description.model, "");
  assert.deepEqual(run.groupsMatching(["head", "x*"]), [head]);
  const words = "no parameter group fits body; this run has lora-a, head";
  assert.throws(() => run.groupsMatching(["body"]), { message: words });
});

test("mistakes of an author are said in words", () => {
  const about = { name: "wrong", version: "0.1.0", summary: "Is wrong." };
  const starting = (callback) => () => Harness.start(plugin(about, callback));
  const handling = (stepEnd) => {
    const harness = Harness.start(plugin(about, { start: () => [on("step-end")], stepEnd }));
    return () => harness.send({ hook: "step-end", step: 1 });
  };
  for (const [mistake, words] of [
    [() => plugin({ ...about, request: [] }, {}), /a manifest has no request; it has name/],
    [() => plugin({ ...about, requests: ["stopp"] }, {}), /there is no request stopp; there are stop/],
    [() => plugin({ ...about, lane: "fast" }, {}), /the lane is fast/],
    [() => plugin({ version: "1.0.0", summary: "" }, {}), /the manifest's name/],
    [starting({ start: () => [on("step-ends")] }), /there is no hook step-ends; there are train-begin/],
    [starting({ start: () => [on("step-end", "loss")] }), /a list of strings/],
    [starting({ start: () => [on("step-end", [], { every: 0 })] }), /every is 0/],
    [starting({ start: () => [on("step-end")], stepend() {} }), /subscribes to step-end and has no method stepEnd/],
    [starting({ start: () => {} }), /start has to give a list/],
    [starting({}), /start has to give a list/],
    [handling(async () => {}), /step-end gave a promise/],
    [
      handling((_, answer) => answer.report("loss", undefined)),
      /answer.report takes a number for loss, and got undefined/,
    ],
    [handling((_, answer) => answer.stop(5)), /answer.stop takes a string, and got 5/],
  ]) {
    assert.throws(mistake, words);
  }
});

test("decisions have the contract's form", () => {
  const about = { name: "all", version: "0.1.0", summary: "Decides everything." };
  const all = plugin(about, {
    start: () => [on("step-end")],
    stepEnd(_event, answer) {
      answer.stop("a").endEpoch("b").evaluate().save().save("best").log().skip("c").restore("last");
      answer.set("k", 1).scale("k", 0.5).report("r", NaN).mute("m").note("\ud83d cut");
    },
  });
  assert.deepEqual(Harness.start(all).send({ hook: "step-end", step: 1 }), [
    { tag: "stop", val: "a" },
    { tag: "end-epoch", val: "b" },
    { tag: "evaluate" },
    { tag: "save", val: "" },
    { tag: "save", val: "best" },
    { tag: "log" },
    { tag: "skip", val: "c" },
    { tag: "restore", val: "last" },
    { tag: "set", val: { knob: "k", value: 1 } },
    { tag: "scale", val: { knob: "k", value: 0.5 } },
    { tag: "report", val: { name: "r", value: NaN } },
    { tag: "mute", val: "m" },
    { tag: "note", val: "\ufffd cut" },
  ]);
});

test("lines are written as a console would", () => {
  const about = { name: "chatty", version: "0.1.0", summary: "Talks." };
  const circle = {};
  circle.itself = circle;
  const chatty = plugin(about, {
    start() {
      log.debug("a", 1, null, undefined, [NaN, 2n], { b: "c" });
      log.warn(circle);
      log.error(new TypeError("d"));
      return [];
    },
  });
  const [first, second, third] = Harness.start(chatty).takeLog();
  assert.deepEqual(first, { level: "debug", line: 'a 1 null undefined ["NaN","2"] {"b":"c"}' });
  assert.deepEqual(second, { level: "warn", line: "[object Object]" });
  assert.match(third.line, /^TypeError: d\n[^]*author\.test/);
});
