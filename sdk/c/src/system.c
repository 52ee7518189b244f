/**
 * @file
 * The few things that the C library asks of a system. A callback has no system: what is printed becomes lines in the
 * host's log, and the rest gets fixed answers. The module then imports nothing but the contract, as the host demands.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/** WASI's numbers for "no error", "no such file" and "a terminal". */
enum { SUCCESS = 0, BAD_FILE = 8, CHARACTER_DEVICE = 2 };

/** A piece of what is written. */
struct piece {
    const char *bytes;
    size_t length;
};

/** The guard of the stack is seeded with this. Any number will do: the sandbox keeps an overflow harmless. */
int32_t __imported_wasi_snapshot_preview1_random_get(int32_t bytes, int32_t length) {
    memset((void *)(intptr_t)bytes, 0x5a, (size_t)length);
    return SUCCESS;
}

/** Standard output is information, standard error a warning; a line break at the end is what a log has anyway. */
int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t file, int32_t pieces, int32_t count, int32_t written) {
    if (file != 1 && file != 2) return BAD_FILE;
    const struct piece *piece = (const struct piece *)(intptr_t)pieces, *end = piece + count;
    plugin_string_t line = {NULL, 0};
    for (; piece < end; piece++) {
        if (piece->length == 0) continue;
        line.ptr = host_reallocate(line.ptr, line.len + piece->length);
        memcpy(line.ptr + line.len, piece->bytes, piece->length);
        line.len += piece->length;
    }
    *(size_t *)(intptr_t)written = line.len;
    if (line.len > 0 && line.ptr[line.len - 1] == '\n') line.len--;
    uint8_t level = file == 1 ? TRAIN_HOST_CALLBACK_HOST_LEVEL_INFO : TRAIN_HOST_CALLBACK_HOST_LEVEL_WARN;
    if (line.len > 0) train_host_callback_host_log(level, &line);
    free(line.ptr);
    return SUCCESS;
}

/** A terminal, so that `printf` writes at the end of each line and not when its buffer is full. */
int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(int32_t file, int32_t result) {
    if (file < 0 || file > 2) return BAD_FILE;
    memset((void *)(intptr_t)result, 0, 24);
    *(uint8_t *)(intptr_t)result = CHARACTER_DEVICE;
    return SUCCESS;
}

int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t file, int64_t offset, int32_t from, int32_t result) {
    return BAD_FILE;
}

int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t file) {
    return BAD_FILE;
}

/** Zig's C library does not go by the function above. */
int close(int file) {
    return -1;
}
