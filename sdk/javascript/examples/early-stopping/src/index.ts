/**
 * Early stopping: ends a run whose evaluation no longer gets better, and puts the best weights back.
 * Does not compare by itself; `rule` does, and this file turns verdicts into decisions.
 */

import { Callback, manifest, on, plugin } from "host-sdk";
import type { Answer, Event } from "host-sdk";

import { judge } from "./rule.ts";
import type { Cause, Memory, Terms } from "./rule.ts";
import { check, epochIndex, isWarmingUp, settings, terms } from "./settings.ts";

/** What has been seen so far. */
interface Watch {
  memory: Memory;
  /** The step of the weights that the tag points to; `null` before there are any. */
  bestStep: number | null;
  /** Measurements that somebody has been told are missing. */
  told: string[];
}

const about = manifest({
  name: "early-stopping",
  version: "0.1.0",
  summary: "Ends a run whose evaluation no longer gets better, and puts the best weights back.",
  requests: ["stop", "save", "restore"],
  settings,
  state: (): Watch => ({ memory: { best: null, wait: 0 }, bestStep: null, told: [] }),
});

class EarlyStopping extends Callback<typeof about> {
  #terms!: Terms;

  start() {
    check(this.settings);
    this.#terms = terms(this.settings);
    const { checkAt, checkEvery, monitor } = this.settings;
    return [on(checkAt, [monitor], { every: checkEvery }), on("train-end")];
  }

  handle(event: Event, answer: Answer) {
    if (event.hook === "train-end") this.#putBack(event, answer);
    else if (!isWarmingUp(this.settings, event.progress)) this.#check(event, answer);
  }

  #check(event: Event, answer: Answer) {
    const { monitor, restoreBest, rule, tag } = this.settings;
    const { memory, told } = this.state;
    const value = event.getOrTell(monitor, told, answer);
    if (value === undefined) return;
    const verdict = judge(rule, this.#terms, memory, value, epochIndex(event.progress));
    if (verdict.improved) {
      this.state.bestStep = event.step;
      if (restoreBest) answer.save(tag);
    }
    if (memory.best !== null) answer.report("best", memory.best);
    answer.report("wait", memory.wait);
    if (verdict.stop) answer.stop(this.#reason(verdict.stop, value));
  }

  #putBack(event: Event, answer: Answer) {
    const { bestStep } = this.state;
    // The weights of this very step may be the best ones already.
    if (this.settings.restoreBest && bestStep !== null && bestStep !== event.step) answer.restore(this.settings.tag);
  }

  #reason(cause: Cause, value: number): string {
    const { monitor } = this.settings;
    const { memory, bestStep } = this.state;
    const isKnown = memory.best !== null && bestStep !== null;
    const best = isKnown ? `best ${memory.best} at step ${bestStep}` : "never a best";
    switch (cause) {
      case "patience":
        return `${monitor} has not improved for ${memory.wait} checks: now ${value}, ${best}`;
      case "not-finite":
        return `${monitor} is ${value}, which is not finite; ${best}`;
      case "reached":
        return `${monitor} is ${value} and has passed its stopping threshold; ${best}`;
      case "diverged":
        return `${monitor} is ${value} and has passed its divergence threshold; ${best}`;
    }
  }
}

export default plugin(about, EarlyStopping);
