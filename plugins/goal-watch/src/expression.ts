/**
 * An expression as a setting has it: read and checked, before anything is known of the goal that it belongs to.
 * What is wrong is said with the setting's name and the place in the text.
 */

import { check } from "./checker.ts";
import { explain, Fault } from "./fault.ts";
import { parse } from "./parser.ts";
import type { Kind, Node } from "./syntax.ts";

export interface Expression {
  readonly source: string;
  readonly node: Node;
}

/**
 * Reads an expression.
 *
 * @param setting where it stands: `goals[0].when`
 * @throws a plain error in words for people
 */
export function expression(setting: string, source: string, kind: Kind): Expression {
  try {
    const node = parse(source);
    check(node, kind);
    return { source, node };
  } catch (error) {
    throw error instanceof Fault ? new Error(explain(setting, source, error)) : error;
  }
}
