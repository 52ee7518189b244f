/*
 * What Go's runtime asks of a system, with fixed answers: a callback has no clock, no files and no chance. It keeps
 * nothing in memory. The adapter that is usual for WASI takes pages of memory for itself, which Go's runtime, sure to be
 * the only one that does, overwrites later.
 *
 *     zig cc --target=wasm32-freestanding -Oz -nostdlib -s -Wl,--no-entry -Wl,--import-memory \
 *         -o adapter.module adapter.c adapter_type.o
 *
 * adapter_type.o says that it imports the contract's host: wit-bindgen made it of the contract with one more world,
 * `world system { import host; }`.
 */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name))) int32_t name

/* WASI's numbers of errors. */
enum { SUCCESS = 0, BAD_FILE = 8, NOT_SUPPORTED = 52 };

__attribute__((import_module("train-host:callback/host@0.1.0"), import_name("log"))) void host_log(int32_t level,
                                                                                                  const char *line,
                                                                                                  int32_t length);

EXPORT(args_get)(char **arguments, char *bytes) { return SUCCESS; }
EXPORT(environ_get)(char **variables, char *bytes) { return SUCCESS; }
EXPORT(sched_yield)(void) { return SUCCESS; }
EXPORT(fd_close)(int32_t file) { return BAD_FILE; }
EXPORT(fd_fdstat_get)(int32_t file, char *result) { return BAD_FILE; }
EXPORT(fd_fdstat_set_flags)(int32_t file, int32_t flags) { return BAD_FILE; }
EXPORT(fd_filestat_get)(int32_t file, char *result) { return BAD_FILE; }
EXPORT(fd_prestat_get)(int32_t file, char *result) { return BAD_FILE; }
EXPORT(fd_prestat_dir_name)(int32_t file, char *path, int32_t length) { return BAD_FILE; }
EXPORT(fd_read)(int32_t file, void *pieces, int32_t count, int32_t *read) { return BAD_FILE; }
EXPORT(fd_seek)(int32_t file, int64_t offset, int32_t from, int64_t *result) { return BAD_FILE; }
EXPORT(poll_oneoff)(const void *subscriptions, void *events, int32_t count, int32_t *happened) { return NOT_SUPPORTED; }

EXPORT(args_sizes_get)(int32_t *count, int32_t *bytes) {
    *count = *bytes = 0;
    return SUCCESS;
}

EXPORT(environ_sizes_get)(int32_t *count, int32_t *bytes) {
    *count = *bytes = 0;
    return SUCCESS;
}

EXPORT(clock_time_get)(int32_t clock, int64_t precision, int64_t *nanoseconds) {
    *nanoseconds = 1;
    return SUCCESS;
}

/* Go seeds its hash tables with these; a callback that is the same on each run is what is wanted. */
EXPORT(random_get)(char *bytes, int32_t length) {
    for (int32_t index = 0; index < length; index++) ((volatile char *)bytes)[index] = (char)(index * 151 + 90);
    return SUCCESS;
}

struct piece {
    const char *bytes;
    int32_t length;
};

/* What a panic has to say, piece by piece, and whatever is printed. */
EXPORT(fd_write)(int32_t file, const struct piece *pieces, int32_t count, int32_t *written) {
    if (file != 1 && file != 2) return BAD_FILE;
    *written = 0;
    for (int32_t index = 0; index < count; index++) {
        int32_t length = pieces[index].length;
        *written += length;
        if (length > 0 && pieces[index].bytes[length - 1] == '\n') length--;
        if (length > 0) host_log(file == 1 ? 1 : 3, pieces[index].bytes, length);
    }
    return SUCCESS;
}

__attribute__((export_name("proc_exit"))) void proc_exit(int32_t code) { __builtin_trap(); }
