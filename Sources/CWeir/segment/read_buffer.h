/*
 * read_buffer.h: a stretch of a segment, or of any file, in memory, read ahead of what is asked for. Pieces that follow
 * on one another cost one system call for many; a piece here and there costs little more than its own read. The buffer
 * is a copy. The file may have changed since, so what looks wrong has to be read anew (read_buffer_forget).
 *
 * Memory: at most the largest piece that was asked for or READ_AHEAD_MOST, and a header.
 */
#ifndef WEIR_READ_BUFFER_H
#define WEIR_READ_BUFFER_H

#include "system/names.h"

#include <stdint.h>

enum { READ_AHEAD_LEAST = 4 << 10, READ_AHEAD_MOST = 256 << 10 };

/* Starts as all zeros. */
typedef struct read_buffer {
  uint8_t *bytes; /* [from, from + count) of the source */
  uint64_t room;
  uint64_t from;
  uint64_t count;
  uint64_t ahead; /* how much the last read took; doubles while pieces follow on one another */
} read_buffer;

/* Reads from what the buffer is of: how many bytes there are, fewer only at its end, or a negative errno. */
typedef int64_t read_buffer_read(const void *source, void *bytes, uint64_t count, uint64_t at);

/*
 * The `wanted` bytes at `position` of the source: how many of them there are, fewer only where it ends, or a
 * negative errno. `*bytes` is their address, a multiple of 8 if the position is one, valid until the next call. A read
 * that it takes includes the `next` bytes after them.
 */
int64_t read_buffer_get(read_buffer *buffer, read_buffer_read *read, const void *source, uint64_t position,
                        uint64_t wanted, uint64_t next, const uint8_t **bytes);

/* The next read_buffer_get reads anew. */
void read_buffer_forget(read_buffer *buffer);

void read_buffer_free(read_buffer *buffer);

#endif
