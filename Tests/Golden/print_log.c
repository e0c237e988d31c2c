/*
 * print_log.c: what the C reader finds in logs, in the form in which readers are compared. README.md has the form.
 *
 *     print_log <directories >lines
 */
#include <stdlib.h>
#include <string.h>

#include "print_event.h"

/* Offsets that no event has, one range for all that follow on one another. */
typedef struct range {
  uint64_t first, count;
  uint32_t removed;
} range;

static void print_range(range *range) {
  const char *what = range->removed ? "removed" : "missing";
  if (range->count > 0) printf("{\"%s\":%" PRIu64 ",\"count\":%" PRIu64 "}\n", what, range->first, range->count);
  range->count = 0;
}

static void add_skip(range *range, const weir_skip *skip) {
  if (skip->count == 0) return;
  if (range->count > 0 && range->removed == skip->removed && range->first + range->count == skip->first_offset) {
    range->count += skip->count;
    return;
  }
  print_range(range);
  range->first = skip->first_offset;
  range->count = skip->count;
  range->removed = skip->removed;
}

static void print_event(const weir_event *event) {
  printf("{\"offset\":%" PRIu64 ",\"id\":\"%016" PRIx64 "%016" PRIx64 "\",\"time_ns\":%" PRId64 ",\"event\":\"",
         event->offset, event->id.opening, event->id.sequence, event->time_ns);
  print_hex(stdout, event->name, event->name_bytes);
  fputs("\",", stdout);
  print_bytes(stdout, event);
}

static const char *end_of(weir_status status) {
  switch (status) {
    case WEIR_END: return "complete";
    case WEIR_ERROR_VERSION: return "newer";
    case WEIR_ERROR_MISSING: return "none";
    default: return weir_status_name(status);
  }
}

static void print_log(const char *directory) {
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  range range = {0};
  int damaged = 0;
  weir_status status = weir_reader_open(directory, NULL, &reader, NULL);
  if (status == WEIR_OK) {
    while ((status = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK || status == WEIR_SKIPPED) {
      if (status == WEIR_SKIPPED) {
        damaged |= !skip.removed && !strstr(skip.reason, "left out");
        add_skip(&range, &skip);
        continue;
      }
      print_range(&range);
      print_event(&event);
    }
    print_range(&range);
    weir_reader_close(reader);
  }
  printf("{\"end\":\"%s\",\"damaged\":%s}\n.\n", end_of(status), damaged ? "true" : "false");
  fflush(stdout);
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getline(&line, &room, stdin)) > 0) {
    if (line[length - 1] == '\n') line[length - 1] = 0;
    print_log(line);
  }
  free(line);
  return 0;
}
