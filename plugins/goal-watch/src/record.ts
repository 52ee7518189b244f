/**
 * A kind of setting that the SDK does not have: a table with keys of its own, each of another kind.
 * Keys are the same in code and in a configuration, so they are single words.
 */

import type { Setting, Settings, Values } from "../../../sdk/javascript/src/index.js";

/** A table with these keys; one that is neither optional nor has a default has to be there. */
export function record<const S extends Settings>(description: string, fields: S): Setting<Values<S>> {
  const keys = Object.keys(fields);
  const required = keys.filter((key) => !canBeMissing(fields[key]!));
  const properties = Object.fromEntries(keys.map((key) => [key, fields[key]!.schema]));
  return {
    schema: { description, type: "object", properties, required, additionalProperties: false },
    read(value, path) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw new TypeError(`${path} is ${JSON.stringify(value)}: it has to be a table`);
      }
      const given = value as Readonly<Record<string, unknown>>;
      const others = Object.keys(given).filter((key) => !keys.includes(key));
      const problems = others.map((key) => `unknown key ${key} in ${path}, expected one of ${keys.join(", ")}`);
      const read: Record<string, unknown> = {};
      for (const key of keys) {
        try {
          read[key] = field(fields[key]!, given[key], `${path}.${key}`);
        } catch (error) {
          problems.push((error as Error).message);
        }
      }
      if (problems.length > 0) throw new Error(problems.join("; "));
      return read as Values<S>;
    },
  };
}

function field(setting: Setting<unknown>, value: unknown, path: string): unknown {
  if (value !== undefined && !(value === null && setting.schema["default"] === null)) return setting.read(value, path);
  if (!canBeMissing(setting)) throw new Error(`${path} is missing`);
  return setting.schema["default"] ?? undefined;
}

/** The schema shows the default, and null for what is optional. */
function canBeMissing(setting: Setting<unknown>): boolean {
  return "default" in setting.schema;
}
