/**
 * @file
 * When a value is better and when to stop: our own rule, and those of three libraries to the letter.
 * Plain arithmetic on what has been seen; knows nothing of hooks and decisions.
 */
#ifndef RULE_HPP
#define RULE_HPP

#include <cstdint>
#include <optional>

/** Which direction of a measurement is better. */
enum class Mode { min, max };

/** Whose rule decides. */
enum class Rule {
    sound,       /**< Ours: only a finite value can be the best, and every check without improvement counts. */
    huggingface, /**< `EarlyStoppingCallback` of transformers, with its patience counter kept on resume. */
    lightning,   /**< `EarlyStopping` of lightning. */
    keras,       /**< `EarlyStopping` of keras, with its state kept on resume. */
};

/** What a value is compared with. */
struct Terms {
    Mode mode;
    std::uint32_t patience;
    double min_delta;
    std::optional<double> stopping_threshold, divergence_threshold, baseline;
    bool check_finite;

    /** Better by more than `min_delta`, or there is nothing to beat; never with NaN. */
    bool beats(double value, std::optional<double> than) const;
    bool has_reached(double value) const;
    bool has_diverged(double value) const;
};

/** What a rule remembers from check to check. */
struct Memory {
    std::optional<double> best; /**< The best value so far, as the rule sees it. */
    std::uint32_t wait = 0;     /**< Checks since the last improvement that counted. */
};

/** Why a run should end. */
enum class Cause { patience, not_finite, reached, diverged };

/** What a check comes to. */
struct Verdict {
    bool improved = false;     /**< The weights are the best so far. */
    std::optional<Cause> stop; /**< The run should end. */
};

/** Takes one value. `epoch` is the running epoch, counted from 0. */
Verdict judge(Rule rule, const Terms &terms, Memory &memory, double value, std::uint64_t epoch);

#endif
