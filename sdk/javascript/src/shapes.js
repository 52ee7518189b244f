/**
 * @file What an event's numbers are called: asked of the host once for each shape of events.
 * Does not hold the numbers: the event does.
 */

import { matches } from "./names.js";

/** So many shapes are remembered at one time. A callback has one or two for each of its hooks, as a rule. */
const MAX_SHAPES = 64;

/** The names of the numbers in events of one shape, in their order. */
export class Shape {
  /** Places by pattern, filled in as patterns come up. */
  #matching = new Map();

  constructor(names) {
    this.names = names;
    /** Places by name. Its own object, and not a method: this is looked up more often than anything else. */
    this.places = Object.create(null);
    names.forEach((name, place) => (this.places[name] = place));
  }

  /** The places of all names that fit a pattern. */
  matching(pattern) {
    let places = this.#matching.get(pattern);
    if (places === undefined) {
      if (this.#matching.size === MAX_SHAPES) this.#matching.clear();
      places = [...this.names.keys()].filter((place) => matches(pattern, this.names[place]));
      this.#matching.set(pattern, places);
    }
    return places;
  }
}

/** The shapes that have come up. */
export class Shapes {
  #known = new Map();
  #host;
  #names;

  /** @param host the contract's functions @param names the catalog's names */
  constructor(host, names) {
    this.#host = host;
    this.#names = names;
  }

  /** The shape of this number, which is that of the event that is being handled. */
  of(number) {
    let shape = this.#known.get(number);
    if (shape === undefined) {
      if (this.#known.size === MAX_SHAPES) this.#known.clear();
      shape = new Shape(this.#host.keys().map((key) => this.#names.nameOf(key)));
      this.#known.set(number, shape);
    }
    return shape;
  }
}
