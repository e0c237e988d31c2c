/*
 * capture_check.h: the event that the tests capture, and what a log must hold of it. Each event carries its producer's
 * number, a number that the producer counts up, and filler that follows from both, so that a reader can tell of any
 * event whether it is one that was captured, whole, once and in order.
 */
#ifndef WEIR_TESTS_CAPTURE_CHECK_H
#define WEIR_TESTS_CAPTURE_CHECK_H

#include "check.h"

enum { NUMBERED_BYTES = 20 }; /* of the fields, without the filler */

typedef struct found_event {
  uint64_t offset;
  weir_id id;
  uint64_t producer;
  uint64_t number;
  int64_t time_ns;
} found_event;

/* What a reading of a log gave. `gaps` sums what its gap records say was refused, by reason. */
typedef struct found_log {
  found_event *events;
  uint64_t count;
  uint64_t room;
  uint64_t notices;
  uint64_t gaps;
  uint64_t wrong;   /* events that nobody captured */
  uint64_t skipped; /* stretches that the reader passed over */
  weir_status end;  /* WEIR_END, or the error */
} found_log;

static inline uint8_t filler_byte(uint64_t producer, uint64_t number, uint64_t index) {
  return (uint8_t)(producer * 131 + number * 31 + index * 7);
}

static inline uint32_t define_numbered(weir_log *log) {
  const weir_field fields[] = {
      {"producer", WEIR_KIND_U64, 0}, {"number", WEIR_KIND_U64, 0}, {"filler", WEIR_KIND_BYTES, 0}};
  const weir_definition definition = {.name = "numbered", .fields = fields, .field_count = 3};
  uint32_t type = 0;
  weir_error error;
  if (!CHECK_EQUAL(weir_define(log, 0, &definition, 1, &type, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  return type;
}

/* Captures one event with `filler` bytes of filler (at most 4096). Answers what weir_begin or weir_commit answered. */
static inline int32_t capture_numbered(weir_log *log, uint32_t type, uint64_t producer, uint64_t number,
                                       uint64_t filler, weir_id *id) {
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  char bytes[4096];
  for (uint64_t i = 0; i < filler; i++) bytes[i] = (char)filler_byte(producer, number, i);
  weir_put_u64(&record, producer);
  weir_put_u64(&record, number);
  weir_put_string(&record, bytes, filler);
  return weir_commit(&record, type, id);
}

static inline int take_numbered(const weir_event *event, found_event *found) {
  uint32_t filler;
  if (event->payload_bytes < NUMBERED_BYTES) return 0;
  memcpy(&found->producer, event->payload, 8);
  memcpy(&found->number, event->payload + 8, 8);
  memcpy(&filler, event->payload + 16, 4);
  if (event->payload_bytes != (uint64_t)NUMBERED_BYTES + filler) return 0;
  for (uint64_t i = 0; i < filler; i++) {
    if (event->payload[NUMBERED_BYTES + i] != filler_byte(found->producer, found->number, i)) return 0;
  }
  return 1;
}

/*
 * weir.gap: lane u32, reason string, dropped u64, total u64. Refusals by a log that is being closed are left out: those
 * that come before its last block are in the log, those that come after can't be.
 */
static inline uint64_t take_gap(const weir_event *event) {
  uint32_t reason_bytes;
  uint64_t dropped;
  if (event->payload_bytes < 24) return 0;
  memcpy(&reason_bytes, event->payload + 4, 4);
  if (event->payload_bytes != 24 + (uint64_t)reason_bytes) return 0;
  const char *closed = weir_drop_name(WEIR_DROP_CLOSED);
  if (reason_bytes == strlen(closed) && memcmp(event->payload + 8, closed, reason_bytes) == 0) return 0;
  memcpy(&dropped, event->payload + 8 + reason_bytes, 8);
  return dropped;
}

static inline int name_is(const weir_event *event, const char *name) {
  return event->name_bytes == strlen(name) && memcmp(event->name, name, event->name_bytes) == 0;
}

static inline void take_event(found_log *found, const weir_event *event) {
  if (event->name_bytes >= 5 && memcmp(event->name, "weir.", 5) == 0) {
    found->notices++;
    if (name_is(event, "weir.gap")) found->gaps += take_gap(event);
    return;
  }
  found_event one = {.offset = event->offset, .id = event->id, .time_ns = event->time_ns};
  if (!name_is(event, "numbered") || !take_numbered(event, &one)) {
    found->wrong++;
    return;
  }
  if (found->count == found->room) {
    found->room = found->room ? found->room * 2 : 1024;
    found->events = realloc(found->events, found->room * sizeof *found->events);
    REQUIRE(found->events);
  }
  found->events[found->count++] = one;
}

/* Reads a whole log. The result is to be given to found_free. */
static inline found_log read_log(const char *directory) {
  found_log found = {0};
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  weir_error error;
  found.end = weir_reader_open(directory, &options, &reader, &error);
  if (found.end != WEIR_OK) {
    fprintf(stderr, "%s: reading: %s\n", test_name, error.message);
    return found;
  }
  weir_event event;
  weir_skip skip;
  while ((found.end = weir_reader_next(reader, &event, &skip, &error)) <= WEIR_SKIPPED && found.end != WEIR_END) {
    if (found.end == WEIR_OK) take_event(&found, &event);
    if (found.end == WEIR_SKIPPED) found.skipped++;
  }
  weir_reader_close(reader);
  return found;
}

static inline void found_free(found_log *found) { free(found->events); }

/* What holds of every log of ours: read to its end, no event that nobody captured, offsets and ids never twice. */
static inline int compare_ids(const void *a, const void *b) {
  const weir_id *left = a, *right = b;
  if (left->opening != right->opening) return left->opening < right->opening ? -1 : 1;
  return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static inline void check_sound(const found_log *found) {
  CHECK_EQUAL(found->end, WEIR_END);
  CHECK_EQUAL(found->wrong, 0);
  CHECK_EQUAL(found->skipped, 0);
  uint64_t disorder = 0, twice = 0;
  weir_id *ids = malloc((found->count + 1) * sizeof *ids);
  REQUIRE(ids);
  for (uint64_t i = 0; i < found->count; i++) {
    ids[i] = found->events[i].id;
    disorder += i > 0 && found->events[i].offset <= found->events[i - 1].offset;
  }
  qsort(ids, found->count, sizeof *ids, compare_ids);
  for (uint64_t i = 1; i < found->count; i++) twice += compare_ids(&ids[i - 1], &ids[i]) == 0;
  free(ids);
  CHECK_EQUAL(disorder, 0);
  CHECK_EQUAL(twice, 0);
}

/* Of each producer: how many events are there, and whether they are 0, 1, 2, … in this order. */
static inline uint64_t check_producer(const found_log *found, uint64_t producer) {
  uint64_t next = 0, disorder = 0;
  for (uint64_t i = 0; i < found->count; i++) {
    if (found->events[i].producer == producer) disorder += found->events[i].number != next++;
  }
  CHECK_EQUAL(disorder, 0);
  return next;
}

/* Opens with small lanes: full after a few dozen events. Null, and a failed check, where it does not open. */
static inline weir_log *open_small(const char *directory, uint64_t wait_ns, uint32_t lanes, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = lanes;
  options.spare_lanes = lanes > 2 ? 2 : 1;
  options.lane_bytes = 8192;
  options.overflow_bytes = 0;
  options.max_event_bytes = 1024;
  options.full_wait_ns = wait_ns;
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return NULL;
  }
  return log;
}

static inline weir_log *open_default(const char *directory, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return NULL;
  }
  return log;
}

static inline void close_and_free(weir_log *log) {
  weir_error error;
  if (!CHECK_EQUAL(weir_close(log, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  weir_free(log);
}

#endif
