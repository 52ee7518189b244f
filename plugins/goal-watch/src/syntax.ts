/**
 * What an expression is made of.
 * Does not say which expressions make sense: `checker` does.
 */

/** What an expression gives: a number, or true or false. */
export type Kind = "number" | "condition";

/** A part of an expression's text, in UTF-16 units from 0; `end` is behind it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The words that are about the event itself: how far the run is. */
export const PROGRESS = ["step", "epoch", "samples", "tokens", "total-steps"] as const;

export type Progress = (typeof PROGRESS)[number];

export type Unary = "-" | "!";

export type Binary = "||" | "&&" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/" | "%";

/** A part of an expression, with its place in the text. */
export type Node = Span & {
  /** Levels of nodes from here to the lowest leaf; a leaf is 1. */
  readonly height: number;
} & (
    | { readonly type: "number"; readonly value: number }
    | { readonly type: "truth"; readonly value: boolean }
    | { readonly type: "progress"; readonly word: Progress }
    | { readonly type: "name"; readonly name: string }
    | { readonly type: "unary"; readonly operator: Unary; readonly operand: Node }
    | { readonly type: "binary"; readonly operator: Binary; readonly left: Node; readonly right: Node }
    | { readonly type: "call"; readonly name: string; readonly inputs: readonly Node[] }
  );

export type Call = Extract<Node, { type: "call" }>;
