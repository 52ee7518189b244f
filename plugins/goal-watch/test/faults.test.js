/** @file What is said of wrong expressions, and at which column; and that nothing else ever comes of any text. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fault } from "../src/fault.ts";
import { check } from "../src/checker.ts";
import { parse } from "../src/parser.ts";
import { fault, random } from "./read.js";

const deep = (levels) => `${"(".repeat(levels)}1 < 2${")".repeat(levels)}`;

for (const [source, column, words] of [
  // What is no token.
  ["loss < 1 ; true", 10, "`;` has no meaning here"],
  ["loss < é", 8, "`é` has no meaning here"],
  ["loss = 1", 6, "`=` is no operator; expected `==`"],
  ["true & false", 6, "expected `&&`"],
  ["true | false", 6, "expected `||`"],
  ["loss < 1.2.3", 8, "`1.2.3` is not a number"],
  ["epoch > 3ep", 9, "`3ep` is not a number"],
  ["loss < 1e", 8, "`1e` is not a number"],
  ["loss < .5", 8, "`.` has no meaning here"],
  ["loss < 1e999", 8, "the number is too large"],
  ["`eval/loss < 1", 1, "the backtick that ends this name is missing"],
  ["`` < 1", 1, "a name is expected between the backticks"],
  ["loss/ 2 < 1", 5, "a name does not end in `/`"],
  ["loss- 2 < 1", 5, "an operator behind a name needs a space before it"],
  // What is no expression.
  ["", 1, "expected a number, a measurement, a function or `(`, and this is the end"],
  ["loss <   ", 7, "and this is the end"],
  ["loss 1", 6, "expected an operator or the end, not `1`"],
  ["loss < 1)", 9, "expected an operator or the end, not `)`"],
  ["(loss < 1", 10, "expected an operator or `)`, and this is the end"],
  ["< 1", 1, "not `<`"],
  ["loss < * 2", 8, "not `*`"],
  ["loss < 1 and true", 10, "expected an operator or the end, not `and`"],
  ["mean(loss, 3", 13, "expected an operator, `,` or `)`, and this is the end"],
  ["mean(loss,)", 11, "expected a number, a measurement, a function or `(`, not `)`"],
  ["`mean`(loss, 3) < 1", 7, "expected an operator or the end, not `(`"],
  // What has the wrong kind.
  ["loss", 1, "expected a condition (true or false), and this is a number"],
  ["loss < 1 && loss", 13, "`&&` takes a condition (true or false), and this is a number"],
  ["(loss < 1) + 1 < 2", 1, "`+` takes a number, and this is a condition (true or false)"],
  ["0 < loss < 1", 1, "comparisons do not chain; join two of them with `&&`"],
  ["!loss < 1", 2, "`!` takes a condition"],
  ["-(loss < 1) < 1", 2, "`-` takes a number"],
  ["true == true", 1, "`==` takes a number"],
  ["abs(loss < 1) < 1", 5, "`abs` takes a number"],
  // Functions and their inputs.
  ["mena(loss, 3) < 1", 1, "there is no function `mena`, did you mean `mean`?"],
  ["loss < 1 && isnan(loss)", 13, "did you mean `is-nan`?"],
  ["quantile(loss) < 1", 1, "there is no function `quantile`; there are min, max,"],
  ["constructor(1) < 1", 1, "there is no function `constructor`"],
  ["abs() < 1", 1, "`abs` takes 1 input, and has 0"],
  ["min(1) < 1", 1, "`min` takes 2 to 8 inputs, and has 1"],
  ["mean(loss) < 1", 1, "`mean` takes 2 inputs, and has 1"],
  ["mean(loss, 0) < 1", 12, "`mean` looks back on a whole number of values from 1 to 1000, written out"],
  ["mean(loss, 1.5) < 1", 12, "a whole number"],
  ["mean(loss, 1001) < 1", 12, "from 1 to 1000"],
  ["mean(loss, epoch) < 1", 12, "written out"],
  ["slope(loss, 1) < 1", 13, "from 2 to 1000"],
  // What is too much.
  [deep(64), 65, "more than 64 levels"],
  ["!".repeat(64) + "true", 65, "more than 64 levels"],
  [`${"1 + ".repeat(64)}1 < 2`, 257, "more than 64 levels"],
  [`${" ".repeat(1000)}true`, 1001, "the expression has 1004 characters; 1000 is the limit"],
]) {
  test(`${source.slice(0, 40)}: ${words}`, () => {
    const said = fault(source);
    assert.ok(said.words.includes(words), said.words);
    assert.equal(said.column, column);
  });
}

test("what is just within the limits is taken", () => {
  for (const source of [deep(62), "!".repeat(63) + "true", `${"1 + ".repeat(62)}1 < 2`, `${" ".repeat(996)}true`]) {
    assert.equal(fault(source).words, "nothing", source);
  }
});

test("the place is marked below the line", () => {
  assert.equal(
    fault("eval/loss < 0.1 && mena(loss, 3) > 2").words,
    [
      "when, column 20: there is no function `mena`, did you mean `mean`?",
      "  eval/loss < 0.1 && mena(loss, 3) > 2",
      "                     ^^^^",
    ].join("\n"),
  );
});

test("of several lines the one is shown that is wrong", () => {
  const said = fault("loss < 1\n\t&& eval/loss = 3\n|| true");
  assert.equal(
    said.words,
    "when, line 2, column 15: `=` is no operator; expected `==`\n   && eval/loss = 3\n                ^",
  );
});

test("of a long line the part is shown that is wrong", () => {
  const [, line, mark] = fault(`${"loss < 1 && ".repeat(20)}loss = 1${" && true".repeat(20)}`).words.split("\n");
  assert.ok(line.length < 110 && line.startsWith("  …") && line.endsWith("…"));
  assert.equal(line[mark.indexOf("^")], "=");
});

/** Texts that are nearly expressions, texts of their characters, and texts of any characters. */
function texts(next) {
  const pick = (list) => list[Math.floor(next() * list.length)];
  const words =
    "loss eval/loss 1 0.5 1e-3 ( ) , + - * / % < <= == != && || ! true step min( mean( , 3) is-nan( ` `a b`".split(" ");
  const characters = [..."abz019.-/*+%<>=!&|(), `\n\t'\"\\{}[]\u0000\u00e9\u{1f600}\ud800"];
  const good = [
    "eval/loss < 0.1 && epoch > 3",
    "mean(loss, 10) > 1.5 * lowest(loss) || is-nan(loss)",
    "!(step % 100 == 0) && max(loss, `a b`, 2) >= -1e-3",
  ];
  const many = () => Math.floor(next() ** 2 * 80);
  return [
    () => Array.from({ length: many() }, () => pick(words)).join(pick(["", " "])),
    () => Array.from({ length: many() }, () => pick(characters)).join(""),
    () => Array.from({ length: many() }, () => String.fromCharCode(Math.floor(next() * 65536))).join(""),
    () => {
      const source = pick(good);
      const [from, to] = [next(), next()].map((part) => Math.floor(part * source.length));
      return source.slice(0, from) + pick(["", pick(characters), pick(words)]) + source.slice(next() < 0.5 ? from : to);
    },
    () => pick(["(", "!", "-", "min(1,", "1+", "1<", "true&&", "a/", "a*", "`"]).repeat(Math.floor(next() * 400)),
  ][Math.floor(next() * 5)]();
}

test("any text is an expression or has a fault, and soon", () => {
  const next = random(20_240_517);
  const counts = { taken: 0, refused: 0 };
  const began = performance.now();
  for (let round = 0; round < 50_000; round++) {
    const source = texts(next);
    try {
      check(parse(source), "condition");
      counts.taken++;
    } catch (error) {
      assert.ok(error instanceof Fault, `${JSON.stringify(source)}: ${error.stack}`);
      assert.ok(error.span.start >= 0 && error.span.end <= source.length, JSON.stringify(source));
      assert.match(fault(source).words, /^when, (?:line \d+, )?column \d+: .+\n {2}.*\n *\^+$/s);
      counts.refused++;
    }
  }
  assert.ok(counts.taken > 500, JSON.stringify(counts));
  assert.ok(performance.now() - began < 60_000);
});
