/**
 * The functions of the language: those of the values of one moment, and those that remember.
 * All take numbers. Does not keep what is remembered: a goal's memory does.
 */

import type { Kind } from "./syntax.ts";

/** A function of the values of one moment. */
export interface Plain {
  /** How many inputs it takes, at least and at most. */
  readonly inputs: readonly [number, number];
  readonly gives: Kind;
  readonly of: (...values: number[]) => number | boolean;
}

/** A function of a value at this check and at those before. */
export interface Remembering {
  /** The fewest values that it can be asked to look back on; without it the call names no number. */
  readonly least?: number;
  /** Takes the value of this check into the window, oldest first, and gives the result; nothing until it is known. */
  readonly take: (window: number[], value: number, count: number) => number | undefined;
}

/** The most values that one call looks back on. */
export const MAX_WINDOW = 1000;

const number = (inputs: readonly [number, number], of: Plain["of"]): Plain => ({ inputs, gives: "number", of });
const condition = (of: Plain["of"]): Plain => ({ inputs: [1, 1], gives: "condition", of });

export const PLAIN: ReadonlyMap<string, Plain> = new Map([
  ["min", number([2, 8], Math.min)],
  ["max", number([2, 8], Math.max)],
  ["abs", number([1, 1], Math.abs)],
  ["sqrt", number([1, 1], Math.sqrt)],
  ["log", number([1, 1], Math.log)],
  ["exp", number([1, 1], Math.exp)],
  ["floor", number([1, 1], Math.floor)],
  ["is-nan", condition(Number.isNaN)],
  ["is-finite", condition(Number.isFinite)],
]);

export const REMEMBERING: ReadonlyMap<string, Remembering> = new Map<string, Remembering>([
  ["previous", { take: (window, value) => (slide(window, value, 2) ? window[0] : undefined) }],
  ["lowest", { take: (window, value) => extreme(window, value, (best) => value < best) }],
  ["highest", { take: (window, value) => extreme(window, value, (best) => value > best) }],
  ["mean", { least: 1, take: (window, value, count) => (slide(window, value, count) ? mean(window) : undefined) }],
  ["slope", { least: 2, take: (window, value, count) => (slide(window, value, count) ? slope(window) : undefined) }],
]);

export const FUNCTIONS: readonly string[] = [...PLAIN.keys(), ...REMEMBERING.keys()];

/** Adds the newest value, drops the oldest where there are more than `count`, and says whether there are so many. */
function slide(window: number[], value: number, count: number): boolean {
  window.push(value);
  if (window.length > count) window.shift();
  return window.length === count;
}

/** A value that is not finite comes from a broken computation, and nothing would ever beat it. */
function extreme(window: number[], value: number, beats: (best: number) => boolean): number | undefined {
  if (Number.isFinite(value) && (window.length === 0 || beats(window[0]!))) window[0] = value;
  return window[0];
}

/** Summed anew each time: a running sum would drift, and never get rid of a NaN. */
function mean(window: readonly number[]): number {
  let sum = 0;
  for (let place = 0; place < window.length; place++) sum += window[place]!;
  return sum / window.length;
}

/** The slope of the line of least squares, per check. */
function slope(window: readonly number[]): number {
  const { length } = window;
  const center = (length - 1) / 2;
  let rise = 0;
  for (let place = 0; place < length; place++) rise += (place - center) * window[place]!;
  return (rise * 12) / (length * (length * length - 1));
}
