/**
 * @file
 * What the rule decides, compiled natively.
 */
#include "strikes.hpp"

#include <cstdio>
#include <initializer_list>

int main() {
    State state;
    int step = 0;
    for (double loss : {6.0, 4.0, 7.0, 8.0}) {
        step++;
        bool stops = state.strike(5, 2, loss);
        if (stops != (step == 4)) {
            std::fprintf(stderr, "step %d: stops is %d\n", step, stops);
            return 1;
        }
    }
    std::puts("ok: a loss that stays too high stops the run");
}
