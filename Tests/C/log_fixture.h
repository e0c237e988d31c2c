/*
 * log_fixture.h: one small dead log, built by hand, and what reading it must give: two sealed segments, one that is
 * not, and a ring with records that none of them has. Its tests damage it and hold what they read against this.
 */
#ifndef WEIR_TESTS_LOG_FIXTURE_H
#define WEIR_TESTS_LOG_FIXTURE_H

#include "log_builder.h"

#define OPENING UINT64_C(0x0123456789abcdef)
#define FIRST_NAME "00000000000000000000.weir"
#define SECOND_NAME "00000000000000000008.weir"
#define LAST_NAME "00000000000000000014.weir.active"

/* An event that the log holds. */
typedef struct expected {
  uint64_t offset;
  uint64_t sequence;
  uint64_t value; /* UINT64_MAX: a notice */
  uint64_t file;  /* 0 to 2: the segment; 3: the ring */
  uint64_t from, to; /* its block in the file */
} expected;

typedef struct fixture {
  char *path;
  built first, second, last;
  uint64_t last_used; /* bytes of `last` before its zeros */
  built_ring ring;
  expected events[64];
  uint64_t count;
} fixture;

static const char *const names[] = {FIRST_NAME, SECOND_NAME, LAST_NAME, RING_NAME};

static inline void expect_block(fixture *fixture, const built *file, uint64_t index, uint32_t lane, uint64_t position,
                         uint64_t value, uint32_t count, uint64_t from) {
  for (uint32_t i = 0; i < count; i++) {
    expected *event = &fixture->events[fixture->count++];
    uint8_t record[128];
    uint64_t size = lane == NOTICE_LANE ? 0 : built_record(record, OPENING, lane, position, value + i);
    event->offset = file->next_offset - count + i;
    event->sequence = (uint64_t)lane << 48 | (lane == NOTICE_LANE ? event->offset : position / 8);
    event->value = lane == NOTICE_LANE ? UINT64_MAX : value + i;
    event->file = index;
    event->from = from;
    event->to = file->count;
    position += size;
  }
}

static inline void put_events(fixture *fixture, built *file, uint64_t index, uint32_t lane, uint64_t *position,
                              uint64_t value, uint32_t count) {
  uint64_t before = *position, from = file->count;
  built_events(file, lane, position, value, count);
  expect_block(fixture, file, index, lane, before, value, count, from);
}

static inline void put_gap(fixture *fixture, built *file, uint64_t index, uint64_t dropped, uint64_t total) {
  uint64_t from = file->count;
  built_gap(file, 0, dropped, total);
  expect_block(fixture, file, index, NOTICE_LANE, 0, 0, 1, from);
}

/* What the ring holds beyond the segments: three events, and refusals that make two gap records. */
static inline void fill_ring(fixture *fixture, const uint64_t at[BUILT_LANES]) {
  built_ring *ring = &fixture->ring;
  built_ring_begin(ring, OPENING, 0);
  ring->header->log_end = fixture->last.next_offset;
  uint64_t starts[BUILT_LANES] = {100, 200, 300}, ends[BUILT_LANES] = {109, 206, 303};
  for (uint32_t lane = 0; lane < BUILT_LANES; lane++) {
    for (uint64_t value = starts[lane]; value < ends[lane]; value++) built_ring_record(ring, lane, value);
    CHECK_EQUAL(ring->control[lane]->tail, at[lane]);
    ring->control[lane]->head = ring->control[lane]->tail;
  }
  built_ring_record(ring, 0, 109);
  built_ring_record(ring, 2, 303);
  built_ring_record(ring, 2, 304);
  ring->control[0]->dropped[WEIR_DROP_FULL - 1] = 7; /* all of them in the log, though the ring does not know */
  ring->control[0]->reported[WEIR_DROP_FULL - 1] = 5;
  ring->control[1]->dropped[WEIR_DROP_TOO_LARGE - 1] = 3;
  ring->header->unlaned_dropped[WEIR_DROP_NO_LANE] = 9;
  ring->header->unlaned_reported[WEIR_DROP_NO_LANE] = 1;
  uint64_t offset = fixture->last.next_offset;
  const struct { uint64_t lane, position, value; } rest[] = {
      {0, at[0], 109}, {2, at[2], 303}, {2, at[2] + record_size(12 + 303 % 13), 304}};
  for (int i = 0; i < 3; i++) {
    fixture->events[fixture->count++] = (expected){.offset = offset++,
                                                   .sequence = rest[i].lane << 48 | rest[i].position / 8,
                                                   .value = rest[i].value,
                                                   .file = 3};
  }
  for (int i = 0; i < 2; i++, offset++) {
    fixture->events[fixture->count++] = (expected){
        .offset = offset, .sequence = (uint64_t)NOTICE_LANE << 48 | offset, .value = UINT64_MAX, .file = 3};
  }
}

