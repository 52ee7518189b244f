/**
 * What the types promise. Not run: `npm run types` fails where one is not what is said here, also where a line that is
 * marked as an error is none.
 */

import { boolean, Callback, choice, integer, list, manifest, number, on, plugin, table, text } from "host-sdk";
import type { Answer, Event, Values } from "host-sdk";
import { Harness } from "host-sdk/testing";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function is<_A extends true>(): void {}

const settings = {
  given: text("Given."),
  minDelta: number("A gain.", { default: 0.5, min: 0 }),
  mode: choice("A direction.", ["min", "max"], { default: "min" }),
  perhaps: integer("A bound.", { optional: true }),
  maybe: choice("A shape.", ["a", "b"], { optional: true }),
  verbose: boolean("Says more."),
  names: list("Names.", text(""), { default: ["loss"] }),
  rates: table("Rates.", number("")),
};

is<Same<Values<typeof settings>["given"], string>>();
is<Same<Values<typeof settings>["minDelta"], number>>();
is<Same<Values<typeof settings>["mode"], "min" | "max">>();
is<Same<Values<typeof settings>["perhaps"], number | undefined>>();
is<Same<Values<typeof settings>["maybe"], "a" | "b" | undefined>>();
is<Same<Values<typeof settings>["verbose"], boolean>>();
is<Same<Values<typeof settings>["names"], readonly string[]>>();
is<Same<Values<typeof settings>["rates"], Readonly<Record<string, number>>>>();

// @ts-expect-error: the default is not one of the words.
choice("A direction.", ["min", "max"], { default: "most" });
// @ts-expect-error: there is no such hook.
on("step-ends");

/** An object: everything is inferred, also the methods of its own. */
const object = plugin(
  {
    name: "object",
    version: "0.1.0",
    summary: "Counts.",
    requests: ["stop"],
    settings,
    state: () => ({ count: 0, seen: [] as string[] }),
  },
  {
    start() {
      is<Same<typeof this.settings.mode, "min" | "max">>();
      return [on("step-end", [this.settings.given])];
    },
    stepEnd(event, answer) {
      const loss = event.get("loss");
      is<Same<typeof loss, number | undefined>>();
      this.state.count += 1;
      this.state.seen.push(event.detail);
      // @ts-expect-error: there is no such field.
      this.state.other = 1;
      // @ts-expect-error: there is no such setting.
      this.settings.other;
      if (this.isOver(5)) answer.stop("over").report("count", this.state.count);
      // @ts-expect-error: a report has a number.
      answer.report("count", "many");
    },
    isOver(most: number): boolean {
      return this.state.count > most && this.run.worldSize > 1;
    },
  },
);

/** The shortest: no settings, no state. */
plugin(
  { name: "short", version: "0.1.0", summary: "Does nothing." },
  { start: () => [on("train-end")], trainEnd() {} },
);

// @ts-expect-error: there is no such request.
plugin({ name: "wrong", version: "0.1.0", summary: "Is wrong.", requests: ["halt"] }, { start: () => [] });

const about = manifest({ name: "class", version: "0.1.0", summary: "Counts.", settings, state: () => ({ count: 0 }) });

/** A class: the manifest gives its types. */
class Counter extends Callback<typeof about> {
  start() {
    is<Same<typeof this.settings.perhaps, number | undefined>>();
    return [on("step-end")];
  }
  stepEnd(_event: Event, answer: Answer) {
    this.state.count += 1;
    answer.report("count", this.state.count);
  }
}
const counter = plugin(about, Counter);

is<Same<typeof object, import("host-sdk").Plugin<{ count: number; seen: string[] }>>>();
const harness = Harness.start(counter, { given: "loss" });
is<Same<typeof harness.state, { count: number }>>();
for (const decision of harness.send({ hook: "step-end", step: 1, scalars: { loss: 1 } })) {
  if (decision.tag === "report") is<Same<typeof decision.val.value, number>>();
  if (decision.tag === "stop") is<Same<typeof decision.val, string>>();
}
