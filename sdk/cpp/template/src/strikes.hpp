/**
 * @file
 * The rule: how often in a row a loss was too high. Knows nothing of the host, so that any compiler can test it.
 */
#ifndef STRIKES_HPP
#define STRIKES_HPP

#include <cstdint>

/** What is learned on the way. It is saved in checkpoints byte by byte. */
struct State {
    std::uint32_t strikes = 0; /**< Steps in a row with a loss that was too high. */

    /** Takes the loss of one step. Whether it makes `patience` in a row. */
    bool strike(double ceiling, std::uint32_t patience, double loss) {
        strikes = loss > ceiling ? strikes + 1 : 0;
        return strikes == patience;
    }
};

#endif
