/**
 * @file JSON in which every number survives, for state and settings.
 * Does not say when: `instance` saves and loads.
 *
 * JSON has no NaN, no infinities, no negative zero and no `undefined`. They are written as words: `NaN`, `Infinity`,
 * `-Infinity`, `-0` and `undefined`, of which the host writes the first three the same way. A string that is one of
 * these words gets a `$` in front, and so does one that would look like that, so that each value has its own form.
 */

const WORDS = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity, "-0": -0, undefined };
const WORD = /^(?:NaN|-?Infinity|-0|undefined)$/;
const ESCAPED = /^\$+(?:NaN|-?Infinity|-0|undefined)$/;

/** JSON of a value made of plain objects, lists, numbers, strings, booleans and null. Throws for any other. */
export function write(value) {
  return JSON.stringify(writable(value, "the state"));
}

/** The value that `write` gave, or that any other JSON means. */
export function read(text) {
  return readable(JSON.parse(text));
}

function writable(value, path) {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : Object.is(value, -0) ? "-0" : String(value);
    case "string":
      return WORD.test(value) || ESCAPED.test(value) ? `$${value}` : value;
    case "boolean":
      return value;
    case "undefined":
      return "undefined";
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item, place) => writable(item, `${path}[${place}]`));
      if (isPlain(value)) return fields(value, (field, name) => writable(field, `${path}.${name}`));
  }
  const kind = typeof value === "object" ? (value.constructor?.name ?? "object") : typeof value;
  throw new TypeError(
    `${path} is a ${kind}, which can't be saved; plain objects, lists, numbers, strings, booleans and null can`,
  );
}

function readable(value) {
  if (typeof value === "string") {
    return WORD.test(value) ? WORDS[value] : ESCAPED.test(value) ? value.slice(1) : value;
  }
  if (Array.isArray(value)) return value.map(readable);
  return isPlain(value) ? fields(value, readable) : value;
}

function fields(object, change) {
  // Not by assignment: a field that is called `__proto__` would set the prototype.
  return Object.fromEntries(Object.entries(object).map(([name, field]) => [name, change(field, name)]));
}

/** Whether a value is an object without a class. */
export function isPlain(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
