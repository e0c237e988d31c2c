/* window.c: see window.h. */
#include "segment/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_room(window *window, uint64_t bytes) {
  if (bytes <= window->room) return 0;
  uint8_t *grown = realloc(window->bytes, bytes);
  if (!grown) return -ENOMEM;
  window->bytes = grown;
  window->room = bytes;
  return 0;
}

/* Moves the window to `position`: keeps what it has of the `bytes` there, reads the rest. 0 or a negative errno. */
static int move(window *window, window_read *read, const void *source, uint64_t position, uint64_t bytes) {
  uint64_t kept = 0;
  int follows = position >= window->from && position - window->from <= window->count && window->count > 0;
  if (follows) {
    kept = window->count - (position - window->from);
    window->ahead = window->ahead < READ_AHEAD_MOST / 2 ? window->ahead * 2 : READ_AHEAD_MOST;
  } else {
    window->ahead = READ_AHEAD_LEAST;
  }
  if (bytes < window->ahead) bytes = window->ahead;
  int error = make_room(window, bytes);
  if (error != 0) return error;
  if (kept > 0) memmove(window->bytes, window->bytes + (position - window->from), kept);
  window->from = position;
  window->count = kept;
  int64_t got = read(source, window->bytes + kept, bytes - kept, position + kept);
  if (got < 0) return (int)got;
  window->count += (uint64_t)got;
  return 0;
}

int64_t window_get(window *window, window_read *read, const void *source, uint64_t position, uint64_t wanted,
                   uint64_t next, const uint8_t **bytes) {
  uint64_t at = position - window->from; /* beyond the window's end, too, where the position lies before it */
  if (at > window->count || window->count - at < wanted) {
    int error = move(window, read, source, position, wanted + next);
    if (error != 0) return error;
    at = 0;
  }
  *bytes = window->bytes + at;
  uint64_t there = window->count - at;
  return (int64_t)(there < wanted ? there : wanted);
}

void window_forget(window *window) { window->count = 0; }

void window_free(window *window) {
  free(window->bytes);
  memset(window, 0, sizeof *window);
}