/* Offsets 0 to 7, 8 to 13 and 14 to 19 in the segments, 20 to 24 in the ring. */
static inline void build(fixture *fixture) {
  memset(fixture, 0, sizeof *fixture);
  fixture->path = scratch();
  uint64_t at[BUILT_LANES] = {0};
  built_begin(&fixture->first, OPENING, 0, at, NULL, 0);
  built_define(&fixture->first);
  put_events(fixture, &fixture->first, 0, 0, &at[0], 100, 3);
  put_events(fixture, &fixture->first, 0, 1, &at[1], 200, 4);
  put_gap(fixture, &fixture->first, 0, 5, 5);
  built_seal(&fixture->first);

  built_begin(&fixture->second, OPENING, 8, at, &fixture->first, 0);
  built_define(&fixture->second);
  put_events(fixture, &fixture->second, 1, 1, &at[1], 204, 2);
  put_events(fixture, &fixture->second, 1, 0, &at[0], 103, 4);
  built_seal(&fixture->second);

  built_begin(&fixture->last, OPENING, 14, at, &fixture->second, 8);
  built_define(&fixture->last);
  put_events(fixture, &fixture->last, 2, 0, &at[0], 107, 2);
  put_gap(fixture, &fixture->last, 2, 2, 7);
  put_events(fixture, &fixture->last, 2, 2, &at[2], 300, 3);
  fixture->last_used = fixture->last.count;

  fill_ring(fixture, at);
  built_put(&fixture->last, NULL, 65536 - fixture->last.count);
}

static const built *file_of(const fixture *fixture, uint64_t index) {
  return index == 0 ? &fixture->first : index == 1 ? &fixture->second : &fixture->last;
}

/* Bytes of a file that say something: without the zeros at the end of the segment that is not sealed. */
static inline uint64_t used_bytes(const fixture *fixture, uint64_t index) {
  return index == 3 ? fixture->ring.count : index == 2 ? fixture->last_used : file_of(fixture, index)->count;
}

static inline void write_log(const fixture *fixture) {
  for (uint64_t i = 0; i < 3; i++) {
    write_file(join(fixture->path, names[i]), file_of(fixture, i)->bytes, file_of(fixture, i)->count);
  }
  write_file(join(fixture->path, RING_NAME), fixture->ring.bytes, fixture->ring.count);
  write_file(join(fixture->path, LOCK_NAME), "", 0);
}

static inline void clear(const fixture *fixture) {
  remove_tree(fixture->path);
  REQUIRE(mkdir(fixture->path, 0700) == 0);
}

static inline void demolish(fixture *fixture) {
  scratch_remove(fixture->path);
  built_free(&fixture->first);
  built_free(&fixture->second);
  built_free(&fixture->last);
  free(fixture->ring.bytes);
}

/* ---- What was read ---------------------------------------------------------------------------------------------- */

typedef struct reading {
  uint8_t seen[64];     /* of fixture->events, by index: at its offset */
  uint8_t moved[64];    /* its id and content, at another offset */
  uint64_t wrong;       /* events that nobody captured */
  uint64_t notices_new; /* notices that the whole log has not */
  uint64_t skips;
  uint64_t missing;     /* offsets that skips tell of */
  uint64_t disorder;    /* offsets that do not grow */
  weir_status end;
  char message[1024];
} reading;

