/**
 * @file The kinds of settings: what each accepts, and its JSON Schema.
 * Knows no key's name; `configuration` puts settings together.
 *
 * Each kind is an object with `schema`, `read(value, path)` that gives the value or throws, and how it may be missing:
 * `fallback` is there when it has a default, `isOptional` when it can be left out without one.
 */

/** Numbers that JSON does not have, as the host writes them. */
const NOT_FINITE = { NaN, Infinity, "-Infinity": -Infinity };

/** A number. Options: `min` and `max` are the range, `above` and `below` one without its ends. */
export function number(description, options = {}) {
  return make(description, options, { type: "number", ...range(options) }, (value, path) => {
    const given = typeof value === "string" && Object.hasOwn(NOT_FINITE, value) ? NOT_FINITE[value] : value;
    if (typeof given !== "number") throw wrong(path, value, "a number");
    return within(given, path, options);
  });
}

/** A whole number, exact up to 2^53. Options as for `number`. */
export function integer(description, options = {}) {
  return make(description, options, { type: "integer", ...range(options) }, (value, path) => {
    if (!Number.isSafeInteger(value)) throw wrong(path, value, "a whole number");
    return within(value, path, options);
  });
}

/** True or false. */
export function boolean(description, options = {}) {
  return make(description, options, { type: "boolean" }, (value, path) => {
    if (typeof value !== "boolean") throw wrong(path, value, "true or false");
    return value;
  });
}

/** A text. */
export function text(description, options = {}) {
  return make(description, options, { type: "string" }, (value, path) => {
    if (typeof value !== "string") throw wrong(path, value, "a text");
    return value;
  });
}

/** One of some words. */
export function choice(description, words, options = {}) {
  return make(description, options, { type: "string", enum: [...words] }, (value, path) => {
    if (!words.includes(value)) throw wrong(path, value, `one of ${words.join(", ")}`);
    return value;
  });
}

/** A list of settings of one kind. Options: `min` and `max` bound how many there are. */
export function list(description, item, options = {}) {
  const { min, max } = options;
  const count = defined({ minItems: min, maxItems: max });
  return make(description, options, { type: "array", items: item.schema, ...count }, (value, path) => {
    if (!Array.isArray(value)) throw wrong(path, value, "a list");
    within(value.length, `the length of ${path}`, { min, max });
    return value.map((each, place) => item.read(each, `${path}[${place}]`));
  });
}

/** A table of settings of one kind, under names that whoever configures the run chooses. */
export function table(description, item, options = {}) {
  const schema = { type: "object", additionalProperties: item.schema };
  return make(description, options, schema, (value, path) => {
    if (!isTable(value)) throw wrong(path, value, "a table");
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([name, each]) => [name, item.read(each, `${path}.${name}`)]));
  });
}

/** Whether a value of a configuration is a table. */
export function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The error for a value of another kind. */
export function wrong(path, value, expected) {
  return new TypeError(`${path} is ${JSON.stringify(value)}: it has to be ${expected}`);
}

function make(description, options, schema, read) {
  const isOptional = options.optional === true;
  const setting = { read, isOptional, schema: { description, ...schema } };
  if (isOptional && "default" in options) {
    throw new Error(`"${description}": a setting with a default is never missing, so it is not optional`);
  }
  if (isOptional) {
    // `null` is how a configuration says "none", and what the default is shown as.
    Object.assign(setting.schema, { type: [schema.type, "null"], default: null });
    if (schema.enum) setting.schema.enum = [...schema.enum, null];
  }
  if ("default" in options) {
    setting.fallback = read(options.default, "the default");
    setting.schema.default = shown(options.default);
  }
  return Object.freeze(setting);
}

/** A default as JSON has it. */
function shown(value) {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

function range({ min, max, above, below }) {
  return defined({ minimum: min, maximum: max, exclusiveMinimum: above, exclusiveMaximum: below });
}

/** What is given, without bounds that JSON has no number for: only `read` checks those. */
function defined(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => Number.isFinite(value)));
}

function within(value, path, { min, max, above, below }) {
  const rules = [
    [min, value >= min, "or more"],
    [max, value <= max, "or less"],
  ];
  for (const [bound, holds, words] of rules) {
    if (bound !== undefined && !holds) throw new RangeError(`${path} is ${value}: it has to be ${bound} ${words}`);
  }
  if (above !== undefined && !(value > above)) {
    throw new RangeError(`${path} is ${value}: it has to be more than ${above}`);
  }
  if (below !== undefined && !(value < below)) {
    throw new RangeError(`${path} is ${value}: it has to be less than ${below}`);
  }
  return value;
}
