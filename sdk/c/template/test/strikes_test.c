/**
 * @file
 * What the rule decides, compiled natively.
 */
#include "strikes.h"

#include <stdio.h>

int main(void) {
    static const double losses[] = {6, 4, 7, 8};
    struct state state = {0};
    for (unsigned step = 0; step < 4; step++) {
        bool stops = strike(&state, 5, 2, losses[step]);
        if (stops != (step == 3)) {
            fprintf(stderr, "step %u: stops is %d\n", step + 1, stops);
            return 1;
        }
    }
    puts("ok: a loss that stays too high stops the run");
    return 0;
}
