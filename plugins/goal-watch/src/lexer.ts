/**
 * From an expression's text to its tokens.
 *
 * Names of measurements are written as they are, and hold `-`, `/`, `.` and `*`. So a name goes on as long as such
 * characters follow: `eval/loss` is a name, `loss / 2` a division, and `loss/2` would be a name again.
 */

import { Fault } from "./fault.ts";
import type { Span } from "./syntax.ts";

export type Token = Span & {
  /** `sign`: an operator, a parenthesis or a comma. `quoted`: a name between backticks. */
  readonly type: "number" | "name" | "quoted" | "sign" | "end";
  /** As written; of a quoted name what stands between the backticks. */
  readonly text: string;
};

const SPACE = /\s+/y;
const NUMBER = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z_][\w\-./*]*/y;
const QUOTED = /`[^`\r\n]*`/y;
const SIGN = /&&|\|\||[=!<>]=|[-+*/%<>!(),]/y;
/** What can't follow a number directly. */
const TAIL = /[\w.]+/y;

/** Signs of other languages, and what is meant. */
const MEANT: Readonly<Record<string, string>> = { "=": "==", "&": "&&", "|": "||" };

/** The tokens, the last of which is the end. Throws a {@link Fault}. */
export function tokens(source: string): Token[] {
  const found: Token[] = [];
  let start = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = start;
    return pattern.exec(source)?.[0];
  };
  const add = (type: Token["type"], written: string, text = written) => {
    const end = start + written.length;
    found.push({ type, text, start, end });
    start = end;
  };
  while (start < source.length) {
    let text;
    if ((text = take(SPACE))) start += text.length;
    else if ((text = take(NUMBER))) add("number", number(source, start, text));
    else if ((text = take(NAME))) add("name", name(start, text));
    else if ((text = take(QUOTED))) add("quoted", text, quoted(start, text));
    else if ((text = take(SIGN))) add("sign", text);
    else throw stray(source, start);
  }
  const end = source.trimEnd().length;
  found.push({ type: "end", text: "", start: end, end });
  return found;
}

function number(source: string, start: number, text: string): string {
  TAIL.lastIndex = start + text.length;
  const tail = TAIL.exec(source)?.[0] ?? "";
  const span = { start, end: start + text.length + tail.length };
  if (tail) throw new Fault(span, `\`${text}${tail}\` is not a number; one is written as 3, 0.5 or 1e-3`);
  if (!Number.isFinite(Number(text))) throw new Fault(span, "the number is too large");
  return text;
}

function name(start: number, text: string): string {
  const last = text.at(-1)!;
  if (!"-/.".includes(last)) return text;
  const end = start + text.length;
  throw new Fault(
    { start: end - 1, end },
    `a name does not end in \`${last}\`; an operator behind a name needs a space before it`,
  );
}

function quoted(start: number, text: string): string {
  const inner = text.slice(1, -1);
  if (inner.trim() === "")
    throw new Fault({ start, end: start + text.length }, "a name is expected between the backticks");
  return inner;
}

function stray(source: string, start: number): Fault {
  const character = String.fromCodePoint(source.codePointAt(start)!);
  const span = { start, end: start + character.length };
  if (character === "`") return new Fault(span, "the backtick that ends this name is missing");
  const meant = MEANT[character];
  return new Fault(
    span,
    meant ? `\`${character}\` is no operator; expected \`${meant}\`` : `\`${character}\` has no meaning here`,
  );
}
