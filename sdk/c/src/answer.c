/**
 * @file
 * Decisions and subscriptions, collected in order.
 * Does not check them: the host does, and names each one that it refuses in the run's timeline.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static_assert((int)HOST_DECIDE_STOP == TRAIN_HOST_CALLBACK_TYPES_DECISION_STOP, "kinds are the contract's");
static_assert((int)HOST_DECIDE_NOTE == TRAIN_HOST_CALLBACK_TYPES_DECISION_NOTE, "kinds are the contract's");

/** Room for one more; how much there is doubles. */
static void *with_room(void *list, size_t count, size_t *room, size_t bytes) {
    if (count < *room) return list;
    *room = *room == 0 ? 4 : *room * 2;
    return host_reallocate(list, *room * bytes);
}

/** Adds a decision, and takes its words over. All kinds with words have them at the same place. */
static void add(host_answer *answer, host_decision kind, plugin_string_t words, double value) {
    answer->decisions = with_room(answer->decisions, answer->count, &answer->room, sizeof *answer->decisions);
    train_host_callback_types_decision_t *decision = &answer->decisions[answer->count++];
    decision->tag = (uint8_t)kind;
    decision->val.set = (train_host_callback_types_assignment_t){words, value};
}

void host_answer_decide(host_answer *answer, host_decision kind, const char *words, size_t length, double value) {
    plugin_string_t copy = {NULL, 0};
    bool has_words = kind != HOST_DECIDE_EVALUATE && kind != HOST_DECIDE_LOG;
    if (has_words && length > 0) copy = (plugin_string_t){memcpy(host_allocate(length), words, length), length};
    add(answer, kind, copy, value);
}

/** A decision that carries words, in the manner of `printf`. */
#define WITH_WORDS(name, kind)                                  \
    void name(host_answer *answer, const char *format, ...) {   \
        va_list arguments;                                      \
        va_start(arguments, format);                            \
        add(answer, kind, host_words(format, arguments), 0);    \
        va_end(arguments);                                      \
    }

WITH_WORDS(host_answer_stop, HOST_DECIDE_STOP)
WITH_WORDS(host_answer_end_epoch, HOST_DECIDE_END_EPOCH)
WITH_WORDS(host_answer_skip, HOST_DECIDE_SKIP)
WITH_WORDS(host_answer_note, HOST_DECIDE_NOTE)

void host_answer_evaluate(host_answer *answer) {
    add(answer, HOST_DECIDE_EVALUATE, (plugin_string_t){NULL, 0}, 0);
}

void host_answer_log(host_answer *answer) {
    add(answer, HOST_DECIDE_LOG, (plugin_string_t){NULL, 0}, 0);
}

void host_answer_save(host_answer *answer, const char *tag) {
    add(answer, HOST_DECIDE_SAVE, host_copy(tag), 0);
}

void host_answer_restore(host_answer *answer, const char *tag) {
    add(answer, HOST_DECIDE_RESTORE, host_copy(tag), 0);
}

void host_answer_mute(host_answer *answer, const char *name) {
    add(answer, HOST_DECIDE_MUTE, host_copy(name), 0);
}

void host_answer_set(host_answer *answer, const char *knob, double value) {
    add(answer, HOST_DECIDE_SET, host_copy(knob), value);
}

void host_answer_scale(host_answer *answer, const char *knob, double factor) {
    add(answer, HOST_DECIDE_SCALE, host_copy(knob), factor);
}

void host_answer_report(host_answer *answer, const char *name, double value) {
    add(answer, HOST_DECIDE_REPORT, host_copy(name), value);
}

void host_answer_fail(host_answer *answer, const char *format, ...) {
    if (answer->has_failed) return;
    va_list arguments;
    va_start(arguments, format);
    answer->error = host_words(format, arguments);
    va_end(arguments);
    answer->has_failed = true;
}

void host_every(host_subscriptions *subscriptions, uint32_t n, host_hook hook, const char *const *reads) {
    size_t bytes = sizeof *subscriptions->list;
    subscriptions->list = with_room(subscriptions->list, subscriptions->count, &subscriptions->room, bytes);
    exports_train_host_callback_callback_subscription_t *added = &subscriptions->list[subscriptions->count++];
    added->hook = (uint8_t)hook;
    added->every = n;
    added->reads = host_copy_all(reads);
}

void host_on(host_subscriptions *subscriptions, host_hook hook, const char *const *reads) {
    host_every(subscriptions, 1, hook, reads);
}
