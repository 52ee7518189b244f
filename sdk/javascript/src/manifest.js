/**
 * @file What a plugin is and the most that it can ever ask for.
 * Does not grant anything: the host gives what stands here and in the run's configuration.
 */

import { schema } from "./configuration.js";

/** The requests by their names in the contract, with the names that the bindings give them. */
const REQUESTS = {
  stop: "stop",
  "end-epoch": "endEpoch",
  evaluate: "evaluate",
  save: "save",
  log: "log",
  skip: "skip",
  restore: "restore",
  mute: "mute",
};

const KEYS = "name version summary requests knobs lane order settings state stateVersion".split(" ");

/**
 * A manifest with its defaults filled in. Throws for what the contract does not have; what names, versions and
 * patterns look like is the host's to check.
 */
export function manifest(given) {
  const unknown = Object.keys(given).filter((key) => !KEYS.includes(key));
  if (unknown.length > 0) {
    throw new Error(`a manifest has no ${unknown.join(", ")}; it has ${KEYS.join(", ")}`);
  }
  for (const key of ["name", "version", "summary"]) {
    if (typeof given[key] !== "string") throw new TypeError(`the manifest's ${key} has to be a text`);
  }
  const defaults = {
    requests: [],
    knobs: [],
    lane: "inline",
    order: 0,
    settings: {},
    state: undefined,
    stateVersion: 1,
  };
  const whole = { ...defaults, ...given };
  for (const request of whole.requests) {
    if (!Object.hasOwn(REQUESTS, request)) {
      throw new Error(`there is no request ${request}; there are ${Object.keys(REQUESTS).join(", ")}`);
    }
  }
  if (whole.lane !== "inline" && whole.lane !== "background") {
    throw new Error(`the lane is ${whole.lane}: it has to be inline or background`);
  }
  return Object.freeze(whole);
}

/** A manifest as the contract has it, with the schema of its settings. */
export function describe({ name, version, summary, requests, knobs, lane, order, settings, stateVersion }) {
  const flags = Object.values(REQUESTS).map((flag) => [flag, false]);
  return {
    name,
    version,
    summary,
    requests: { ...Object.fromEntries(flags), ...Object.fromEntries(requests.map((it) => [REQUESTS[it], true])) },
    knobs: [...knobs],
    lane,
    order,
    configSchema: JSON.stringify(schema(settings, { title: name, description: summary })),
    stateVersion,
  };
}
