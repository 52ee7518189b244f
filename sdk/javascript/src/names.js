/**
 * @file Names of measurements against their numbers, each asked of the host once.
 * Does not know which measurements a run has: the host's catalog does.
 */

/**
 * What the catalog answered so far.
 *
 * Only found names are kept: one that does not exist yet may be reported by another callback later.
 */
export class Names {
  #host;
  #keys = new Map();
  #names = new Map();

  /** @param host the contract's functions */
  constructor(host) {
    this.#host = host;
  }

  /** The number of a name, or nothing. */
  keyOf(name) {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = this.#host.keyOf(name) ?? undefined;
      if (key !== undefined) this.#remember(name, key);
    }
    return key;
  }

  /** The name of a number; empty for one that the catalog does not have. */
  nameOf(key) {
    let name = this.#names.get(key);
    if (name === undefined) {
      name = this.#host.nameOf(key) ?? undefined;
      if (name === undefined) return "";
      this.#remember(name, key);
    }
    return name;
  }

  #remember(name, key) {
    this.#keys.set(name, key);
    this.#names.set(key, name);
  }
}

/** Whether `name` fits `pattern`, in which `*` stands for any characters, also none. */
export function matches(pattern, name) {
  const [first, ...parts] = pattern.split("*");
  if (parts.length === 0) return first === name;
  if (!name.startsWith(first)) return false;
  const last = parts.pop();
  let place = first.length;
  // Each part between two stars is taken where it comes first, which leaves the most for those behind it.
  for (const part of parts) {
    const found = name.indexOf(part, place);
    if (found < 0) return false;
    place = found + part.length;
  }
  return name.length - place >= last.length && name.endsWith(last);
}
