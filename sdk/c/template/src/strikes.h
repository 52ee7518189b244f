/**
 * @file
 * The rule: how often in a row a loss was too high. Knows nothing of the host, so that any compiler can test it.
 */
#ifndef STRIKES_H
#define STRIKES_H

#include <stdbool.h>
#include <stdint.h>

/** What is learned on the way. It is saved in checkpoints, so it has no pointers. */
struct state {
    uint32_t strikes; /**< Steps in a row with a loss that was too high. */
};

/** Takes the loss of one step. Whether it makes `patience` in a row. */
bool strike(struct state *state, double ceiling, uint32_t patience, double loss);

#endif
