/**
 * @file
 * The four rules, each as one function.
 */
#include "rule.hpp"

#include <cmath>
#include <limits>

namespace {

/** Strictly better; never with NaN. */
bool is_better(Mode mode, double value, double than) {
    return mode == Mode::min ? value < than : value > than;
}

double worst(Mode mode) {
    double infinity = std::numeric_limits<double>::infinity();
    return mode == Mode::min ? infinity : -infinity;
}

/** One check more without improvement. */
void wait_longer(Memory &memory) {
    if (memory.wait < std::numeric_limits<std::uint32_t>::max()) ++memory.wait;
}

/** The patience is over, where it counts. */
std::optional<Cause> patience(const Terms &terms, const Memory &memory, bool counts = true) {
    if (counts && memory.wait >= terms.patience) return Cause::patience;
    return std::nullopt;
}

Verdict sound(const Terms &terms, Memory &memory, double value) {
    // An infinity on the good side comes from a broken computation as surely as one on the bad side, and nothing would
    // ever be better than it.
    bool is_finite = std::isfinite(value), improved = is_finite && terms.beats(value, memory.best);
    if (improved) memory.best = value;
    if (improved && terms.beats(value, terms.baseline)) memory.wait = 0;
    else wait_longer(memory);
    if (terms.check_finite && !is_finite) return {improved, Cause::not_finite};
    if (is_finite && terms.has_reached(value)) return {improved, Cause::reached};
    if (terms.has_diverged(value)) return {improved, Cause::diverged};
    return {improved, patience(terms, memory, !improved)};
}

Verdict huggingface(const Terms &terms, Memory &memory, double value) {
    double best = memory.best.value_or(worst(terms.mode));
    bool improved = is_better(terms.mode, value, best);
    if (!memory.best || (improved && std::fabs(value - best) > terms.min_delta)) memory.wait = 0;
    else wait_longer(memory);
    // The best takes any gain, also one below the threshold: a slow steady gain stops the run.
    memory.best = improved ? value : best;
    return {improved, patience(terms, memory)};
}

Verdict lightning(const Terms &terms, Memory &memory, double value) {
    double best = memory.best.value_or(worst(terms.mode));
    memory.best = best;
    bool improved = terms.beats(value, best);
    if (terms.check_finite && !std::isfinite(value)) return {false, Cause::not_finite};
    // Neither threshold touches the library's memory; the weights that reach the goal are worth keeping all the same.
    if (terms.has_reached(value)) return {improved, Cause::reached};
    if (terms.has_diverged(value)) return {false, Cause::diverged};
    if (improved) {
        memory = {value, 0};
        return {true, std::nullopt};
    }
    wait_longer(memory);
    return {false, patience(terms, memory)};
}

Verdict keras(const Terms &terms, Memory &memory, double value, std::uint64_t epoch) {
    wait_longer(memory);
    // The first value is always the best, NaN included, and then nothing is ever better.
    if (!terms.beats(value, memory.best)) return {false, patience(terms, memory, epoch > 0)};
    memory.best = value;
    if (terms.beats(value, terms.baseline)) memory.wait = 0;
    return {true, std::nullopt};
}

} // namespace

bool Terms::beats(double value, std::optional<double> than) const {
    if (!than) return true;
    return mode == Mode::min ? value + min_delta < *than : value - min_delta > *than;
}

bool Terms::has_reached(double value) const {
    return stopping_threshold && is_better(mode, value, *stopping_threshold);
}

bool Terms::has_diverged(double value) const {
    return divergence_threshold && is_better(mode, *divergence_threshold, value);
}

Verdict judge(Rule rule, const Terms &terms, Memory &memory, double value, std::uint64_t epoch) {
    switch (rule) {
    case Rule::huggingface: return huggingface(terms, memory, value);
    case Rule::lightning: return lightning(terms, memory, value);
    case Rule::keras: return keras(terms, memory, value, epoch);
    case Rule::sound: break;
    }
    return sound(terms, memory, value);
}
