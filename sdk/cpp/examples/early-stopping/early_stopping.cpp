/**
 * @file
 * Early stopping: ends a run whose evaluation no longer gets better, and puts the best weights back.
 * Does not compare by itself; `rule.cpp` does, and this file reads the settings and turns verdicts into decisions.
 */
#include <cmath>
#include <host_sdk.hpp>

#include "rule.hpp"

namespace {

constexpr char schema[] = {
#embed "settings.schema.json"
};

constexpr const char *modes[] = {"min", "max", nullptr};
constexpr const char *rules[] = {"sound", "huggingface", "lightning", "keras", nullptr};
constexpr const char *moments[] = {"evaluate-end", "epoch-end", "step-end", nullptr};
constexpr host::Hook hooks[] = {host::Hook::evaluate_end, host::Hook::epoch_end, host::Hook::step_end};

/** Whether a rule has a setting beside monitor, mode, patience and min-delta. */
bool knows(Rule rule, std::string_view key) {
    switch (rule) {
    case Rule::sound: return true;
    case Rule::huggingface: return false;
    case Rule::lightning: return key != "baseline";
    case Rule::keras: return key == "baseline";
    }
    return false;
}

/** The epoch, from 0, that the last step belonged to: a check at the very end of an epoch is still about it. */
std::uint64_t epoch_index(const host::Progress &progress) {
    // Counting up is exact here: an epoch that has ended is a whole number.
    double epochs = std::ceil(progress.epoch);
    return epochs > 1 ? static_cast<std::uint64_t>(epochs) - 1 : 0;
}

class EarlyStopping {
public:
    static constexpr host::Manifest manifest = {
        .name = "early-stopping",
        .version = "0.1.0",
        .summary = "Ends a run whose evaluation no longer gets better, and puts the best weights back.",
        .requests = HOST_MAY_STOP | HOST_MAY_SAVE | HOST_MAY_RESTORE,
        .config_schema = {schema, sizeof schema},
    };

    /** What has been seen so far. */
    struct {
        Memory memory;
        /** The step of the weights that the tag points to. */
        std::optional<std::uint64_t> best_step;
        /** Somebody has been told that the monitored value is missing. */
        bool told_missing = false;
    } state;

    EarlyStopping(host::Settings &settings, const host::Run &run, host::Subscriptions &subscriptions)
        : monitor(settings.get<std::string>("monitor", "eval/loss")),
          tag(settings.get<std::string>("tag", "best")),
          rule(settings.choice("rule", rules, Rule::sound)),
          terms{
              .mode = settings.choice("mode", modes, Mode::min),
              .patience = settings.get<std::uint32_t>("patience", 3),
              .min_delta = settings.get("min-delta", 0.0),
              .stopping_threshold = settings.optional<double>("stopping-threshold"),
              .divergence_threshold = settings.optional<double>("divergence-threshold"),
              .baseline = settings.optional<double>("baseline"),
              .check_finite = settings.get("check-finite", rule == Rule::lightning),
          },
          warm_up(settings.get<std::uint64_t>("warm-up", 0)),
          start_from_epoch(settings.get<std::uint64_t>("start-from-epoch", 0)),
          restore_best(settings.get("restore-best", true)) {
        auto every = settings.get<std::uint32_t>("check-every", 1);
        check_settings(settings, every);
        subscriptions.every(every, hooks[settings.choice("check-at", moments, 0)], {monitor});
        subscriptions.on(host::Hook::train_end);
    }

    void handle(const host::Event &event, host::Answer &answer) {
        if (event.hook() == host::Hook::train_end) put_back(event, answer);
        else check(event, answer);
    }

private:
    std::string monitor, tag;
    Rule rule;
    Terms terms;
    std::uint64_t warm_up, start_from_epoch;
    bool restore_best;

    /** Refuses what single settings can't tell. */
    void check_settings(host::Settings &settings, std::uint32_t every) const {
        if (!(terms.min_delta >= 0 && std::isfinite(terms.min_delta))) {
            settings.refuse("min-delta is ", terms.min_delta, ": it has to be 0 or more");
        }
        if (every == 0) settings.refuse("check-every is 0: it has to be 1 or more");
        for (const char *key : {"stopping-threshold", "divergence-threshold", "check-finite", "baseline"}) {
            if (!settings.has(key) || knows(rule, key)) continue;
            const char *name = rules[static_cast<int>(rule)];
            settings.refuse(key, " is not part of the ", name, " rule; leave it out, or the rule");
        }
    }

    void check(const host::Event &event, host::Answer &answer) {
        std::uint64_t epoch = epoch_index(event.progress());
        if (event.step() < warm_up || epoch < start_from_epoch) return;
        auto value = host::get_or_tell(event, monitor, state.told_missing, answer);
        if (!value) return;
        Verdict verdict = judge(rule, terms, state.memory, *value, epoch);
        if (verdict.improved) {
            state.best_step = event.step();
            if (restore_best) answer.save(tag);
        }
        if (state.memory.best) answer.report("best", *state.memory.best);
        answer.report("wait", state.memory.wait);
        if (verdict.stop) stop(*verdict.stop, *value, answer);
    }

    void put_back(const host::Event &event, host::Answer &answer) const {
        // The weights of this very step are the best ones already.
        bool is_other = state.best_step && *state.best_step != event.step();
        if (restore_best && is_other) answer.restore(tag);
    }

    /** Ends the run, and says why. */
    void stop(Cause cause, double value, host::Answer &answer) const {
        std::string best = "never a best";
        if (state.memory.best && state.best_step) {
            best = host::words("best ", *state.memory.best, " at step ", *state.best_step);
        }
        switch (cause) {
        case Cause::patience:
            answer.stop(monitor, " has not improved for ", state.memory.wait, " checks: now ", value, ", ", best);
            break;
        case Cause::not_finite: answer.stop(monitor, " is ", value, ", which is not finite; ", best); break;
        case Cause::reached: answer.stop(monitor, " is ", value, " and has passed its stopping threshold; ", best); break;
        case Cause::diverged:
            answer.stop(monitor, " is ", value, " and has passed its divergence threshold; ", best);
            break;
        }
    }
};

} // namespace

HOST_EXPORT(EarlyStopping)
