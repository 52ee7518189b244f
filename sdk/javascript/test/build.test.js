/** @file From a module to a component: what a bundle holds, what the command says, and that the documents are true. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { bundle } from "host-sdk/build";
import { Harness } from "host-sdk/testing";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COMMAND = join(ROOT, "bin/host-sdk.js");
// Inside of the package, where `host-sdk` is known by its name.
const FOLDER = mkdtempSync(join(ROOT, "test/build-"));
after(() => rmSync(FOLDER, { recursive: true }));

const file = (name, text) => {
  writeFileSync(join(FOLDER, name), text);
  return join(FOLDER, name);
};
const run = (...words) => spawnSync(process.execPath, [COMMAND, ...words], { encoding: "utf8" });

/** The code blocks of the README in a language. */
function examples(language) {
  const text = readFileSync(join(ROOT, "README.md"), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, "gm"))].map(([, code]) => code);
}

test("the contract is the one of the repository", (t) => {
  const original = join(ROOT, "../../wit/0.1.0/callback.wit");
  if (!existsSync(original)) return t.skip("installed elsewhere");
  assert.equal(readFileSync(join(ROOT, "wit/callback.wit"), "utf8"), readFileSync(original, "utf8"));
});

for (const language of ["js", "ts"]) {
  test(`the example in the README works, in ${language}`, async () => {
    const [example] = examples(language);
    const { default: plugin } = await import(file(`example.${language}`, example));
    const harness = Harness.start(plugin, { ceiling: 5 });
    const at = (loss) => harness.send({ hook: "step-end", step: 1, scalars: { loss } });
    assert.deepEqual(at(4), []);
    assert.deepEqual(at(6), [{ tag: "stop", val: "the loss is above 5" }]);
  });
}

test("a bundle is one module that imports the contract and nothing else", async () => {
  const [example] = examples("ts");
  const code = await bundle(file("bundled.ts", example));
  assert.deepEqual(
    [...code.matchAll(/^import .* from (.*);$/gm)].map(([, from]) => from),
    ['"train-host:callback/host@0.1.0"'],
  );
  assert.ok(!code.includes("Harness"), "what is for tests stays out");
  assert.ok(code.indexOf("globalThis.console =") < code.indexOf("loss-ceiling"), "the console is there first");
});

test("the command builds a component", () => {
  const [example] = examples("js");
  const out = join(FOLDER, "out.wasm");
  const kept = join(FOLDER, "kept.js");
  const { status, stdout, stderr } = run("build", file("built.js", example), "--out", out, "--bundle", kept);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, `${out}: ${statSync(out).size} bytes\n`);
  assert.deepEqual([...readFileSync(out).subarray(0, 8)], [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]);
  assert.match(readFileSync(kept, "utf8"), /export \{\n {2}callback\n\}/);
});

test("the command says what is wrong", () => {
  for (const words of [[], ["build"], ["build", "a.js"], ["make", "a.js", "-o", "b"], ["build", "a.js", "--big"]]) {
    assert.equal(run(...words).status, 2, words.join(" "));
  }
  assert.equal(run("--help").status, 0);
  const { status, stderr } = run("build", file("broken.js", "export default plugin("), "-o", join(FOLDER, "no.wasm"));
  assert.equal(status, 1);
  assert.match(stderr, /broken\.js/);
});

test("an author's mistake is an error of the build", () => {
  const code =
    'import { plugin } from "host-sdk";' +
    'export default plugin({ name: "x", version: "1.0.0", summary: "", lanes: 1 }, {});';
  const { status, stderr } = run("build", file("mistake.js", code), "-o", join(FOLDER, "no.wasm"));
  assert.equal(status, 1, stderr);
  assert.match(stderr, /a manifest has no lanes/);
});

test("every file opens with what it is responsible for", () => {
  const files = execFileSync("find", ["src", "bin", "test", "examples", "-name", "*.js", "-o", "-name", "*.ts"], {
    cwd: ROOT,
  });
  for (const path of files
    .toString()
    .split("\n")
    .filter((name) => name && !/build-|node_modules/.test(name))) {
    const text = readFileSync(join(ROOT, path), "utf8").replace(/^#!.*\n/, "");
    assert.match(text, /^\/\*\*/, path);
    assert.ok(text.split("\n").length < 400, `${path} is too long`);
  }
});
