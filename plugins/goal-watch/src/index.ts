/**
 * Goals: expressions over measurements, each with a decision that it asks for when it holds.
 * This file joins the run; `goals` reads the configuration, and each `goal` decides.
 */

import { Callback, manifest, plugin } from "../../../sdk/javascript/src/index.js";
import type { Answer, Event } from "../../../sdk/javascript/src/index.js";

import type { Goal, Memory } from "./goal.ts";
import { byHook, goals, subscriptions } from "./goals.ts";
import { settings } from "./settings.ts";

/** What the goals remember, by their words. */
interface Watch {
  goals: Record<string, Memory>;
}

const about = manifest({
  name: "goal-watch",
  version: "0.1.0",
  summary: "Decides what its goals ask for, when their expressions over measurements hold.",
  requests: ["stop", "end-epoch", "evaluate", "save", "log", "skip", "restore", "mute"],
  knobs: ["*"],
  settings,
  state: (): Watch => ({ goals: {} }),
});

class GoalWatch extends Callback<typeof about> {
  #goals: readonly Goal[] = [];
  #at: ReadonlyMap<string, readonly Goal[]> = new Map();
  /** The state that the goals go on with. */
  #bound: Watch | undefined;

  start() {
    this.#goals = goals(this.settings.goals, Object.keys(this.run.description.knobs));
    this.#at = byHook(this.#goals);
    return subscriptions(this.#goals);
  }

  handle(event: Event, answer: Answer) {
    if (this.state !== this.#bound) this.#bind();
    const there = this.#at.get(event.hook)!;
    for (let place = 0; place < there.length; place++) there[place]!.check(event, answer);
  }

  /** Hands out a state that is new, or has come back. What belonged to goals that are no more is forgotten. */
  #bind() {
    const before = this.state.goals;
    const now: Record<string, Memory> = {};
    for (const goal of this.#goals) {
      let { words } = goal;
      for (let more = 2; Object.hasOwn(now, words); more++) words = `${goal.words} #${more}`;
      now[words] = goal.bind(before[words]);
    }
    this.state.goals = now;
    this.#bound = this.state;
  }
}

export default plugin(about, GoalWatch);
