/**
 * @file The rules against what the libraries themselves did, check by check, also when resumed.
 * Where our own rule means to differ from a library is listed beside the plugin of the same name in Rust.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Harness } from "host-sdk/testing";
import plugin from "../src/index.ts";

const FIXTURES = new URL("../../../../../tests/fixtures/early_stopping/", import.meta.url);
const WORDS = { NaN, Infinity, "-Infinity": -Infinity };
/** What a library's reason says in ours. */
const REASONS = {
  patience_exhausted: "has not improved",
  non_finite_metric: "not finite",
  stopping_threshold: "stopping threshold",
  divergence_threshold: "divergence threshold",
};

function cases(library) {
  const text = readFileSync(new URL(`${library}.json`, FIXTURES), "utf8");
  return JSON.parse(text, (_key, value) => (typeof value === "string" && value in WORDS ? WORDS[value] : value)).cases;
}

/** The plugin's configuration that means the same under a rule. */
function config(rule, params) {
  return {
    rule,
    mode: params.mode ?? (params.greater_is_better ? "max" : "min"),
    patience: params.patience,
    "min-delta": params.min_delta ?? params.threshold,
    "check-finite": params.check_finite ?? null,
    "stopping-threshold": params.stopping_threshold ?? null,
    "divergence-threshold": params.divergence_threshold ?? null,
    baseline: params.baseline ?? null,
    "start-from-epoch": params.start_from_epoch ?? 0,
  };
}

/** The check at which the plugin stops, the reason, and what it remembers after each check. */
function play(settings, values, resumeBefore) {
  const harness = Harness.start(plugin, settings);
  const memories = [];
  for (const [index, value] of values.entries()) {
    if (resumeBefore === index) harness.resume(index);
    // A step an epoch, and an evaluation at the end of each.
    const moment = { hook: "evaluate-end", step: index + 1, epoch: index + 1, scalars: { "eval/loss": value } };
    const stop = harness.send(moment).find(({ tag }) => tag === "stop");
    memories.push({ ...harness.state.memory });
    if (stop) return { stopped: index, reason: stop.val, memories };
  }
  return { stopped: null, reason: null, memories };
}

for (const [library, rule] of [
  ["hf", "huggingface"],
  ["lightning", "lightning"],
  ["keras", "keras"],
]) {
  test(`${rule} is ${rule}`, () => {
    const all = cases(library);
    assert.ok(all.length > 100);
    for (const one of all) {
      const settings = config(rule, one.params);
      const { stopped, reason, memories } = play(settings, one.values);
      assert.equal(stopped, one.stop_index, one.id);
      const waits = one.wait_after ?? one.counter_after ?? one.wait_count_after;
      assert.deepEqual(
        memories.map(({ wait }) => wait),
        waits,
        one.id,
      );
      assert.deepEqual(
        memories.map(({ best }) => best),
        one.best_after ?? one.best_metric_after,
        one.id,
      );
      if (one.reason in REASONS) assert.ok(reason.includes(REASONS[one.reason]), `${one.id}: ${one.reason}: ${reason}`);
      for (const before of one.resume_at) {
        assert.equal(play(settings, one.values, before).stopped, one.resumed_stop_index, `${one.id} before ${before}`);
      }
    }
  });

  test(`a resumed sound rule is an uninterrupted one, on the values of ${rule}`, () => {
    for (const one of cases(library)) {
      const settings = config("sound", one.params);
      const { stopped } = play(settings, one.values);
      for (const before of one.resume_at) assert.equal(play(settings, one.values, before).stopped, stopped, one.id);
    }
  });
}
