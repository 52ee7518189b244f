/** @file What configurations are taken, what is said of those that are not, and what the host is told to check. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { boolean, choice, integer, list, number, on, plugin, table, text } from "host-sdk";
import { describe, Harness } from "host-sdk/testing";

const SETTINGS = {
  monitor: text("What to watch."),
  minDelta: number("Gain.", { default: 0.5, min: 0, below: Infinity }),
  factor: number("Factor.", { default: 0.5, above: 0, below: 1 }),
  patience: integer("Checks.", { default: 3, min: 1, max: 9 }),
  mode: choice("Direction.", ["min", "max"], { default: "min" }),
  baseline: number("Bound.", { optional: true }),
  shape: choice("Shape.", ["a", "b"], { optional: true }),
  verbose: boolean("Says more.", { default: false }),
  names: list("Names.", text(""), { default: ["loss"], min: 1 }),
  rates: table("Rates by group.", number("", { min: 0 }), { default: {} }),
};

const about = { name: "settled", version: "0.1.0", summary: "Has settings.", settings: SETTINGS };

let found;
const settled = plugin(about, {
  start() {
    found = this.settings;
    return [on("step-end")];
  },
  stepEnd() {},
});

function values(config) {
  Harness.start(settled, config);
  return found;
}

test("defaults fill in what a configuration leaves out", () => {
  assert.deepEqual(values({ monitor: "loss" }), {
    monitor: "loss",
    minDelta: 0.5,
    factor: 0.5,
    patience: 3,
    mode: "min",
    baseline: undefined,
    shape: undefined,
    verbose: false,
    names: ["loss"],
    rates: {},
  });
});

test("what is given counts, and null is none", () => {
  const given = values({
    monitor: "NaN",
    "min-delta": 2,
    baseline: Infinity,
    shape: null,
    names: ["a", "b"],
    rates: { x: 1 },
  });
  const { monitor, minDelta, baseline, shape, names, rates } = given;
  assert.deepEqual(
    [monitor, minDelta, baseline, shape, names, rates],
    ["NaN", 2, Infinity, undefined, ["a", "b"], { x: 1 }],
  );
});

test("no instance changes another one's defaults", () => {
  values({ monitor: "loss" }).names.push("more");
  assert.deepEqual(values({ monitor: "loss" }).names, ["loss"]);
});

test("everything that is wrong is said at once, by the configuration's names", () => {
  for (const [config, words] of [
    [{}, "monitor is missing"],
    [{ monitor: 5 }, "monitor is 5: it has to be a text"],
    [{ "min-delta": -1 }, "min-delta is -1: it has to be 0 or more"],
    [{ "min-delta": Infinity }, "min-delta is Infinity: it has to be less than Infinity"],
    [{ "min-delta": NaN }, "min-delta is NaN: it has to be 0 or more"],
    [{ factor: 0 }, "factor is 0: it has to be more than 0"],
    [{ factor: 1 }, "factor is 1: it has to be less than 1"],
    [{ patience: 10 }, "patience is 10: it has to be 9 or less"],
    [{ patience: 1.5 }, "patience is 1.5: it has to be a whole number"],
    [{ mode: "least" }, 'mode is "least": it has to be one of min, max'],
    [{ baseline: "low" }, 'baseline is "low": it has to be a number'],
    [{ verbose: 1 }, "verbose is 1: it has to be true or false"],
    [{ names: [] }, "the length of names is 0: it has to be 1 or more"],
    [{ names: ["a", 1] }, "names[1] is 1: it has to be a text"],
    [{ rates: { a: -1 } }, "rates.a is -1: it has to be 0 or more"],
    [{ rates: [] }, "rates is []: it has to be a table"],
    [{ minDelta: 1 }, "unknown key minDelta, expected one of monitor, min-delta"],
  ]) {
    assert.throws(
      () => values(config),
      (error) => error.message.startsWith("configuration: ") && error.message.includes(words),
      words,
    );
  }
  assert.throws(() => values({ patiense: 1, mode: 0 }), /patiense.*; monitor is missing; mode is 0/);
});

test("a callback without settings takes none", () => {
  const bare = plugin({ name: "bare", version: "0.1.0", summary: "" }, { start: () => [] });
  Harness.start(bare);
  assert.throws(() => Harness.start(bare, { any: 1 }), /unknown key any, there are no settings/);
});

test("the schema says the same to the host", () => {
  const { properties, ...schema } = describe(settled).configSchema;
  assert.deepEqual(schema, {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "settled",
    description: "Has settings.",
    type: "object",
    required: ["monitor"],
    additionalProperties: false,
  });
  assert.deepEqual(properties, {
    monitor: { description: "What to watch.", type: "string" },
    "min-delta": { description: "Gain.", type: "number", minimum: 0, default: 0.5 },
    factor: { description: "Factor.", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, default: 0.5 },
    patience: { description: "Checks.", type: "integer", minimum: 1, maximum: 9, default: 3 },
    mode: { description: "Direction.", type: "string", enum: ["min", "max"], default: "min" },
    baseline: { description: "Bound.", type: ["number", "null"], default: null },
    shape: { description: "Shape.", type: ["string", "null"], enum: ["a", "b", null], default: null },
    verbose: { description: "Says more.", type: "boolean", default: false },
    names: {
      description: "Names.",
      type: "array",
      items: { description: "", type: "string" },
      minItems: 1,
      default: ["loss"],
    },
    rates: {
      description: "Rates by group.",
      type: "object",
      additionalProperties: { description: "", type: "number", minimum: 0 },
      default: {},
    },
  });
});

test("a default that is out of its range is the author's mistake", () => {
  assert.throws(() => number("", { default: -1, min: 0 }), /the default is -1/);
  assert.throws(() => number("", { default: 1, optional: true }), /not optional/);
});
