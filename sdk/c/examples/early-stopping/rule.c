/**
 * @file
 * The four rules, each as one function.
 */
#include "rule.h"

#include <math.h>

/** Strictly better; never with NaN. */
static bool is_better(enum mode mode, double value, double than) {
    return mode == MODE_MIN ? value < than : value > than;
}

/** Better by more than `min_delta`; never with NaN. */
static bool beats(const struct terms *terms, double value, double than) {
    return terms->mode == MODE_MIN ? value + terms->min_delta < than : value - terms->min_delta > than;
}

/** Beats a number that may not be there, in which case there is nothing to beat. */
static bool beats_any(const struct terms *terms, double value, struct maybe than) {
    return !than.is_some || beats(terms, value, than.value);
}

static double worst(enum mode mode) {
    return mode == MODE_MIN ? INFINITY : -INFINITY;
}

static bool has_reached(const struct terms *terms, double value) {
    return terms->stopping_threshold.is_some && is_better(terms->mode, value, terms->stopping_threshold.value);
}

static bool has_diverged(const struct terms *terms, double value) {
    return terms->divergence_threshold.is_some && is_better(terms->mode, terms->divergence_threshold.value, value);
}

/** One check more without improvement. */
static uint32_t one_more(uint32_t wait) {
    return wait == UINT32_MAX ? wait : wait + 1;
}

static struct verdict sound(const struct terms *terms, struct memory *memory, double value) {
    // An infinity on the good side comes from a broken computation as surely as one on the bad side, and nothing would
    // ever be better than it.
    bool improved = isfinite(value) && beats_any(terms, value, memory->best);
    if (improved) memory->best = (struct maybe){true, value};
    bool gives_patience_back = improved && beats_any(terms, value, terms->baseline);
    memory->wait = gives_patience_back ? 0 : one_more(memory->wait);
    enum cause stop = CAUSE_NONE;
    if (terms->check_finite && !isfinite(value)) stop = CAUSE_NOT_FINITE;
    else if (isfinite(value) && has_reached(terms, value)) stop = CAUSE_REACHED;
    else if (has_diverged(terms, value)) stop = CAUSE_DIVERGED;
    else if (!improved && memory->wait >= terms->patience) stop = CAUSE_PATIENCE;
    return (struct verdict){improved, stop};
}

static struct verdict huggingface(const struct terms *terms, struct memory *memory, double value) {
    double best = memory->best.is_some ? memory->best.value : worst(terms->mode);
    bool improved = is_better(terms->mode, value, best);
    bool is_good = !memory->best.is_some || (improved && fabs(value - best) > terms->min_delta);
    memory->wait = is_good ? 0 : one_more(memory->wait);
    // The best takes any gain, also one below the threshold: a slow steady gain stops the run.
    memory->best = (struct maybe){true, improved ? value : best};
    return (struct verdict){improved, memory->wait >= terms->patience ? CAUSE_PATIENCE : CAUSE_NONE};
}

static struct verdict lightning(const struct terms *terms, struct memory *memory, double value) {
    double best = memory->best.is_some ? memory->best.value : worst(terms->mode);
    memory->best = (struct maybe){true, best};
    bool improved = beats(terms, value, best);
    if (terms->check_finite && !isfinite(value)) return (struct verdict){false, CAUSE_NOT_FINITE};
    // Neither threshold touches the library's memory; the weights that reach the goal are worth keeping all the same.
    if (has_reached(terms, value)) return (struct verdict){improved, CAUSE_REACHED};
    if (has_diverged(terms, value)) return (struct verdict){false, CAUSE_DIVERGED};
    if (improved) {
        *memory = (struct memory){{true, value}, 0};
        return (struct verdict){true, CAUSE_NONE};
    }
    memory->wait = one_more(memory->wait);
    return (struct verdict){false, memory->wait >= terms->patience ? CAUSE_PATIENCE : CAUSE_NONE};
}

static struct verdict keras(const struct terms *terms, struct memory *memory, double value, uint64_t epoch) {
    memory->wait = one_more(memory->wait);
    // The first value is always the best, NaN included, and then nothing is ever better.
    if (beats_any(terms, value, memory->best)) {
        memory->best = (struct maybe){true, value};
        if (beats_any(terms, value, terms->baseline)) memory->wait = 0;
        return (struct verdict){true, CAUSE_NONE};
    }
    bool stops = memory->wait >= terms->patience && epoch > 0;
    return (struct verdict){false, stops ? CAUSE_PATIENCE : CAUSE_NONE};
}

struct verdict judge(enum rule rule, const struct terms *terms, struct memory *memory, double value, uint64_t epoch) {
    switch (rule) {
    case RULE_HUGGINGFACE: return huggingface(terms, memory, value);
    case RULE_LIGHTNING: return lightning(terms, memory, value);
    case RULE_KERAS: return keras(terms, memory, value, epoch);
    case RULE_SOUND: break;
    }
    return sound(terms, memory, value);
}
