/**
 * From tokens to a tree: a Pratt parser, so that precedence is a table. Written by hand: the language is tiny, and a
 * parser library would be carried into the sandbox with it.
 * Does not know kinds and functions: `checker` does.
 */

import { Fault } from "./fault.ts";
import { tokens } from "./lexer.ts";
import type { Token } from "./lexer.ts";
import { PROGRESS } from "./syntax.ts";
import type { Binary, Node, Progress, Span, Unary } from "./syntax.ts";

/** The longest expression, in characters. */
export const MAX_LENGTH = 1000;

/** The most levels of parentheses, operators and calls, one in another. Each takes some of the sandbox's stack. */
export const MAX_LEVELS = 64;

/** How tightly an operator binds: the higher, the tighter. All go from left to right. */
const POWER: ReadonlyMap<string, number> = new Map([
  ["||", 1],
  ["&&", 2],
  ...["==", "!=", "<", "<=", ">", ">="].map((operator) => [operator, 3] as const),
  ...["+", "-"].map((operator) => [operator, 4] as const),
  ...["*", "/", "%"].map((operator) => [operator, 5] as const),
]);

/** Signs before their operand bind tighter than all between two. */
const PREFIX = 6;

/** The tree of an expression. Throws a {@link Fault}. */
export function parse(source: string): Node {
  if (source.length > MAX_LENGTH) {
    const span = { start: MAX_LENGTH, end: source.length };
    throw new Fault(span, `the expression has ${source.length} characters; ${MAX_LENGTH} is the limit`);
  }
  return new Parser(tokens(source)).whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #level = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Node {
    const node = this.#expression(0);
    if (this.#next.type !== "end") throw this.#unexpected("an operator or the end");
    return node;
  }

  get #next(): Token {
    return this.#tokens[this.#at]!;
  }

  /** An expression whose operators bind tighter than `power`. */
  #expression(power: number): Node {
    if (++this.#level > MAX_LEVELS) throw tooDeep(this.#next);
    let left = this.#operand();
    for (;;) {
      const { type, text } = this.#next;
      const own = type === "sign" ? POWER.get(text) : undefined;
      if (own === undefined || own <= power) break;
      this.#at++;
      const right = this.#expression(own);
      const height = above([left, right]);
      left = { type: "binary", operator: text as Binary, left, right, start: left.start, end: right.end, height };
    }
    this.#level--;
    return left;
  }

  #operand(): Node {
    const token = this.#next;
    const { type, text, start, end } = token;
    if (type === "number") {
      this.#at++;
      return { type, value: Number(text), start, end, height: 1 };
    }
    if (type === "quoted") {
      this.#at++;
      return { type: "name", name: text, start, end, height: 1 };
    }
    if (type === "name") {
      this.#at++;
      return this.#isSign("(") ? this.#call(token) : word(token);
    }
    if (this.#isSign("-") || this.#isSign("!")) {
      this.#at++;
      const operand = this.#expression(PREFIX);
      return { type: "unary", operator: text as Unary, operand, start, end: operand.end, height: above([operand]) };
    }
    if (this.#isSign("(")) {
      this.#at++;
      const inner = this.#expression(0);
      return { ...inner, start, end: this.#close("an operator or `)`") };
    }
    throw this.#unexpected("a number, a measurement, a function or `(`");
  }

  #call({ text: name, start }: Token): Node {
    this.#at++;
    const inputs: Node[] = [];
    if (!this.#isSign(")")) {
      inputs.push(this.#expression(0));
      while (this.#isSign(",")) {
        this.#at++;
        inputs.push(this.#expression(0));
      }
    }
    return { type: "call", name, inputs, start, end: this.#close("an operator, `,` or `)`"), height: above(inputs) };
  }

  /** Passes the closing parenthesis, and gives the place behind it. */
  #close(expected: string): number {
    if (!this.#isSign(")")) throw this.#unexpected(expected);
    return this.#tokens[this.#at++]!.end;
  }

  #isSign(text: string): boolean {
    return this.#next.type === "sign" && this.#next.text === text;
  }

  #unexpected(expected: string): Fault {
    const { type, text } = this.#next;
    return new Fault(this.#next, `expected ${expected}, ${type === "end" ? "and this is the end" : `not \`${text}\``}`);
  }
}

function word({ text, start, end }: Token): Node {
  const span = { start, end, height: 1 };
  if (text === "true" || text === "false") return { type: "truth", value: text === "true", ...span };
  if ((PROGRESS as readonly string[]).includes(text)) return { type: "progress", word: text as Progress, ...span };
  return { type: "name", name: text, ...span };
}

/** The height of a node over others. */
function above(nodes: readonly Node[]): number {
  const height = 1 + Math.max(0, ...nodes.map((node) => node.height));
  if (height > MAX_LEVELS) throw tooDeep(nodes.at(-1)!);
  return height;
}

function tooDeep({ start, end }: Span): Fault {
  return new Fault({ start, end }, `more than ${MAX_LEVELS} levels of operators, calls and parentheses`);
}
