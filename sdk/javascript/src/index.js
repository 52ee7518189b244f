/**
 * @file Write a callback that steers a training run: a manifest, the hooks that it wants, one call.
 * Does not decide what a callback may do; the host checks every answer. Types, with what each part means, are in
 * `index.d.ts`.
 */

export { HOOKS, on } from "./hook.js";
export * as log from "./log.js";
export { manifest } from "./manifest.js";
export { isBetter, worst } from "./mode.js";
export { matches } from "./names.js";
export { Callback, plugin } from "./plugin.js";
export { boolean, choice, integer, list, number, table, text } from "./settings.js";