static inline int holds_value(const weir_event *event, uint64_t value) {
  uint8_t payload[64];
  uint64_t bytes = built_payload(payload, value);
  return event->payload_bytes == bytes && memcmp(event->payload, payload, bytes) == 0 && event->name_bytes == 5 &&
         memcmp(event->name, "built", 5) == 0 && event->field_count == 2 && event->fields && event->definition &&
         event->time_ns == built_time(value) && event->type == BUILT_TYPE;
}

static inline void take_event(const fixture *fixture, reading *reading, const weir_event *event) {
  int notice = event->id.sequence >> 48 == NOTICE_LANE;
  for (uint64_t i = 0; i < fixture->count; i++) {
    const expected *wanted = &fixture->events[i];
    if (event->id.opening != OPENING) continue;
    if (notice ? wanted->value != UINT64_MAX || wanted->offset != event->offset
               : wanted->value == UINT64_MAX || wanted->sequence != event->id.sequence) {
      continue;
    }
    if (!notice && !holds_value(event, wanted->value)) break;
    if (wanted->offset == event->offset) reading->seen[i]++;
    else reading->moved[i]++;
    return;
  }
  if (notice && (event->type == WEIR_TYPE_HOLE || event->type == WEIR_TYPE_GAP)) reading->notices_new++;
  else reading->wrong++;
}

static inline void read_on(const fixture *fixture, weir_reader *reader, reading *reading, uint64_t *next) {
  weir_event event;
  weir_skip skip;
  weir_error error;
  for (int calls = 0; calls < 100000; calls++) {
    reading->end = weir_reader_next(reader, &event, &skip, &error);
    if (reading->end == WEIR_SKIPPED) {
      reading->skips++;
      reading->missing += skip.count;
      if (skip.count > 0) {
        if (skip.first_offset < *next) reading->disorder++;
        *next = skip.first_offset + skip.count;
      }
      continue;
    }
    if (reading->end != WEIR_OK) {
      if (reading->end != WEIR_END) snprintf(reading->message, sizeof reading->message, "%s", error.message);
      return;
    }
    if (event.offset < *next) reading->disorder++;
    *next = event.offset + 1;
    take_event(fixture, reading, &event);
  }
  reading->disorder++; /* it never ends */
}

static inline reading read_log(const fixture *fixture, uint64_t from) {
  reading reading = {0};
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from;
  weir_reader *reader;
  weir_error error;
  reading.end = weir_reader_open(fixture->path, &options, &reader, &error);
  if (reading.end != WEIR_OK) {
    snprintf(reading.message, sizeof reading.message, "%s", error.message);
    return reading;
  }
  uint64_t next = from;
  read_on(fixture, reader, &reading, &next);
  weir_reader_close(reader);
  return reading;
}

/* How often each wanted event was seen is 1, those that `lost` says may be missing excepted. */
static inline int all_but(const fixture *fixture, const reading *reading, int (*lost)(const expected *, const void *),
                   const void *context) {
  for (uint64_t i = 0; i < fixture->count; i++) {
    int times = reading->seen[i] + reading->moved[i];
    if (lost && lost(&fixture->events[i], context)) {
      if (times > 1) return 0;
    } else if (reading->seen[i] != 1 || reading->moved[i] != 0) {
      return 0;
    }
  }
  return reading->wrong == 0 && reading->disorder == 0;
}

typedef struct findings {
  uint64_t count;
  uint64_t named; /* of them, about the file that was damaged */
  const char *name;
  weir_finding last;
} findings;

static inline void take_finding(void *context, const weir_finding *finding) {
  findings *findings = context;
  findings->count++;
  if (findings->name && strcmp(finding->file, findings->name) == 0) findings->named++;
  findings->last = *finding;
}

static inline findings verify(const fixture *fixture, const char *name, weir_verification *sums) {
  findings findings = {.name = name};
  weir_verification unwanted;
  weir_error error;
  weir_status status = weir_verify(fixture->path, take_finding, &findings, sums ? sums : &unwanted, &error);
  if (status != WEIR_OK) {
    fprintf(stderr, "verify: %s\n", error.message);
    findings.count = UINT64_MAX;
  }
  return findings;
}

#endif
