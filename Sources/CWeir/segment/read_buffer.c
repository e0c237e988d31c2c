/* read_buffer.c: see read_buffer.h. */
#include "segment/read_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_room(read_buffer *buffer, uint64_t bytes) {
  if (bytes <= buffer->room) return 0;
  uint8_t *grown = (uint8_t *)realloc(buffer->bytes, bytes);
  if (!grown) return -ENOMEM;
  buffer->bytes = grown;
  buffer->room = bytes;
  return 0;
}

/* Moves the buffer to `position`. Keeps the bytes that it has, and reads the rest. 0 or a negative errno. */
static int move(read_buffer *buffer, read_buffer_read *read, const void *source, uint64_t position, uint64_t bytes) {
  uint64_t kept = 0;
  int follows = position >= buffer->from && position - buffer->from <= buffer->count && buffer->count > 0;
  if (follows) {
    kept = buffer->count - (position - buffer->from);
    buffer->ahead = buffer->ahead < READ_AHEAD_MOST / 2 ? buffer->ahead * 2 : (uint64_t)READ_AHEAD_MOST;
  } else {
    buffer->ahead = READ_AHEAD_LEAST;
  }
  if (bytes < buffer->ahead) bytes = buffer->ahead;
  int error = make_room(buffer, bytes);
  if (error != 0) return error;
  if (kept > 0) memmove(buffer->bytes, buffer->bytes + (position - buffer->from), kept);
  buffer->from = position;
  buffer->count = kept;
  int64_t got = read(source, buffer->bytes + kept, bytes - kept, position + kept);
  if (got < 0) return (int)got;
  buffer->count += (uint64_t)got;
  return 0;
}

int64_t read_buffer_get(read_buffer *buffer, read_buffer_read *read, const void *source, uint64_t position,
                        uint64_t wanted, uint64_t next, const uint8_t **bytes) {
  uint64_t at = position - buffer->from; /* a position before the buffer is beyond its end, too */
  if (at > buffer->count || buffer->count - at < wanted) {
    int error = move(buffer, read, source, position, wanted + next);
    if (error != 0) return error;
    at = 0;
  }
  *bytes = buffer->bytes + at;
  uint64_t there = buffer->count - at;
  return (int64_t)(there < wanted ? there : wanted);
}

void read_buffer_forget(read_buffer *buffer) { buffer->count = 0; }

void read_buffer_free(read_buffer *buffer) {
  free(buffer->bytes);
  memset(buffer, 0, sizeof *buffer);
}
