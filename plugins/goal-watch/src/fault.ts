/** What is wrong with an expression, at which place, and how a person is shown it. */

import type { Span } from "./syntax.ts";

/** Characters of the text that are shown before the marked place, and in all. */
const BEFORE = 60;
const SHOWN = 100;

/** A mistake in an expression. The only error that reading one throws. */
export class Fault extends Error {
  readonly span: Span;

  constructor(span: Span, message: string) {
    super(message);
    this.span = span;
  }
}

/** The fault in words: the setting and the column, counted from 1, and below them the line with the place marked. */
export function explain(setting: string, source: string, { span, message }: Fault): string {
  const first = source.lastIndexOf("\n", span.start - 1) + 1;
  const after = source.indexOf("\n", span.start);
  const line = Array.from(source.slice(first, after < 0 ? source.length : after), printable);
  const at = Array.from(source.slice(first, span.start)).length;
  const width = Array.from(source.slice(span.start, span.end)).length;
  const row = source.slice(0, first).split("\n").length;
  const place = row > 1 ? `line ${row}, column ${at + 1}` : `column ${at + 1}`;
  const cut = at > BEFORE && line.length > SHOWN ? at - BEFORE : 0;
  const text = line.slice(cut, cut + SHOWN).join("");
  const left = cut > 0 ? "…" : "";
  const right = cut + SHOWN < line.length ? "…" : "";
  const room = Math.max(1, Math.min(line.length, cut + SHOWN) - at);
  const mark = " ".repeat(left.length + at - cut) + "^".repeat(Math.max(1, Math.min(width, room)));
  return `${setting}, ${place}: ${message}\n  ${left}${text}${right}\n  ${mark}`;
}

function printable(character: string): string {
  return character < " " || character === "\x7f" ? " " : character;
}

/** ", did you mean …?" for the word that is nearest to `written`; empty where none is near. */
export function didYouMean(written: string, words: readonly string[]): string {
  let best = "";
  // A slip in every third letter, and never more than three.
  let least = Math.min(3, Math.ceil(written.length / 3)) + 1;
  for (const word of words) {
    const edits = distance(written, word);
    if (edits < least) [best, least] = [word, edits];
  }
  return best === "" ? "" : `, did you mean \`${best}\`?`;
}

/** How many letters are replaced, added, left out or swapped with their neighbour; of words of at most 64 letters. */
function distance(from: string, to: string): number {
  if (from.length > 64 || to.length > 64) return Infinity;
  let above: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, place) => place);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1, isSwap ? above[j - 2]! + 1 : Infinity));
    }
    [above, row] = [row, next];
  }
  return row[to.length]!;
}
