/**
 * @file The run that a callback joins.
 * Does not change afterwards: what moves is in the events.
 */

import { matches } from "./names.js";

/** The run that a callback joins. */
export class Run {
  #text;
  #description = null;

  /** @param info the run as the contract has it */
  constructor(info) {
    /** The run's name. */
    this.name = info.run;
    /** What everything random in the run comes from. */
    this.seed = info.seed;
    /** This process among `worldSize`, from 0. */
    this.rank = info.rank;
    /** How many processes train together. */
    this.worldSize = info.worldSize;
    /** The step at which the callback joins: 0 at the beginning, more after a resume. */
    this.step = info.step;
    this.#text = info.description;
  }

  /** The model, its parameter groups and the knobs; what the host left out is empty. Read when first asked for. */
  get description() {
    return (this.#description ??= read(this.#text));
  }

  /**
   * The parameter groups whose names fit one of the patterns (`*` allowed), in the optimizer's order. Throws where none
   * does, with the names that there are.
   */
  groupsMatching(patterns) {
    const { groups } = this.description;
    const found = groups.filter(({ name }) => patterns.some((pattern) => matches(pattern, name)));
    if (found.length > 0) return found;
    const names = groups.map(({ name }) => name).join(", ");
    throw new Error(`no parameter group fits ${patterns.join(", ")}; this run has ${names}`);
  }
}

function read(text) {
  try {
    const { model = "", task = "", parameters = 0, groups = [], knobs = {} } = JSON.parse(text);
    const named = Object.entries(knobs).map(([name, about]) => [name, knob(about)]);
    return { model, task, parameters, groups: groups.map(group), knobs: Object.fromEntries(named) };
  } catch (error) {
    throw new Error(`the run's description: ${error.message}`);
  }
}

function group({ name, "learning-rate": learningRate, "weight-decay": weightDecay = 0, parameters = [] }) {
  return { name, learningRate, weightDecay, parameters };
}

/** A bound that is missing does not exist. */
function knob({ min, max, unit = "", value }) {
  return { min: min ?? undefined, max: max ?? undefined, unit, value: value ?? undefined };
}
