/**
 * @file
 * Settings by name, with the first mistake kept.
 * Does not read JSON; `json.c` has done that.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void host_config_refuse(host_config *config, const char *format, ...) {
    if (config->error != NULL) return;
    va_list arguments;
    va_start(arguments, format);
    config->error = host_ended(host_words(format, arguments));
    va_end(arguments);
}

/** The setting, if it has a value. */
static const struct host_setting *find(host_config *config, const char *key) {
    // From the end: of a key that is written twice the last one counts, as everywhere.
    for (size_t index = config->count; index-- > 0;) {
        struct host_setting *setting = &config->settings[index];
        if (strcmp(setting->key, key) != 0) continue;
        setting->is_read = true;
        return setting->kind == HOST_NULL ? NULL : setting;
    }
    return NULL;
}

/** What was written, for a message. */
static void expected(host_config *config, const struct host_setting *setting, const char *what) {
    const char *quote = setting->kind == HOST_TEXT ? "\"" : "";
    host_config_refuse(config, "%s is %s%s%s: it has to be %s", setting->key, quote, setting->text, quote, what);
}

bool host_config_has(host_config *config, const char *key) {
    return find(config, key) != NULL;
}

void host_config_require(host_config *config, const char *key) {
    if (!host_config_has(config, key)) host_config_refuse(config, "%s is missing", key);
}

double host_config_number(host_config *config, const char *key, double fallback) {
    const struct host_setting *setting = find(config, key);
    if (setting == NULL) return fallback;
    if (setting->kind == HOST_NUMBER) return setting->number;
    if (setting->kind == HOST_TEXT && strcmp(setting->text, "NaN") == 0) return NAN;
    if (setting->kind == HOST_TEXT && strcmp(setting->text, "Infinity") == 0) return INFINITY;
    if (setting->kind == HOST_TEXT && strcmp(setting->text, "-Infinity") == 0) return -INFINITY;
    expected(config, setting, "a number");
    return fallback;
}

uint64_t host_config_whole(host_config *config, const char *key, uint64_t fallback, uint64_t maximum) {
    const struct host_setting *setting = find(config, key);
    if (setting == NULL) return fallback;
    double number = setting->number;
    if (setting->kind == HOST_NUMBER && number >= 0 && number <= (double)maximum && number == floor(number)) {
        return (uint64_t)number;
    }
    char what[80], text[HOST_NUMBER_BYTES];
    strcpy(what, "a whole number from 0 to ");
    strcat(what, host_number_text((double)maximum, text));
    expected(config, setting, what);
    return fallback;
}

bool host_config_boolean(host_config *config, const char *key, bool fallback) {
    const struct host_setting *setting = find(config, key);
    if (setting == NULL) return fallback;
    if (setting->kind == HOST_BOOLEAN) return setting->boolean;
    expected(config, setting, "true or false");
    return fallback;
}

const char *host_config_text(host_config *config, const char *key, const char *fallback) {
    const struct host_setting *setting = find(config, key);
    if (setting == NULL) return fallback;
    if (setting->kind == HOST_TEXT) return setting->text;
    expected(config, setting, "words");
    return fallback;
}

size_t host_config_choice(host_config *config, const char *key, const char *const *choices, size_t fallback) {
    const struct host_setting *setting = find(config, key);
    if (setting == NULL) return fallback;
    size_t bytes = 8;
    for (size_t choice = 0; choices[choice] != NULL; choice++) {
        if (setting->kind == HOST_TEXT && strcmp(setting->text, choices[choice]) == 0) return choice;
        bytes += strlen(choices[choice]) + 2;
    }
    char *what = host_allocate(bytes);
    strcpy(what, "one of ");
    for (size_t choice = 0; choices[choice] != NULL; choice++) {
        if (choice > 0) strcat(what, ", ");
        strcat(what, choices[choice]);
    }
    expected(config, setting, what);
    free(what);
    return fallback;
}

const char *host_config_json(host_config *config, const char *key) {
    const struct host_setting *setting = find(config, key);
    if (setting == NULL) return NULL;
    if (setting->kind != HOST_TEXT) return setting->text;
    expected(config, setting, "a list or a table");
    return NULL;
}

void host_config_close(host_config *config) {
    for (size_t index = 0; index < config->count; index++) {
        const struct host_setting *setting = &config->settings[index];
        if (!setting->is_read) host_config_refuse(config, "%s is not a setting of this plugin", setting->key);
    }
}
