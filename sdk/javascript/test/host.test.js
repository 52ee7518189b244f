/** @file What is asked of the host, and how often; and how the component's exports reach the callback. */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { log, matches, on, plugin } from "host-sdk";
import { Names } from "../src/names.js";
import { Shapes } from "../src/shapes.js";

const NODE = { console: globalThis.console, random: Math.random };
const { component } = await import("host-sdk/component");
const OURS = globalThis.console;
globalThis.console = NODE.console;
after(() => Object.assign(Math, { random: NODE.random }));

/** A host that counts what it is asked. */
function host(shown = {}) {
  const asked = [];
  const names = ["loss", "eval/loss", "loads", "words"];
  const answers = {
    keyOf: (name) => (names.includes(name) ? names.indexOf(name) : null),
    nameOf: (key) => names[key] ?? null,
    keys: () => shown.keys ?? [0, 1],
    detail: () => "why",
    vectors: () => [2],
    vector: () => [1, 2],
    texts: () => [3],
    text: () => "hello",
    log() {},
  };
  for (const [name, answer] of Object.entries(answers)) {
    answers[name] = (...values) => {
      asked.push([name, ...values].join(" "));
      return answer(...values);
    };
  }
  return { ...answers, asked: () => asked.splice(0) };
}

const RUN = { run: "run", seed: 7, rank: 0, worldSize: 1, step: 0, description: "{}" };
const ABOUT = { name: "asking", version: "0.1.0", summary: "Asks." };
const event = (values, shape = 0) => ({
  hook: "step-end",
  progress: { step: 1, totalSteps: null, epoch: 0, samples: 0, tokens: 0 },
  shape,
  values,
});

/** A component whose only hook does this. */
function started(stepEnd, from = host()) {
  const exported = component(plugin(ABOUT, { start: () => [on("step-end", ["*"])], stepEnd }), from);
  exported.start("{}", RUN);
  from.asked();
  return exported;
}

test("names are asked for once for each shape, and the rest once for each event", () => {
  const from = host();
  const seen = [];
  const { handle } = started((shown) => {
    for (let twice = 0; twice < 2; twice++) {
      seen.push(
        shown.get("loss"),
        shown.get("eval/loss"),
        shown.get("other"),
        shown.vector("loads"),
        shown.text("words"),
      );
      seen.push(shown.detail, shown.vectors(), shown.texts(), shown.text("loads"), shown.scalars());
    }
  }, from);
  handle(event([1, NaN]));
  const first = [1, NaN, undefined, [1, 2], "hello", "why", [["loads", [1, 2]]], [["words", "hello"]], undefined];
  assert.deepEqual(seen.slice(0, 9), first);
  assert.deepEqual(seen.slice(9, 10), [
    [
      ["loss", 1],
      ["eval/loss", NaN],
    ],
  ]);
  assert.deepEqual(seen.slice(10), seen.slice(0, 10));
  const rest = ["vectors", "vector 2", "texts", "text 3", "detail"];
  assert.deepEqual(from.asked().sort(), ["keys", "nameOf 0", "nameOf 1", "keyOf loads", "keyOf words", ...rest].sort());
  handle(event([3, 4]));
  assert.deepEqual(from.asked().sort(), rest.sort());
});

test("a shape that comes back is still known, and so many are never too many", () => {
  const shown = { keys: [0] };
  const from = host(shown);
  const shapes = new Shapes(from, new Names(from));
  assert.deepEqual(shapes.of(5).names, ["loss"]);
  shown.keys = [1];
  assert.deepEqual(shapes.of(6).names, ["eval/loss"]);
  assert.deepEqual(shapes.of(5).names, ["loss"]);
  for (let number = 100; number < 300; number++) shapes.of(number);
  assert.deepEqual(shapes.of(5).names, ["eval/loss"]);
});

test("an unknown name is asked for again", () => {
  const from = host();
  const names = new Names(from);
  for (let twice = 0; twice < 2; twice++) assert.deepEqual([names.keyOf("later"), names.keyOf("loss")], [undefined, 0]);
  assert.deepEqual(from.asked(), ["keyOf later", "keyOf loss", "keyOf later"]);
});

test("an answer belongs to one call", () => {
  const { handle } = started((shown, answer) => answer.report("loss", shown.get("loss")));
  const first = handle(event([1, 0]));
  handle(event([2, 0]));
  assert.deepEqual(first, [{ tag: "report", val: { name: "loss", value: 1 } }]);
});

test("errors are words, and state without a state is no bytes", () => {
  const { handle, save, load } = started(() => null.loss);
  assert.throws(
    () => handle(event([1, 2])),
    (error) => typeof error === "string" && error.includes("null"),
  );
  assert.equal(save().length, 0);
  load(new Uint8Array(), 1);
  assert.throws(
    () => load(Uint8Array.of(0x7b, 0x7d), 1),
    (error) => error === "state was saved, and this version of the plugin keeps none",
  );
  const early = component(plugin(ABOUT, { start: () => [] }), host());
  for (const call of ["handle", "save", "load"]) {
    assert.throws(
      () => early[call](event([])),
      (error) => error === "called before start",
    );
  }
});

test("the console writes to the host's log", () => {
  const from = host();
  started(() => {}, from);
  OURS.log("a", 1);
  OURS.debug("b");
  OURS.warn("c");
  OURS.assert(true, "d");
  OURS.assert(false, "e");
  log.error("f");
  const lines = ["log info a 1", "log debug b", "log warn c", "log error assertion failed: e", "log error f"];
  assert.deepEqual(from.asked(), lines);
});

test("random numbers come from the run", () => {
  const draw = (run) => {
    component(plugin(ABOUT, { start: () => [] }), host()).start("", { ...RUN, ...run });
    return Array.from({ length: 1000 }, Math.random);
  };
  const first = draw({});
  assert.deepEqual(draw({}), first);
  for (const run of [{ seed: 8 }, { step: 1 }, { seed: 2 ** 40 + 7 }]) assert.notDeepEqual(draw(run), first);
  assert.ok(first.every((value) => value >= 0 && value < 1));
  const mean = first.reduce((sum, value) => sum + value) / first.length;
  assert.ok(Math.abs(mean - 0.5) < 0.05, String(mean));
});

test("stars stand for any characters", () => {
  for (const [pattern, name, fits] of [
    ["loss", "loss", true],
    ["loss", "losses", false],
    ["*", "", true],
    ["*", "eval/loss", true],
    ["eval/*", "eval/loss", true],
    ["eval/*", "eval", false],
    ["*/loss", "eval/loss", true],
    ["*/loss", "eval/loss/2", false],
    ["a*b*c", "abc", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "acb", false],
    ["ab*ba", "aba", false],
    ["*norm*", "gradient-norm/x", true],
  ]) {
    assert.equal(matches(pattern, name), fits, `${pattern} against ${name}`);
  }
});
