/**
 * @file The global `console`, which the engine inside of a component does not have: its lines go to the host's log.
 * Imported by `component` only, before any module of the author's; tests keep Node's own.
 */

import * as log from "./log.js";

globalThis.console = {
  debug: log.debug,
  trace: log.debug,
  log: log.info,
  info: log.info,
  warn: log.warn,
  error: log.error,
  assert(holds, ...values) {
    if (!holds) log.error("assertion failed:", ...values);
  },
};
