/**
 * @file
 * What a callback is shown at a hook. Numbers come along with the event; vectors, words and the detail are asked of the
 * host by whoever wants them, once an event.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

host_event host_event_open(const exports_train_host_callback_callback_event_t *from, struct host_event_rest *rest) {
    const train_host_callback_types_progress_t *progress = &from->progress;
    *rest = (struct host_event_rest){.shape = from->shape};
    return (host_event){
        .hook = (host_hook)from->hook,
        .progress = {
            .step = progress->step,
            .has_total_steps = progress->total_steps.is_some,
            .total_steps = progress->total_steps.is_some ? progress->total_steps.val : 0,
            .epoch = progress->epoch,
            .samples = progress->samples,
            .tokens = progress->tokens,
        },
        .count = from->values.len,
        .values = from->values.ptr,
        .rest = rest,
    };
}

void host_event_close(struct host_event_rest *rest) {
    while (rest->fetched != NULL) {
        struct host_fetched *fetched = rest->fetched;
        rest->fetched = fetched->next;
        free(fetched->content);
        free(fetched);
    }
}

/** What the event's numbers are called. */
static const char *const *names_of(const host_event *event) {
    struct host_event_rest *rest = event->rest;
    if (rest->names == NULL) rest->names = host_shape_names(rest->shape);
    return rest->names;
}

const char *host_event_name(const host_event *event, size_t index) {
    return names_of(event)[index];
}

/** Whether a name that ends with a zero byte is the other one. */
static bool is_same(const char *known, const char *name, size_t length) {
    return strncmp(known, name, length) == 0 && known[length] == 0;
}

size_t host_event_find(const host_event *event, const char *name, size_t length) {
    const char *const *names = names_of(event);
    // They come in the order of subscriptions, in which they are read too as a rule.
    size_t place = event->rest->next;
    if (place >= event->count || !is_same(names[place], name, length)) {
        for (place = 0; place < event->count && !is_same(names[place], name, length);) place++;
        if (place == event->count) return SIZE_MAX;
    }
    event->rest->next = place + 1;
    return place;
}

bool host_event_get(const host_event *event, const char *name, double *value) {
    size_t place = host_event_find(event, name, strlen(name));
    if (place != SIZE_MAX) *value = event->values[place];
    return place != SIZE_MAX;
}

bool host_event_get_or_tell(const host_event *event, const char *name, double *value, bool *told, host_answer *answer) {
    if (host_event_get(event, name, value)) return true;
    if (!*told) {
        host_log_warn("%s is not known here, so nothing was checked", name);
        host_answer_note(answer, "%s is not known here, so nothing was checked", name);
    }
    *told = true;
    return false;
}

/** What was fetched already, or a new place for it. `is_new` says which. */
static struct host_fetched *fetched(const host_event *event, char kind, uint32_t key, bool *is_new) {
    struct host_fetched *found = event->rest->fetched;
    while (found != NULL && (found->kind != kind || found->key != key)) found = found->next;
    *is_new = found == NULL;
    if (*is_new) {
        found = host_allocate(sizeof *found);
        *found = (struct host_fetched){event->rest->fetched, kind, key, NULL, 0};
        event->rest->fetched = found;
    }
    return found;
}

const float *host_event_vector(const host_event *event, const char *name, size_t *count) {
    *count = 0;
    uint32_t key;
    if (!host_key_of(name, &key)) return NULL;
    bool is_new;
    struct host_fetched *vector = fetched(event, 'v', key, &is_new);
    plugin_list_f32_t values;
    if (is_new && train_host_callback_host_vector(key, &values)) {
        vector->count = values.len;
        // An empty vector is a vector too, and not `NULL`.
        vector->content = values.len == 0 ? host_allocate(0) : values.ptr;
    }
    *count = vector->count;
    return vector->content;
}

const char *host_event_text(const host_event *event, const char *name, size_t *length) {
    if (length != NULL) *length = 0;
    uint32_t key;
    if (!host_key_of(name, &key)) return NULL;
    bool is_new;
    struct host_fetched *text = fetched(event, 't', key, &is_new);
    plugin_string_t words;
    if (is_new && train_host_callback_host_text(key, &words)) {
        text->count = words.len;
        text->content = host_ended(words);
    }
    if (length != NULL) *length = text->count;
    return text->content;
}

const char *host_event_detail(const host_event *event) {
    bool is_new;
    struct host_fetched *detail = fetched(event, 'd', 0, &is_new);
    if (is_new) {
        plugin_string_t words;
        train_host_callback_host_detail(&words);
        detail->content = host_ended(words);
    }
    return detail->content;
}

/** The names of all measurements of one kind. */
static const char *const *names_of_kind(const host_event *event, char kind, void ask(plugin_list_u32_t *), size_t *count) {
    bool is_new;
    struct host_fetched *list = fetched(event, kind, 0, &is_new);
    if (is_new) {
        plugin_list_u32_t keys;
        ask(&keys);
        const char **names = host_allocate(keys.len * sizeof *names);
        for (size_t index = 0; index < keys.len; index++) names[index] = host_name_of(keys.ptr[index]);
        list->content = names;
        list->count = keys.len;
        plugin_list_u32_free(&keys);
    }
    *count = list->count;
    return list->content;
}

const char *const *host_event_vectors(const host_event *event, size_t *count) {
    return names_of_kind(event, 'V', train_host_callback_host_vectors, count);
}

const char *const *host_event_texts(const host_event *event, size_t *count) {
    return names_of_kind(event, 'T', train_host_callback_host_texts, count);
}
