/**
 * @file
 * Early stopping: ends a run whose evaluation no longer gets better, and puts the best weights back.
 * Does not compare by itself; `rule.c` does, and this file reads the settings and turns verdicts into decisions.
 */
#include <host_sdk.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rule.h"

static const char *const modes[] = {"min", "max", NULL};
static const char *const rules[] = {"sound", "huggingface", "lightning", "keras", NULL};
static const char *const moments[] = {"evaluate-end", "epoch-end", "step-end", NULL};
static const host_hook hooks[] = {HOST_EVALUATE_END, HOST_EPOCH_END, HOST_STEP_END};

/** What was configured. */
static struct {
    const char *monitor, *tag;
    enum rule rule;
    struct terms terms;
    uint64_t warm_up, start_from_epoch;
    bool restore_best;
} settings;

/** What has been seen so far. */
static struct {
    struct memory memory;
    /** The step of the weights that the tag points to, once there is one. */
    bool has_best_step;
    /** Somebody has been told that the monitored value is missing. */
    bool told_missing;
    uint64_t best_step;
} watch;

static struct maybe optional(host_config *config, const char *key) {
    return (struct maybe){host_config_has(config, key), host_config_number(config, key, 0)};
}

/** Whether a rule has a setting beside monitor, mode, patience and min-delta. */
static bool knows(enum rule rule, const char *key) {
    switch (rule) {
    case RULE_SOUND: return true;
    case RULE_HUGGINGFACE: return false;
    case RULE_LIGHTNING: return strcmp(key, "baseline") != 0;
    case RULE_KERAS: return strcmp(key, "baseline") == 0;
    }
    return false;
}

/** Refuses what single settings can't tell. */
static void check_settings(host_config *config) {
    static const char *const of_rules[] = {"stopping-threshold", "divergence-threshold", "check-finite", "baseline"};
    double min_delta = settings.terms.min_delta;
    if (!(min_delta >= 0 && isfinite(min_delta))) {
        char text[HOST_NUMBER_BYTES];
        host_config_refuse(config, "min-delta is %s: it has to be 0 or more", host_number_text(min_delta, text));
    }
    for (size_t index = 0; index < 4; index++) {
        const char *key = of_rules[index];
        if (host_config_has(config, key) && !knows(settings.rule, key)) {
            host_config_refuse(config, "%s is not part of the %s rule; leave it out, or the rule", key,
                               rules[settings.rule]);
        }
    }
}

static void start(host_config *config, const host_run *run, host_subscriptions *subscriptions) {
    enum rule rule = (enum rule)host_config_choice(config, "rule", rules, RULE_SOUND);
    settings.monitor = host_config_text(config, "monitor", "eval/loss");
    settings.tag = host_config_text(config, "tag", "best");
    settings.rule = rule;
    settings.warm_up = host_config_whole(config, "warm-up", 0, HOST_MAX_WHOLE);
    settings.start_from_epoch = host_config_whole(config, "start-from-epoch", 0, HOST_MAX_WHOLE);
    settings.restore_best = host_config_boolean(config, "restore-best", true);
    settings.terms = (struct terms){
        .mode = (enum mode)host_config_choice(config, "mode", modes, MODE_MIN),
        .patience = (uint32_t)host_config_whole(config, "patience", 3, UINT32_MAX),
        .min_delta = host_config_number(config, "min-delta", 0),
        .stopping_threshold = optional(config, "stopping-threshold"),
        .divergence_threshold = optional(config, "divergence-threshold"),
        .baseline = optional(config, "baseline"),
        .check_finite = host_config_boolean(config, "check-finite", rule == RULE_LIGHTNING),
    };
    check_settings(config);
    uint32_t every = (uint32_t)host_config_whole(config, "check-every", 1, UINT32_MAX);
    if (every == 0) host_config_refuse(config, "check-every is 0: it has to be 1 or more");
    host_every(subscriptions, every, hooks[host_config_choice(config, "check-at", moments, 0)],
               HOST_NAMES(settings.monitor));
    host_on(subscriptions, HOST_TRAIN_END, NULL);
}

/** The epoch, from 0, that the last step belonged to: a check at the very end of an epoch is still about it. */
static uint64_t epoch_index(const host_progress *progress) {
    // Counting up is exact here: an epoch that has ended is a whole number.
    double epochs = ceil(progress->epoch);
    return epochs > 1 ? (uint64_t)epochs - 1 : 0;
}

/** Ends the run, and says why. */
static void stop(host_answer *answer, enum cause cause, double value) {
    char now[HOST_NUMBER_BYTES], number[HOST_NUMBER_BYTES], best[HOST_NUMBER_BYTES + 40] = "never a best";
    host_number_text(value, now);
    if (watch.memory.best.is_some && watch.has_best_step) {
        host_number_text(watch.memory.best.value, number);
        snprintf(best, sizeof best, "best %s at step %llu", number, (unsigned long long)watch.best_step);
    }
    switch (cause) {
    case CAUSE_PATIENCE:
        host_answer_stop(answer, "%s has not improved for %lu checks: now %s, %s", settings.monitor,
                         (unsigned long)watch.memory.wait, now, best);
        break;
    case CAUSE_NOT_FINITE:
        host_answer_stop(answer, "%s is %s, which is not finite; %s", settings.monitor, now, best);
        break;
    case CAUSE_REACHED:
        host_answer_stop(answer, "%s is %s and has passed its stopping threshold; %s", settings.monitor, now, best);
        break;
    case CAUSE_DIVERGED:
        host_answer_stop(answer, "%s is %s and has passed its divergence threshold; %s", settings.monitor, now, best);
        break;
    case CAUSE_NONE: break;
    }
}

static void check(const host_event *event, host_answer *answer) {
    const host_progress *progress = &event->progress;
    uint64_t epoch = epoch_index(progress);
    if (progress->step < settings.warm_up || epoch < settings.start_from_epoch) return;
    double value;
    if (!host_event_get_or_tell(event, settings.monitor, &value, &watch.told_missing, answer)) return;
    struct verdict verdict = judge(settings.rule, &settings.terms, &watch.memory, value, epoch);
    if (verdict.improved) {
        watch.has_best_step = true;
        watch.best_step = progress->step;
        if (settings.restore_best) host_answer_save(answer, settings.tag);
    }
    if (watch.memory.best.is_some) host_answer_report(answer, "best", watch.memory.best.value);
    host_answer_report(answer, "wait", watch.memory.wait);
    if (verdict.stop != CAUSE_NONE) stop(answer, verdict.stop, value);
}

static void train_end(const host_event *event, host_answer *answer) {
    // The weights of this very step are the best ones already.
    bool is_other = watch.has_best_step && watch.best_step != event->progress.step;
    if (settings.restore_best && is_other) host_answer_restore(answer, settings.tag);
}

static const char schema[] = {
#embed "settings.schema.json"
};

const host_callback host_plugin = {
    .name = "early-stopping",
    .version = "0.1.0",
    .summary = "Ends a run whose evaluation no longer gets better, and puts the best weights back.",
    .requests = HOST_MAY_STOP | HOST_MAY_SAVE | HOST_MAY_RESTORE,
    .config_schema = schema,
    .config_schema_length = sizeof schema,
    .start = start,
    .state = &watch,
    .state_size = sizeof watch,
    .evaluate_end = check,
    .epoch_end = check,
    .step_end = check,
    .train_end = train_end,
};
