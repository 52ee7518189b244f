/**
 * @file
 * What the library's files share. Not for authors.
 */
#ifndef HOST_SDK_INTERNAL_H
#define HOST_SDK_INTERNAL_H

#include <stdarg.h>

#include "../bindings/plugin.h"
#include "host_sdk.h"

/** Memory that is there: without any left, the call ends with a trap. */
void *host_allocate(size_t bytes);
void *host_reallocate(void *block, size_t bytes);

/** Words in the manner of `printf`, of their exact length, in memory of their own. */
plugin_string_t host_words(const char *format, va_list arguments);
/** A copy for the host, which frees it. */
plugin_string_t host_copy(const char *text);
/** Copies of a list of names, which ends with `NULL` or is `NULL`. */
plugin_list_string_t host_copy_all(const char *const *names);
/** The same words with a zero byte behind them. Takes them over. */
char *host_ended(plugin_string_t text);

/** The name of a number of the catalog; empty for one that it does not have. Lasts as long as the instance. */
const char *host_name_of(uint32_t key);
/** The number of a name in the catalog. */
bool host_key_of(const char *name, uint32_t *key);

/** What the numbers of events of this shape are called, in their order. Asked of the host at the first event. */
const char *const *host_shape_names(uint32_t number);

/** Makes an event of the host's; `host_event_close` frees what was asked for on the way. */
host_event host_event_open(const exports_train_host_callback_callback_event_t *from, struct host_event_rest *rest);
void host_event_close(struct host_event_rest *rest);

/** Something that the host gave and that lasts as long as the event. */
struct host_fetched {
    struct host_fetched *next;
    char kind; /**< `v` and `t` for values, `V` and `T` for lists of names, `d` for the detail. */
    uint32_t key;
    void *content;
    size_t count;
};

/** What an event has beside its numbers, as far as it was asked for. */
struct host_event_rest {
    uint32_t shape;
    const char *const *names; /**< Of the numbers, in their order; `NULL` before they were asked for. */
    size_t next;              /**< Where the next number is looked for first. */
    struct host_fetched *fetched;
};

struct host_answer {
    train_host_callback_types_decision_t *decisions;
    size_t count, room;
    plugin_string_t error;
    bool has_failed;
};

struct host_subscriptions {
    exports_train_host_callback_callback_subscription_t *list;
    size_t count, room;
};

/** One setting. */
struct host_setting {
    char *key;
    enum { HOST_NULL, HOST_NUMBER, HOST_BOOLEAN, HOST_TEXT, HOST_JSON } kind;
    double number;
    bool boolean;
    char *text; /**< Of a text its words, of everything else its JSON. */
    bool is_read;
};

struct host_config {
    struct host_setting *settings;
    size_t count;
    char *error; /**< The first mistake. */
};

/** Reads a flat JSON object; mistakes in it are the configuration's first. */
void host_config_open(host_config *config, const char *json);
/** Complains about keys that nobody asked for. */
void host_config_close(host_config *config);

#endif
