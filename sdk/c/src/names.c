/**
 * @file
 * Names of measurements against their numbers in the run's catalog, each asked of the host once.
 * Does not know which measurements a run has: the host does.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/** What the catalog answered so far. Only found names are kept: a missing one may be reported later. */
static struct known {
    const char *name;
    uint32_t key;
} *all_known;
static size_t known_count;

static const char *remember(char *name, uint32_t key) {
    // In steps, so that a run with many names does not copy the list for each.
    if (known_count % 16 == 0) all_known = host_reallocate(all_known, (known_count + 16) * sizeof *all_known);
    all_known[known_count++] = (struct known){name, key};
    return name;
}

const char *host_name_of(uint32_t key) {
    for (size_t index = 0; index < known_count; index++) {
        if (all_known[index].key == key) return all_known[index].name;
    }
    plugin_string_t name;
    return train_host_callback_host_name_of(key, &name) ? remember(host_ended(name), key) : "";
}

bool host_key_of(const char *name, uint32_t *key) {
    for (size_t index = 0; index < known_count; index++) {
        if (strcmp(all_known[index].name, name) == 0) {
            *key = all_known[index].key;
            return true;
        }
    }
    plugin_string_t asked = host_copy(name);
    bool is_found = train_host_callback_host_key_of(&asked, key);
    if (is_found) remember(host_ended(asked), *key);
    else free(asked.ptr);
    return is_found;
}

/** So many shapes are remembered at one time. A callback has one or two for each of its hooks, as a rule. */
#define MAX_SHAPES 64

static struct shape {
    uint32_t number;
    const char **names;
} shapes[MAX_SHAPES];
static size_t shape_count;

const char *const *host_shape_names(uint32_t number) {
    for (size_t index = 0; index < shape_count; index++) {
        if (shapes[index].number == number) return shapes[index].names;
    }
    if (shape_count == MAX_SHAPES) {
        while (shape_count > 0) free(shapes[--shape_count].names);
    }
    plugin_list_u32_t keys;
    train_host_callback_host_keys(&keys);
    const char **names = host_allocate(keys.len * sizeof *names);
    for (size_t index = 0; index < keys.len; index++) names[index] = host_name_of(keys.ptr[index]);
    plugin_list_u32_free(&keys);
    shapes[shape_count++] = (struct shape){number, names};
    return names;
}
