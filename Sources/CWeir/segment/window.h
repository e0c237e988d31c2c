/*
 * window.h: a stretch of a segment, or of any file, in memory, read ahead of what is asked for: a piece after the other
 * costs a system call for many, one here and there costs little more than itself. It is a copy: what the file has there
 * by now may differ, so what looks wrong in it has to be looked at anew (window_forget).
 *
 * Memory: at most the largest piece that was asked for or READ_AHEAD_MOST, and a header.
 */
#ifndef WEIR_WINDOW_H
#define WEIR_WINDOW_H

#include "system/names.h"

#include <stdint.h>

enum { READ_AHEAD_LEAST = 4 << 10, READ_AHEAD_MOST = 256 << 10 };

/* Starts as all zeros. */
typedef struct window {
  uint8_t *bytes; /* [from, from + count) of the source */
  uint64_t room;
  uint64_t from;
  uint64_t count;
  uint64_t ahead; /* how much the last read took; doubles while pieces follow on one another */
} window;

/* Reads from what is in the window: how many bytes there are, fewer only at its end, or a negative errno. */
typedef int64_t window_read(const void *source, void *bytes, uint64_t count, uint64_t at);

/*
 * The `wanted` bytes at `position` of the source: how many of them there are, fewer only where it ends, or a
 * negative errno. `*bytes` is their address, a multiple of 8 if the position is one, valid until the next call. A read
 * that it takes includes the `next` bytes after them.
 */
int64_t window_get(window *window, window_read *read, const void *source, uint64_t position, uint64_t wanted,
                   uint64_t next, const uint8_t **bytes);

/* The next window_get reads anew. */
void window_forget(window *window);

void window_free(window *window);

#endif
