/**
 * @file
 * The rule as one function.
 */
#include "strikes.h"

bool strike(struct state *state, double ceiling, uint32_t patience, double loss) {
    state->strikes = loss > ceiling ? state->strikes + 1 : 0;
    return state->strikes == patience;
}
