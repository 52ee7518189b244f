/**
 * All goals of a configuration: what is wrong with them, and when to be called with what.
 */

import { on } from "../../../sdk/javascript/src/index.js";
import type { Hook, Subscription } from "../../../sdk/javascript/src/index.js";

import { problems } from "./actions.ts";
import { expression } from "./expression.ts";
import type { Expression } from "./expression.ts";
import { Goal } from "./goal.ts";
import type { Node } from "./syntax.ts";
import type { GoalSettings } from "./settings.ts";

/** The most numbers that all goals remember together: about 250 KB of state. */
const MAX_REMEMBERED = 10_000;

/**
 * The goals of a configuration, in their order.
 *
 * @param knobs the names of the run's knobs; none where they are not known
 * @throws one error with everything that is wrong
 */
export function goals(settings: readonly GoalSettings[], knobs: readonly string[]): Goal[] {
  const wrong: string[] = [];
  const found: Goal[] = [];
  for (const [place, each] of settings.entries()) {
    const path = `goals[${place}]`;
    try {
      const when = expression(`${path}.when`, each.when, "condition");
      const at = each.at ?? usual(each, when.node);
      wrong.push(...problems(each, at, path, knobs));
      found.push(new Goal(each, at, when, amount(each, path)));
    } catch (error) {
      wrong.push((error as Error).message);
    }
  }
  const remembered = found.reduce((sum, goal) => sum + goal.size, 0);
  if (remembered > MAX_REMEMBERED) {
    wrong.push(`the goals look back on ${remembered} values in all; ${MAX_REMEMBERED} is the limit`);
  }
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return found;
}

function amount(goal: GoalSettings, path: string): Expression | undefined {
  const key = goal.do === "scale" ? "factor" : "value";
  const source = goal[key];
  return source === undefined ? undefined : expression(`${path}.${key}`, source, "number");
}

/** The hook of a goal that names none. */
function usual(goal: GoalSettings, when: Node): Hook {
  if (goal.do === "skip") return "gradients";
  if (goal.do === "mute") return "log";
  return readsEvaluation(when) ? "evaluate-end" : "step-end";
}

function readsEvaluation(node: Node): boolean {
  switch (node.type) {
    case "name":
      return node.name.startsWith("eval/");
    case "unary":
      return readsEvaluation(node.operand);
    case "binary":
      return readsEvaluation(node.left) || readsEvaluation(node.right);
    case "call":
      return node.inputs.some(readsEvaluation);
    default:
      return false;
  }
}

/**
 * One subscription a hook, with what its goals read.
 *
 * Several that are due at once come as one call, which does not say which are. So a hook is called as often as all of
 * its goals need, and each counts how many calls make a check.
 */
export function subscriptions(goals: readonly Goal[]): Subscription[] {
  return [...byHook(goals)].map(([hook, there]) => {
    const every = there.map((goal) => goal.settings.every).reduce(divisor);
    for (const goal of there) goal.stride = goal.settings.every / every;
    return on(hook, [...new Set(there.flatMap((goal) => goal.reads))], { every });
  });
}

/** The goals of each hook, in their order. */
export function byHook(goals: readonly Goal[]): Map<Hook, Goal[]> {
  const found = new Map<Hook, Goal[]>();
  for (const goal of goals) found.set(goal.at, [...(found.get(goal.at) ?? []), goal]);
  return found;
}

/** The greatest number that both are multiples of. */
function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}
