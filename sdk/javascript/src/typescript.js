/**
 * @file Lets Node import TypeScript in tests: `node --import host-sdk/typescript --test`.
 * Strips types and does not check them. A Node that does so by itself does not need this.
 */

import { readFile } from "node:fs/promises";
import { isMainThread } from "node:worker_threads";
import { register } from "node:module";
import { fileURLToPath } from "node:url";

// Node imports this file twice: as an option of the command line, and on the thread where modules are loaded.
if (isMainThread) register(import.meta.url);

/** Node's hook for loading a module. */
export async function load(url, context, next) {
  if (!/\.m?ts$/.test(url)) return next(url, context);
  const { transform } = await import("esbuild");
  const file = fileURLToPath(url);
  const options = { loader: "ts", format: "esm", target: "es2022", sourcefile: file, sourcemap: "inline" };
  const { code } = await transform(await readFile(file, "utf8"), options);
  return { format: "module", source: code, shortCircuit: true };
}
