/**
 * @file Which direction of a measurement is better.
 * Has no threshold of its own: rules for when a gain counts differ.
 */

/** Whether `value` is strictly better than another one: lower for `min`, higher for `max`. Never with NaN. */
export function isBetter(mode, value, than) {
  return mode === "min" ? value < than : value > than;
}

/** What every number but itself is better than. */
export function worst(mode) {
  return mode === "min" ? Infinity : -Infinity;
}
