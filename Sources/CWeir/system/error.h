/* error.h: filling in a weir_error. The message is one line: what failed, where, what to do. */
#ifndef WEIR_INTERNAL_ERROR_H
#define WEIR_INTERNAL_ERROR_H

#include "system/names.h"

#include "weir.h"

/* Weir's own error numbers, passed negative like an errno. They lie above all of Linux's. */
enum {
  BYTE_LIMIT_REACHED = 4100, /* max_bytes: NO_SPACE */
  MAPPING_LOST = 4101,       /* a mapped file was cut short, see weir_guard_install: IO */
  DESCRIPTOR_LOST = 4102     /* the host closed what the log has open, see sys_is_file: IO */
};

/* Fills `error` (may be null) and answers `status`. `path` may be null; `format` makes the whole message. */
weir_status fail(weir_error *error, weir_status status, int system_error, const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The status that stands for a negative errno of the sys_ calls. */
weir_status status_of(int negative_errno);

/*
 * The same from a system call's negative errno, with its name's remedy: "cannot <action> <directory>/<name>:
 * <strerror>; <remedy>". `name` may be null.
 */
weir_status fail_system(weir_error *error, int negative_errno, const char *action, const char *directory,
                        const char *name);

/* A file was written by a newer version. `name` may be null: some file of `directory`. */
weir_status fail_newer(weir_error *error, const char *directory, const char *name);

/* The files of a log came and went at each of many looks. */
weir_status fail_unsettled(weir_error *error, const char *action, const char *directory);

#endif
