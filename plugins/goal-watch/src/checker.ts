/**
 * Which expressions make sense: the kinds of operands, the functions that there are, and their inputs.
 * Does not know the run: whether it offers a measurement is the host's to say.
 */

import { didYouMean, Fault } from "./fault.ts";
import { FUNCTIONS, MAX_WINDOW, PLAIN, REMEMBERING } from "./functions.ts";
import type { Binary, Call, Kind, Node } from "./syntax.ts";

const WORDS: Readonly<Record<Kind, string>> = { number: "a number", condition: "a condition (true or false)" };

/** Refuses an expression that does not make sense, or gives something else than `kind`. Throws a {@link Fault}. */
export function check(node: Node, kind: Kind): void {
  expect(node, kind, "expected");
}

/** What an expression gives. */
function kindOf(node: Node): Kind {
  switch (node.type) {
    case "number":
    case "name":
    case "progress":
      return "number";
    case "truth":
      return "condition";
    case "unary": {
      const kind = node.operator === "!" ? "condition" : "number";
      expect(node.operand, kind, `\`${node.operator}\` takes`);
      return kind;
    }
    case "binary": {
      const { takes, gives } = operator(node.operator);
      if (isComparison(node.operator) && node.left.type === "binary" && isComparison(node.left.operator)) {
        throw new Fault(node, "comparisons do not chain; join two of them with `&&`");
      }
      for (const side of [node.left, node.right]) expect(side, takes, `\`${node.operator}\` takes`);
      return gives;
    }
    case "call":
      return call(node);
  }
}

function expect(node: Node, kind: Kind, who: string): void {
  const given = kindOf(node);
  if (given !== kind) throw new Fault(node, `${who} ${WORDS[kind]}, and this is ${WORDS[given]}`);
}

function operator(operator: Binary): { takes: Kind; gives: Kind } {
  switch (operator) {
    case "||":
    case "&&":
      return { takes: "condition", gives: "condition" };
    case "==":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return { takes: "number", gives: "condition" };
    default:
      return { takes: "number", gives: "number" };
  }
}

function isComparison(written: Binary): boolean {
  const { takes, gives } = operator(written);
  return takes !== gives;
}

function call(node: Call): Kind {
  const { name, inputs, start } = node;
  const written = { start, end: start + name.length };
  const plain = PLAIN.get(name);
  const remembering = REMEMBERING.get(name);
  if (!plain && !remembering) {
    const near = didYouMean(name, FUNCTIONS) || `; there are ${FUNCTIONS.join(", ")}`;
    throw new Fault(written, `there is no function \`${name}\`${near}`);
  }
  const counted = remembering?.least !== undefined;
  const [least, most] = plain?.inputs ?? (counted ? [2, 2] : [1, 1]);
  if (inputs.length < least || inputs.length > most) {
    const many = least === most ? `${least}` : `${least} to ${most}`;
    throw new Fault(node, `\`${name}\` takes ${many} input${most > 1 ? "s" : ""}, and has ${inputs.length}`);
  }
  for (const input of inputs) expect(input, "number", `\`${name}\` takes`);
  if (counted) window(name, inputs[1]!, remembering.least!);
  return plain?.gives ?? "number";
}

/** How far a function looks back bounds the state, so it is known at the start. */
function window(name: string, count: Node, least: number): void {
  const isGood =
    count.type === "number" && Number.isInteger(count.value) && count.value >= least && count.value <= MAX_WINDOW;
  if (!isGood)
    throw new Fault(
      count,
      `\`${name}\` looks back on a whole number of values from ${least} to ${MAX_WINDOW}, written out`,
    );
}
