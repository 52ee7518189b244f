/**
 * The settings: what a goal can say.
 * Does not know which keys go together; `actions` does.
 */

import { boolean, choice, HOOKS, integer, list, text } from "../../../sdk/javascript/src/index.js";
import type { Hook, Setting, Values } from "../../../sdk/javascript/src/index.js";

import { MAX_LENGTH } from "./parser.ts";
import { record } from "./record.ts";

/** What a goal can do: the decisions of the contract, by their names there. */
export const DO = [
  "stop",
  "end-epoch",
  "evaluate",
  "save",
  "log",
  "skip",
  "restore",
  "set",
  "scale",
  "report",
  "note",
  "mute",
] as const;

/** The largest number of 32 bits. */
const MOST = 2 ** 32 - 1;

/** An expression that gives true or false. Its language is no business of the schema's. */
const condition: Setting<string> = {
  schema: {
    description: "The goal: an expression over measurements that is true or false.",
    type: "string",
    maxLength: MAX_LENGTH,
  },
  read(value, path) {
    if (typeof value !== "string") throw new TypeError(`${path} is ${JSON.stringify(value)}: it has to be a text`);
    return value;
  },
};

/** A number, or an expression that gives one. As text, which is the same to who reads it. */
function amount(description: string): Setting<string | undefined> {
  return {
    schema: { description, anyOf: [{ type: "number" }, { type: "string", maxLength: MAX_LENGTH }], default: null },
    read(value, path) {
      if (typeof value === "string") return value;
      if (typeof value === "number" && Number.isFinite(value)) return String(value);
      throw new TypeError(`${path} is ${JSON.stringify(value)}: it has to be a number or an expression`);
    },
  };
}

const goal = record("What to look for, and what to do then.", {
  when: condition,
  do: choice("What is decided when the goal holds.", DO),
  at: choice(
    "The hook at which it is checked. The default is `evaluate-end` where `when` names `eval/…`, otherwise " +
      "`step-end`; for `skip` it is `gradients`, for `mute` it is `log`.",
    HOOKS as readonly [Hook, ...Hook[]],
    { optional: true },
  ),
  every: integer("Check at every n-th occurrence of the hook.", { default: 1, min: 1, max: MOST }),
  for: integer("Act when it has held at this many checks in a row.", { default: 1, min: 1, max: MOST }),
  cooldown: integer("After it has acted, this many checks do not count.", { default: 0, min: 0, max: MOST }),
  once: boolean("Act at most once in a run.", { default: false }),
  because: text("Why, in words for people.", { optional: true }),
  tag: text("`save`, `restore`: the tag of the checkpoint.", { optional: true }),
  knob: text("`set`, `scale`: the knob, or a name that addresses several.", { optional: true }),
  value: amount("`set`, `report`: the number, or an expression that gives it."),
  factor: amount("`scale`: the factor, or an expression that gives it."),
  name: text("`report`: the name of the report; `mute`: what is left out of the log, `*` allowed.", { optional: true }),
});

export const settings = {
  goals: list("The goals, in the order in which they are checked.", goal, { min: 1, max: 64 }),
};

export type GoalSettings = Values<typeof settings>["goals"][number];
