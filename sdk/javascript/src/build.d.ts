/** From an author's module to a component. What the command `host-sdk build` calls. */

/** How to build. */
export interface BuildOptions {
  /** The file to write. */
  readonly out: string;
  /** Also write the bundle here: the lines in stack traces are its lines. */
  readonly bundle?: string;
  /** Use the engine that is built for size: a third smaller, and slower. Default false. */
  readonly small?: boolean;
  /** Shorten names, also those in stack traces. Default false. */
  readonly minify?: boolean;
}

/**
 * Builds a component. Types are stripped and not checked.
 *
 * @param entry the module whose default export is a plugin; JavaScript or TypeScript
 * @returns the component's size in bytes
 * @throws what is wrong with the module, or why the file can't be written
 */
export function build(entry: string, options: BuildOptions): Promise<{ bytes: number }>;

/** The module and everything that it imports as the text of one module, which exports the contract's interface. */
export function bundle(entry: string, options?: { readonly minify?: boolean }): Promise<string>;
