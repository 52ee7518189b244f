/** @file State as JSON and as bytes: every value comes back, and what could not is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { read, write } from "../src/json.js";
import { decode, encode } from "../src/utf8.js";

const again = (value) => read(decode(encode(write(value))));

test("every kind of value comes back", () => {
  const value = {
    numbers: [0.1 + 0.2, 1e300, 5e-324, Number.MAX_VALUE, -0, 0, NaN, Infinity, -Infinity, 2 ** 53],
    words: ["NaN", "$NaN", "$$Infinity", "-Infinity", "-0", "$", "$x", "undefined", "", "é 😀 \u0000 \ud83d"],
    nothing: [null, undefined, true, false],
    nested: { list: [[], [{}]], none: undefined, ["__proto__"]: 1 },
  };
  assert.deepEqual(again(value), value);
  assert.ok(Object.is(again(-0), -0) && Object.is(again(0), 0));
  assert.ok("none" in again(value).nested && Object.hasOwn(again(value).nested, "__proto__"));
});

test("every double comes back to the bit", () => {
  const view = new DataView(new ArrayBuffer(8));
  // A linear congruence over the whole range of bits; those that are NaN have no one pattern to come back to.
  let bits = 1n;
  for (let count = 0; count < 10_000; count++) {
    bits = BigInt.asUintN(64, bits * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n);
    view.setBigUint64(0, bits);
    const value = view.getFloat64(0);
    if (Number.isNaN(value)) continue;
    view.setFloat64(0, again(value));
    assert.equal(view.getBigUint64(0), bits, String(value));
  }
});

test("what JSON would lose is refused with its place", () => {
  for (const [value, words] of [
    [{ seen: new Map() }, "the state.seen is a Map"],
    [{ window: [new Float64Array(1)] }, "the state.window[0] is a Float64Array"],
    [{ count: 1n }, "the state.count is a bigint"],
    [{ call: () => {} }, "the state.call is a function"],
  ]) {
    assert.throws(
      () => write(value),
      (error) => error.message.startsWith(words),
    );
  }
});

test("text and bytes are those of other programs", () => {
  const text = "a\u007f\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff} é 😀";
  assert.deepEqual(encode(text), new TextEncoder().encode(text));
  assert.equal(decode(encode(text)), text);
  assert.equal(decode(encode("\ud83d")), "\ufffd");
});

test("bytes that are not UTF-8 are marked and lose nothing else", () => {
  for (const bytes of [
    [0x80],
    [0xc0, 0x80],
    [0xe0, 0x80, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xff],
    [0xe2, 0x82],
  ]) {
    const text = decode([0x61, ...bytes, 0x62]);
    assert.match(text, /^a\ufffd+b$/, bytes.join());
  }
});
