/** What the callback decides, in plain Node. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Harness } from "host-sdk/testing";
import plugin from "../src/index.ts";

test("a loss that stays too high stops the run", () => {
  const harness = Harness.start(plugin, { ceiling: 5, patience: 2 });
  const at = (step, loss) => harness.send({ hook: "step-end", step, scalars: { loss } });
  for (const [before, loss] of [6, 4, 7].entries()) assert.deepEqual(at(before + 1, loss), []);
  harness.resume(3);
  assert.deepEqual(at(4, 8), [{ tag: "stop", val: "the loss was above 5 2 times in a row: now 8" }]);
});
