#!/usr/bin/env node
/**
 * @file The command `host-sdk`: builds a component from a module.
 * Only reads the command line; `build` does the work.
 */

import { parseArgs } from "node:util";

import { build } from "../src/build.js";

const HELP = `Builds a callback that is written in JavaScript or TypeScript.

Usage: host-sdk build ENTRY --out FILE.wasm [--bundle FILE.js] [--small] [--minify]

  ENTRY            the module whose default export is a plugin (.js or .ts)
  -o, --out FILE   the component to write
  --bundle FILE    also write the bundle: the lines in stack traces are its lines
  --small          the engine that is built for size: a third smaller, and slower
  --minify         shorten names, also those in stack traces

Types are stripped and not checked: that is what \`tsc --noEmit\` is for.
Exit codes: 0 success, 1 the module cannot be built, 2 the command line is wrong.
`;

/** What was asked for, or nothing where the command line is wrong. */
function asked() {
  const options = {
    out: { type: "string", short: "o" },
    bundle: { type: "string" },
    small: { type: "boolean", default: false },
    minify: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [command, entry, ...more] = positionals;
    if (values.help) return { help: true };
    if (command === "build" && entry && values.out && more.length === 0) return { entry, ...values };
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n\n`);
  }
  return undefined;
}

async function main() {
  const request = asked();
  if (request === undefined) {
    process.stderr.write(HELP);
    return 2;
  }
  if (request.help) {
    process.stdout.write(HELP);
    return 0;
  }
  try {
    const { bytes } = await build(request.entry, request);
    process.stdout.write(`${request.out}: ${bytes} bytes\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`error: ${request.entry}: ${error.message}\n`);
    return 1;
  }
}

process.exitCode = await main();
