/**
 * @file Lines in the host's log, and the way to the host for every module that needs one.
 * Does not decide what is shown: the host cuts long lines, and drops what is too much.
 */

/** Where lines go: the host, or a test. Nowhere while modules load, when there is no run yet. */
let write = () => {};

/** Sends lines to `to(level, line)` from now on. */
export function connect(to) {
  write = to;
}

/** A line of use while the callback is being written. */
export function debug(...values) {
  line("debug", values);
}

/** A line of use to whoever watches the run. */
export function info(...values) {
  line("info", values);
}

/** The run goes on, perhaps not as wanted. */
export function warn(...values) {
  line("warn", values);
}

/** Something failed. */
export function error(...values) {
  line("error", values);
}

function line(level, values) {
  write(level, values.map(shown).join(" ").toWellFormed());
}

/** A value in words. */
function shown(value) {
  if (value instanceof Error) return value.stack ? `${value}\n${value.stack.trimEnd()}` : String(value);
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value, readable);
  } catch {
    return String(value); // It refers to itself.
  }
}

function readable(_key, value) {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return typeof value === "bigint" ? `${value}` : value;
}
