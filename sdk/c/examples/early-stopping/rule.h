/**
 * @file
 * When a value is better and when to stop: our own rule, and those of three libraries to the letter.
 * Plain arithmetic on what has been seen; knows nothing of hooks and decisions.
 */
#ifndef RULE_H
#define RULE_H

#include <stdbool.h>
#include <stdint.h>

/** Which direction of a measurement is better. */
enum mode { MODE_MIN, MODE_MAX };

/** Whose rule decides. */
enum rule {
    RULE_SOUND,       /**< Ours: only a finite value can be the best, and every check without improvement counts. */
    RULE_HUGGINGFACE, /**< `EarlyStoppingCallback` of transformers, with its patience counter kept on resume. */
    RULE_LIGHTNING,   /**< `EarlyStopping` of lightning. */
    RULE_KERAS,       /**< `EarlyStopping` of keras, with its state kept on resume. */
};

/** A number that there may be. */
struct maybe {
    bool is_some;
    double value;
};

/** What a value is compared with. */
struct terms {
    enum mode mode;
    uint32_t patience;
    double min_delta;
    struct maybe stopping_threshold, divergence_threshold, baseline;
    bool check_finite;
};

/** What a rule remembers from check to check. */
struct memory {
    struct maybe best; /**< The best value so far, as the rule sees it. */
    uint32_t wait;     /**< Checks since the last improvement that counted. */
};

/** Why a run should end. */
enum cause { CAUSE_NONE, CAUSE_PATIENCE, CAUSE_NOT_FINITE, CAUSE_REACHED, CAUSE_DIVERGED };

/** What a check comes to. */
struct verdict {
    bool improved;   /**< The weights are the best so far. */
    enum cause stop; /**< Why the run should end, or `CAUSE_NONE`. */
};

/** Takes one value. `epoch` is the running epoch, counted from 0. */
struct verdict judge(enum rule rule, const struct terms *terms, struct memory *memory, double value, uint64_t epoch);

#endif
