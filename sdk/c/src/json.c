/**
 * @file
 * Reads the configuration: a JSON object, whose values are numbers, words, truths, or kept as they stand.
 * Does not know which settings there are; `config.c` asks for them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/** Lists within lists, at most: the reader calls itself. */
#define MAX_DEPTH 64

/** What is left to read. */
struct reader {
    const char *at;
};

static void skip_space(struct reader *reader) {
    reader->at += strspn(reader->at, " \t\r\n");
}

static bool take(struct reader *reader, const char *word) {
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

/** Four hexadecimal digits, or -1. */
static long take_unit(struct reader *reader) {
    long unit = 0;
    for (int digit = 0; digit < 4; digit++) {
        const char *digits = "0123456789abcdef", *found;
        char lower = (char)(*reader->at | 0x20);
        if (*reader->at == 0 || (found = strchr(digits, *reader->at <= '9' ? *reader->at : lower)) == NULL) return -1;
        unit = unit * 16 + (found - digits);
        reader->at++;
    }
    return unit;
}

static char *put_utf8(char *to, unsigned long code) {
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | code >> (6 * more));
    while (more-- > 0) *to++ = (char)(0x80 | (code >> (6 * more) & 0x3f));
    return to;
}

/** What stands behind a backslash. */
static bool take_escape(struct reader *reader, char **to) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (*reader->at == 0) return false;
    char name = *reader->at++;
    const char *found = strchr(names, name);
    if (found != NULL) {
        *(*to)++ = meanings[found - names];
        return true;
    }
    long code = name == 'u' ? take_unit(reader) : -1;
    if (code >= 0xd800 && code < 0xdc00) {
        long second = take(reader, "\\u") ? take_unit(reader) : -1;
        code = second >= 0xdc00 && second < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00) : -1;
    }
    // A zero byte would end the text in C.
    if (code <= 0 || (code >= 0xdc00 && code < 0xe000)) return false;
    *to = put_utf8(*to, (unsigned long)code);
    return true;
}

/** Words in quotation marks, or `NULL`. */
static char *take_text(struct reader *reader) {
    if (!take(reader, "\"")) return NULL;
    // The text is never longer than what is written.
    char *text = host_allocate(strlen(reader->at) + 1), *to = text;
    while (*reader->at != '"') {
        if ((unsigned char)*reader->at < 0x20) goto wrong;
        if (*reader->at != '\\') *to++ = *reader->at++;
        else if (reader->at++, !take_escape(reader, &to)) goto wrong;
    }
    reader->at++;
    *to = 0;
    return host_reallocate(text, (size_t)(to - text) + 1);
wrong:
    free(text);
    return NULL;
}

static bool take_number(struct reader *reader, double *number) {
    const char *start = reader->at;
    take(reader, "-");
    size_t digits = strspn(reader->at, "0123456789");
    if (digits == 0) return false;
    char *end;
    *number = strtod(start, &end);
    // strtod reads more than JSON allows: hexadecimal digits.
    if (memchr(start, 'x', (size_t)(end - start)) != NULL) return false;
    reader->at = end;
    return true;
}

static bool skip_value(struct reader *reader, int depth);

/** The rest of a list or a table, whose bracket was taken. */
static bool skip_list(struct reader *reader, bool has_keys, const char *end, int depth) {
    skip_space(reader);
    if (take(reader, end)) return true;
    do {
        if (has_keys) {
            skip_space(reader);
            char *key = take_text(reader);
            free(key);
            skip_space(reader);
            if (key == NULL || !take(reader, ":")) return false;
        }
        if (!skip_value(reader, depth)) return false;
        skip_space(reader);
    } while (take(reader, ","));
    return take(reader, end);
}

static bool take_value(struct reader *reader, struct host_setting *setting, int depth) {
    skip_space(reader);
    const char *start = reader->at;
    if (take(reader, "null")) setting->kind = HOST_NULL;
    else if (take(reader, "true") || take(reader, "false")) {
        setting->kind = HOST_BOOLEAN;
        setting->boolean = *start == 't';
    } else if (*start == '"') {
        setting->kind = HOST_TEXT;
        setting->text = take_text(reader);
        return setting->text != NULL;
    } else if (*start == '[' || *start == '{') {
        bool has_keys = *reader->at++ == '{';
        setting->kind = HOST_JSON;
        if (depth == MAX_DEPTH || !skip_list(reader, has_keys, has_keys ? "}" : "]", depth + 1)) return false;
    } else {
        setting->kind = HOST_NUMBER;
        if (!take_number(reader, &setting->number)) return false;
    }
    plugin_string_t json = {(uint8_t *)start, (size_t)(reader->at - start)};
    setting->text = host_allocate(json.len + 1);
    memcpy(setting->text, json.ptr, json.len);
    setting->text[json.len] = 0;
    return true;
}

static bool skip_value(struct reader *reader, int depth) {
    struct host_setting ignored = {0};
    bool is_good = take_value(reader, &ignored, depth);
    free(ignored.text);
    return is_good;
}

static bool take_setting(struct reader *reader, host_config *config) {
    size_t bytes = (config->count + 1) * sizeof *config->settings;
    config->settings = host_reallocate(config->settings, bytes);
    struct host_setting *setting = &config->settings[config->count];
    *setting = (struct host_setting){0};
    skip_space(reader);
    setting->key = take_text(reader);
    if (setting->key == NULL) return false;
    skip_space(reader);
    if (!take(reader, ":") || !take_value(reader, setting, 0)) return false;
    config->count++;
    skip_space(reader);
    return true;
}

void host_config_open(host_config *config, const char *json) {
    struct reader reader = {json};
    skip_space(&reader);
    if (*reader.at == 0) return;
    bool is_good = take(&reader, "{");
    skip_space(&reader);
    if (is_good && !take(&reader, "}")) {
        do is_good = take_setting(&reader, config);
        while (is_good && take(&reader, ","));
        is_good = is_good && take(&reader, "}");
    }
    skip_space(&reader);
    if (!is_good || *reader.at != 0) host_config_refuse(config, "it is not a JSON object: see `%.20s`", reader.at);
}
