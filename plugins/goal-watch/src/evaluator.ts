/**
 * From checked trees to functions of an event, made once. What is not known is `undefined`, and makes what is computed
 * from it not known.
 */

import { PLAIN, REMEMBERING } from "./functions.ts";
import { History } from "./history.ts";
import type { Value } from "./history.ts";
import type { Binary, Call, Node, Progress } from "./syntax.ts";

/** The expressions of one goal, which share what they remember. */
export class Evaluator {
  /** The measurements that are read. */
  readonly names = new Set<string>();
  /** What remembers, by its words; each behind those that its input has. */
  readonly histories = new Map<string, History>();
  /** What a reader wants to know the values of, by its words. */
  readonly shown = new Map<string, Value<number>>();

  number(source: string, node: Node): Value<number> {
    return this.#value(source, node) as Value<number>;
  }

  condition(source: string, node: Node): Value<boolean> {
    return this.#value(source, node) as Value<boolean>;
  }

  #value(source: string, node: Node): Value<number | boolean> {
    switch (node.type) {
      case "number":
      case "truth": {
        const { value } = node;
        return () => value;
      }
      case "progress":
        return this.#show(node.word, progress(node.word));
      case "name": {
        const { name } = node;
        this.names.add(name);
        return this.#show(name, (event) => event.get(name));
      }
      case "unary": {
        if (node.operator === "!") return not(this.condition(source, node.operand));
        return negative(this.number(source, node.operand));
      }
      case "binary": {
        const left = this.#value(source, node.left);
        const right = this.#value(source, node.right);
        if (node.operator === "&&") return both(left as Value<boolean>, right as Value<boolean>);
        if (node.operator === "||") return either(left as Value<boolean>, right as Value<boolean>);
        return arithmetic(node.operator, left as Value<number>, right as Value<number>);
      }
      case "call":
        return this.#call(source, node);
    }
  }

  #call(source: string, node: Call): Value<number | boolean> {
    const plain = PLAIN.get(node.name);
    if (plain)
      return apply(
        plain.of,
        node.inputs.map((input) => this.number(source, input)),
      );
    const words = source.slice(node.start, node.end).replace(/\s+/g, " ");
    const input = this.number(source, node.inputs[0]!);
    const count = node.inputs[1];
    const size = count?.type === "number" ? count.value : 2;
    const history = this.histories.get(words) ?? new History(input, size, REMEMBERING.get(node.name)!.take);
    this.histories.set(words, history);
    return this.#show(words, () => history.value);
  }

  #show(words: string, value: Value<number>): Value<number> {
    this.shown.set(words, value);
    return value;
  }
}

function progress(word: Progress): Value<number> {
  switch (word) {
    case "step":
      return (event) => event.progress.step;
    case "epoch":
      return (event) => event.progress.epoch;
    case "samples":
      return (event) => event.progress.samples;
    case "tokens":
      return (event) => event.progress.tokens;
    case "total-steps":
      return (event) => event.progress.totalSteps ?? undefined;
  }
}

function not(operand: Value<boolean>): Value<boolean> {
  return (event) => {
    const value = operand(event);
    return value === undefined ? undefined : !value;
  };
}

function negative(operand: Value<number>): Value<number> {
  return (event) => {
    const value = operand(event);
    return value === undefined ? undefined : -value;
  };
}

/** One side that is false decides, known or not what the other one is. */
function both(left: Value<boolean>, right: Value<boolean>): Value<boolean> {
  return (event) => {
    const first = left(event);
    if (first === false) return false;
    const second = right(event);
    return second === true ? first : second;
  };
}

/** One side that is true decides. */
function either(left: Value<boolean>, right: Value<boolean>): Value<boolean> {
  return (event) => {
    const first = left(event);
    if (first === true) return true;
    const second = right(event);
    return second === false ? first : second;
  };
}

type Arithmetic = Exclude<Binary, "&&" | "||">;

const OPERATIONS: Readonly<Record<Arithmetic, (a: number, b: number) => number | boolean>> = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
};

function arithmetic(operator: Arithmetic, left: Value<number>, right: Value<number>): Value<number | boolean> {
  const operation = OPERATIONS[operator];
  return (event) => {
    const a = left(event);
    if (a === undefined) return undefined;
    const b = right(event);
    return b === undefined ? undefined : operation(a, b);
  };
}

function apply(
  of: (...values: number[]) => number | boolean,
  inputs: readonly Value<number>[],
): Value<number | boolean> {
  const [only] = inputs;
  if (inputs.length === 1 && only) {
    return (event) => {
      const value = only(event);
      return value === undefined ? undefined : of(value);
    };
  }
  return (event) => {
    const values: number[] = [];
    for (const input of inputs) {
      const value = input(event);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return of(...values);
  };
}
