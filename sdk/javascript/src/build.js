/**
 * @file From an author's module to a component: one bundle by esbuild, made a component by componentize-qjs.
 * Does not check types and does not run the callback's hooks; module code runs once, while the component is made.
 */

import { writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const CONTRACT = "train-host:callback/host@0.1.0";
const WIT = fileURLToPath(new URL("../wit", import.meta.url));
const COMPONENT = fileURLToPath(new URL("component.js", import.meta.url));

/**
 * Builds a component.
 *
 * @param {string} entry the module whose default export is a plugin; JavaScript or TypeScript
 * @param {{out: string, bundle?: string, small?: boolean, minify?: boolean}} options
 * @returns {Promise<{bytes: number}>} the component's size
 */
export async function build(entry, { out, bundle: keep, small = false, minify = false }) {
  const jsSource = await bundle(entry, { minify });
  if (keep !== undefined) await writeFile(keep, jsSource);
  // Loaded here, so that nobody who only bundles or tests needs it.
  const { componentize } = await import("componentize-qjs");
  const { component } = await componentize({ witPath: WIT, world: "plugin", jsSource, sync: true, optSize: small });
  await writeFile(out, component);
  return { bytes: component.length };
}

/** The author's module and everything that it imports as one module, which exports the contract's interface. */
export async function bundle(entry, { minify = false } = {}) {
  const { build: esbuild } = await import("esbuild");
  const path = resolve(entry);
  const result = await esbuild({
    stdin: { contents: outermost(path), resolveDir: dirname(path), sourcefile: "component" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2023",
    external: ["train-host:*"],
    charset: "utf8",
    legalComments: "none",
    minify,
    logLevel: "warning",
  });
  return result.outputFiles[0].text;
}

/** The one module that imports the contract. The SDK comes first: it makes `console`, which the author's may use. */
function outermost(path) {
  return [
    `import { component } from ${JSON.stringify(COMPONENT)};`,
    `import * as host from ${JSON.stringify(CONTRACT)};`,
    `import plugin from ${JSON.stringify(path)};`,
    "export const callback = component(plugin, host);",
  ].join("\n");
}
