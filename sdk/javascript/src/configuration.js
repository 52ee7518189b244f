/**
 * @file A callback's settings together: their JSON Schema, and their values from a configuration.
 * Does not know the kinds of settings; `settings` does.
 *
 * Code has keys like `minDelta`, configurations like `min-delta`.
 */

import { isTable, wrong } from "./settings.js";

/** The JSON Schema of settings by key. */
export function schema(definitions, { title, description }) {
  const entries = Object.entries(definitions);
  const required = entries.filter(([, setting]) => !canBeMissing(setting)).map(([key]) => kebab(key));
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title,
    description,
    type: "object",
    properties: Object.fromEntries(entries.map(([key, setting]) => [kebab(key), setting.schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/**
 * The values of settings. Throws one error that names everything that is wrong.
 *
 * @param {string} text JSON of the configuration; empty is as `{}`
 */
export function values(definitions, text) {
  const given = JSON.parse(text || "{}");
  if (!isTable(given)) throw wrong("the configuration", given, "a table");
  const problems = unknown(definitions, given);
  const read = {};
  for (const [key, setting] of Object.entries(definitions)) {
    try {
      read[key] = value(setting, given, kebab(key));
    } catch (error) {
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new Error(`configuration: ${problems.join("; ")}`);
  return Object.freeze(read);
}

function value(setting, given, name) {
  const isGiven = Object.hasOwn(given, name) && !(setting.isOptional && given[name] === null);
  if (isGiven) return setting.read(given[name], name);
  if (!canBeMissing(setting)) throw new Error(`${name} is missing`);
  return copy(setting.fallback);
}

/** A default that no instance can change for another one. */
function copy(fallback) {
  return typeof fallback === "object" ? JSON.parse(JSON.stringify(fallback)) : fallback;
}

function unknown(definitions, given) {
  const known = Object.keys(definitions).map(kebab);
  const expected = known.length > 0 ? `expected one of ${known.join(", ")}` : "there are no settings";
  const others = Object.keys(given).filter((name) => !known.includes(name));
  return others.map((name) => `unknown key ${name}, ${expected}`);
}

function canBeMissing(setting) {
  return setting.isOptional || "fallback" in setting;
}

function kebab(key) {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
