/**
 * @file `Math.random` inside of a component, from the run's seed.
 * The engine's own generator goes on from where it stood when the component was built: two builds of one source would
 * be two runs.
 */

/**
 * Makes `Math.random` a function of the run and the step at which the callback joins. It starts over after a resume, so
 * what decides anything belongs into the state.
 */
export function seed(run, step) {
  let state = mixed(mixed(run >>> 0) ^ Math.floor(run / 2 ** 32) ^ mixed(step >>> 0));
  const word = () => mixed((state = (state + 0x9e3779b9) | 0)) >>> 0;
  Math.random = () => (word() * 2 ** 21 + (word() >>> 11)) / 2 ** 53;
}

/** Spreads the bits of a word over all of it, one to one. */
function mixed(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
