/**
 * @file What an author makes: a manifest and a callback, as one value that a component or a test starts.
 * Does not run it: `instance` does.
 */

import { manifest } from "./manifest.js";

/** The base of callbacks that are classes. It adds nothing but the types of what every callback has. */
export class Callback {
  /** The values of the manifest's settings. */
  settings;
  /** What the callback learns on the way; saved in checkpoints. */
  state;
  /** The run that it has joined. */
  run;
}

/** A plugin: what it is, and how to make a callback that joins a run. */
export class Plugin {
  #make;

  constructor(about, make) {
    this.manifest = about;
    this.#make = make;
  }

  /** A callback before its `start`. Each has fields of its own. */
  make() {
    return this.#make();
  }
}

/**
 * A plugin from its manifest and its callback, which is an object or a class. A module's default export.
 *
 * @param about a manifest
 * @param callback an object with `start` and hooks, or a class of such
 */
export function plugin(about, callback) {
  const isClass = typeof callback === "function";
  return new Plugin(manifest(about), isClass ? () => new callback() : () => Object.create(callback));
}
