/**
 * @file
 * Memory and text: what every other file of the library needs of them.
 * Does not know what the words are about.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void *host_reallocate(void *block, size_t bytes) {
    void *larger = realloc(block, bytes == 0 ? 1 : bytes);
    if (larger == NULL) __builtin_trap();
    return larger;
}

void *host_allocate(size_t bytes) {
    return host_reallocate(NULL, bytes);
}

plugin_string_t host_words(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return host_copy(format);
    char *words = host_allocate((size_t)length + 1);
    vsnprintf(words, (size_t)length + 1, format, arguments);
    return (plugin_string_t){(uint8_t *)words, (size_t)length};
}

plugin_string_t host_copy(const char *text) {
    size_t length = text == NULL ? 0 : strlen(text);
    // The generated code does not free what is empty.
    if (length == 0) return (plugin_string_t){NULL, 0};
    return (plugin_string_t){memcpy(host_allocate(length), text, length), length};
}

plugin_list_string_t host_copy_all(const char *const *names) {
    plugin_list_string_t copies = {NULL, 0};
    while (names != NULL && names[copies.len] != NULL) copies.len++;
    if (copies.len > 0) copies.ptr = host_allocate(copies.len * sizeof *copies.ptr);
    for (size_t index = 0; index < copies.len; index++) copies.ptr[index] = host_copy(names[index]);
    return copies;
}

char *host_ended(plugin_string_t text) {
    // An empty text of the host's has no block of its own.
    char *ended = host_reallocate(text.len == 0 ? NULL : text.ptr, text.len + 1);
    ended[text.len] = 0;
    return ended;
}

/** The shortest text with an exponent that reads back as the number. Its digits are those of the result. */
static void shortest(double number, char *text, size_t room) {
    for (int digits = 0; digits < 17; digits++) {
        snprintf(text, room, "%.*e", digits, number);
        if (strtod(text, NULL) == number) return;
    }
}

const char *host_number_text(double number, char text[HOST_NUMBER_BYTES]) {
    if (isnan(number)) return strcpy(text, "NaN");
    if (isinf(number)) return strcpy(text, number > 0 ? "inf" : "-inf");
    char scientific[40], digits[20];
    shortest(fabs(number), scientific, sizeof scientific);
    char *exponent_at = strchr(scientific, 'e');
    int exponent = atoi(exponent_at + 1), count = 0;
    for (const char *from = scientific; from < exponent_at; from++) {
        if (*from != '.') digits[count++] = *from;
    }
    char *to = text;
    if (signbit(number)) *to++ = '-';
    // One digit stands before the point, or as many as the exponent says; zeros fill what the digits leave open.
    for (int place = exponent < 0 ? 0 : exponent; place >= 0 || exponent - place < count; place--) {
        int index = exponent - place;
        if (place == -1) *to++ = '.';
        *to++ = index >= 0 && index < count ? digits[index] : '0';
    }
    *to = 0;
    return text;
}

bool host_matches(const char *pattern, const char *name) {
    const char *star = strchr(pattern, '*');
    if (star == NULL) return strcmp(pattern, name) == 0;
    if (strncmp(pattern, name, (size_t)(star - pattern)) != 0) return false;
    name += star - pattern;
    // Each part between two stars is taken where it comes first, which leaves the most for those behind it.
    for (;;) {
        const char *part = star + 1, *next = strchr(part, '*');
        size_t left = strlen(name), length = next == NULL ? strlen(part) : (size_t)(next - part);
        if (next == NULL) return left >= length && strcmp(name + left - length, part) == 0;
        while (left >= length && strncmp(name, part, length) != 0) name++, left--;
        if (left < length) return false;
        name += length;
        star = next;
    }
}

static void write_line(uint8_t level, const char *format, va_list arguments) {
    plugin_string_t line = host_words(format, arguments);
    train_host_callback_host_log(level, &line);
    free(line.ptr);
}

#define LOG(name, level)                                        \
    void name(const char *format, ...) {                        \
        va_list arguments;                                      \
        va_start(arguments, format);                            \
        write_line(level, format, arguments);                   \
        va_end(arguments);                                      \
    }

LOG(host_log_debug, TRAIN_HOST_CALLBACK_HOST_LEVEL_DEBUG)
LOG(host_log_info, TRAIN_HOST_CALLBACK_HOST_LEVEL_INFO)
LOG(host_log_warn, TRAIN_HOST_CALLBACK_HOST_LEVEL_WARN)
LOG(host_log_error, TRAIN_HOST_CALLBACK_HOST_LEVEL_ERROR)
