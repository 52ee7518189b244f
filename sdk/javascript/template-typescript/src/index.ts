/** Stops a run whose loss stays too high. */

import { integer, number, on, plugin } from "host-sdk";

/** What is learned on the way. It is saved in checkpoints. */
interface State {
  /** Steps in a row with a loss that was too high. */
  strikes: number;
}

export default plugin(
  {
    name: "loss-ceiling",
    version: "0.1.0",
    summary: "Stops a run whose loss stays too high.",
    requests: ["stop"],
    // What stands in `[plugin.config]`. The texts are shown to whoever configures a run.
    settings: {
      ceiling: number("A loss above this is too high."),
      patience: integer("The run stops after so many steps in a row.", { default: 3, min: 1 }),
    },
    state: (): State => ({ strikes: 0 }),
  },
  {
    start() {
      return [on("step-end", ["loss"])];
    },
    stepEnd(event, answer) {
      const { ceiling, patience } = this.settings;
      const loss = event.get("loss");
      if (loss === undefined) return;
      this.state.strikes = loss > ceiling ? this.state.strikes + 1 : 0;
      if (this.state.strikes === patience) {
        answer.stop(`the loss was above ${ceiling} ${patience} times in a row: now ${loss}`);
      }
    },
  },
);
