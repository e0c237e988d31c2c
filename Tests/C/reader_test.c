/*
 * reader_test.c: the reading side against logs built by hand: scan, reader, verify and stat, whole and damaged. Every
 * single byte of the segments is changed, every length cut, every byte of the ring changed; nothing wrong may ever be
 * read, nothing outside the damage may be lost, and verify must name it.
 */
#include "log_builder.h"

#include "dead.h"
#include "directory.h"
#include "handover.h"
#include "scan.h"
#include "system.h"

enum { OPENING = 0x0123456789, LAST_VALUES = 4 };
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

static void expect_block(fixture *fixture, const built *file, uint64_t index, uint32_t lane, uint64_t position,
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

static void put_events(fixture *fixture, built *file, uint64_t index, uint32_t lane, uint64_t *position, uint64_t value,
                       uint32_t count) {
  uint64_t before = *position, from = file->count;
  built_events(file, lane, position, value, count);
  expect_block(fixture, file, index, lane, before, value, count, from);
}

static void put_gap(fixture *fixture, built *file, uint64_t index, uint64_t dropped, uint64_t total) {
  uint64_t from = file->count;
  built_gap(file, 0, dropped, total);
  expect_block(fixture, file, index, NOTICE_LANE, 0, 0, 1, from);
}

/* Two sealed segments, one that is not, and a ring with records that none of them has: 4 events, 2 gap records. */
static void build(fixture *fixture) {
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

  built_ring *ring = &fixture->ring;
  built_ring_begin(ring, OPENING, 0);
  ring->header->log_end = fixture->last.next_offset;
  uint64_t starts[BUILT_LANES] = {100, 200, 300}, ends[BUILT_LANES] = {109, 206, 303};
  for (uint32_t lane = 0; lane < BUILT_LANES; lane++) {
    for (uint64_t value = starts[lane]; value < ends[lane]; value++) built_ring_record(ring, lane, value);
    CHECK_EQUAL(ring->control[lane]->tail, at[lane]);
    ring->control[lane]->head = ring->control[lane]->tail;
  }
  built lanes = {.next_offset = fixture->last.next_offset + 4};
  expect_block(fixture, &lanes, 3, 0, at[0], 109, 1, 0);
  fixture->count--; /* the offsets follow below */
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
  built_put(&fixture->last, NULL, 65536 - fixture->last.count);
}

static const built *file_of(const fixture *fixture, uint64_t index) {
  return index == 0 ? &fixture->first : index == 1 ? &fixture->second : &fixture->last;
}

static void write_log(const fixture *fixture) {
  for (uint64_t i = 0; i < 3; i++) {
    write_file(join(fixture->path, names[i]), file_of(fixture, i)->bytes, file_of(fixture, i)->count);
  }
  write_file(join(fixture->path, RING_NAME), fixture->ring.bytes, fixture->ring.count);
  write_file(join(fixture->path, LOCK_NAME), "", 0);
}

static void clear(const fixture *fixture) {
  remove_tree(fixture->path);
  REQUIRE(mkdir(fixture->path, 0700) == 0);
}

static void demolish(fixture *fixture) {
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
  char message[256];
} reading;

static int holds_value(const weir_event *event, uint64_t value) {
  uint8_t payload[64];
  uint64_t bytes = built_payload(payload, value);
  return event->payload_bytes == bytes && memcmp(event->payload, payload, bytes) == 0 && event->name_bytes == 5 &&
         memcmp(event->name, "built", 5) == 0 && event->field_count == 2 && event->fields && event->definition &&
         event->time_ns == built_time(value) && event->type == BUILT_TYPE;
}

static void take_event(const fixture *fixture, reading *reading, const weir_event *event) {
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

static void read_on(const fixture *fixture, weir_reader *reader, reading *reading, uint64_t *next) {
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

static reading read_log(const fixture *fixture, uint64_t from) {
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
static int all_but(const fixture *fixture, const reading *reading, int (*lost)(const expected *, const void *),
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

static void take_finding(void *context, const weir_finding *finding) {
  findings *findings = context;
  findings->count++;
  if (findings->name && strcmp(finding->file, findings->name) == 0) findings->named++;
  findings->last = *finding;
}

static findings verify(const fixture *fixture, const char *name, weir_verification *sums) {
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

/* ---- Tests ------------------------------------------------------------------------------------------------------ */

static uint32_t crc_by_bits(const uint8_t *bytes, uint64_t count) {
  uint32_t crc = ~0u;
  for (uint64_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
  }
  return ~crc;
}

static void test_crc(void) {
  test("CRC32C is that of its definition at every length");
  CHECK_EQUAL(crc32c("123456789", 9), 0xe3069283);
  static uint8_t bytes[60000];
  for (uint64_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_below(256);
  for (uint64_t count = 0; count < 600; count++) CHECK_EQUAL(crc32c(bytes + count % 9, count), crc_by_bits(bytes + count % 9, count));
  for (int i = 0; i < 200; i++) {
    uint64_t from = random_below(64), count = random_below(sizeof bytes - 64);
    CHECK_EQUAL(crc32c(bytes + from, count), crc_by_bits(bytes + from, count));
  }
}

static void test_whole_log(fixture *fixture) {
  test("a whole dead log reads in full, and verifies");
  write_log(fixture);
  uint64_t before = tree_checksum(fixture->path);
  reading reading = read_log(fixture, 0);
  CHECK(all_but(fixture, &reading, NULL, NULL));
  CHECK_EQUAL(reading.end, WEIR_END);
  CHECK_EQUAL(reading.skips, 0);
  CHECK_EQUAL(reading.notices_new, 0);
  weir_verification sums;
  findings found = verify(fixture, NULL, &sums);
  if (!CHECK_EQUAL(found.count, 0)) fprintf(stderr, "  %s: %s\n", found.last.file, found.last.problem);
  CHECK_EQUAL(sums.segments, 3);
  CHECK_EQUAL(sums.events, 18);
  CHECK_EQUAL(sums.lane_events, 3);
  CHECK_EQUAL(sums.torn_bytes, 0);
  weir_stat stat;
  weir_error error;
  CHECK_EQUAL(weir_stat_directory(fixture->path, &stat, &error), WEIR_OK);
  CHECK_EQUAL(stat.segments, 3);
  CHECK_EQUAL(stat.events, 18);
  CHECK_EQUAL(stat.notices, 2);
  CHECK_EQUAL(stat.lane_events, 3);
  CHECK_EQUAL(stat.lanes, BUILT_LANES);
  CHECK_EQUAL(stat.lanes_in_use, 2);
  CHECK_EQUAL(stat.next_offset, 25);
  CHECK_EQUAL(stat.dropped[WEIR_DROP_FULL], 7);
  CHECK_EQUAL(stat.dropped[WEIR_DROP_TOO_LARGE], 3);
  CHECK_EQUAL(stat.dropped[WEIR_DROP_NO_LANE], 8);
  CHECK_EQUAL(stat.first_time_ns, built_time(100));
  CHECK_EQUAL(stat.last_time_ns, built_time(304));
  CHECK_EQUAL(stat.damaged, 0);
  CHECK_EQUAL(tree_checksum(fixture->path), before);
}

static void test_from_offset(fixture *fixture) {
  test("reading from any offset");
  for (uint64_t from = 0; from < 30; from++) {
    reading reading = read_log(fixture, from);
    CHECK_EQUAL(reading.end, WEIR_END);
    CHECK_EQUAL(reading.skips + reading.wrong + reading.disorder, 0);
    for (uint64_t i = 0; i < fixture->count; i++) {
      CHECK_EQUAL(reading.seen[i], fixture->events[i].offset >= from ? 1 : 0);
    }
  }
}

typedef struct damage {
  uint64_t file;
  uint64_t at;
} damage;

static int in_damaged_block(const expected *event, const void *context) {
  const damage *damage = context;
  return event->file == damage->file && damage->at >= event->from && damage->at < event->to;
}

/* Events that are damaged in a segment not sealed may be in the ring still, and come back with later offsets. */
static int lost_or_moved(const expected *event, const void *context) {
  const damage *damage = context;
  return in_damaged_block(event, context) || (damage->file == 2 && event->file == 3);
}

static void flip_every_byte(fixture *fixture, uint64_t index) {
  char *path = strdup(join(fixture->path, names[index]));
  const built *file = file_of(fixture, index);
  uint64_t count = index == 2 ? fixture->last_used : file->count;
  static const uint8_t masks[] = {0x01, 0x80, 0xff, 0x03};
  for (uint64_t at = 0; at < count; at++) {
    for (int m = 0; m < 4; m++) {
      uint8_t changed = file->bytes[at] ^ masks[m];
      overwrite(path, at, &changed, 1);
      damage damage = {index, at};
      findings found = verify(fixture, names[index], NULL);
      reading reading = read_log(fixture, 0);
      int good = found.count >= 1 && found.count != UINT64_MAX && found.named >= 1 && reading.end == WEIR_END &&
                 all_but(fixture, &reading, lost_or_moved, &damage);
      uint64_t lost = 0;
      for (uint64_t i = 0; i < fixture->count; i++) lost += !reading.seen[i] && !reading.moved[i];
      if (reading.missing < lost) good = 0;
      if (!CHECK(good)) {
        fprintf(stderr, "  %s byte %" PRIu64 " ^ %02x: %" PRIu64 " findings, %" PRIu64 " wrong, lost %" PRIu64
                        ", missing %" PRIu64 ", end %d %s\n",
                names[index], at, masks[m], found.count, reading.wrong, lost, reading.missing, reading.end,
                reading.message);
      }
    }
    overwrite(path, at, &file->bytes[at], 1);
  }
  free(path);
}

static void test_flips(fixture *fixture) {
  test("every single byte of a sealed segment changed");
  write_log(fixture);
  flip_every_byte(fixture, 0);
  flip_every_byte(fixture, 1);
  test("every single byte of a dead writer's segment changed");
  flip_every_byte(fixture, 2);
  reading reading = read_log(fixture, 0);
  CHECK(all_but(fixture, &reading, NULL, NULL));
}

static int from_cut_on(const expected *event, const void *context) {
  const damage *damage = context;
  return (event->file == damage->file && event->to > damage->at) || (damage->file == 2 && event->file == 3);
}

static void test_cuts(fixture *fixture) {
  test("segments cut at every length");
  for (uint64_t index = 0; index < 3; index++) {
    char *path = strdup(join(fixture->path, names[index]));
    const built *file = file_of(fixture, index);
    uint64_t count = index == 2 ? fixture->last_used : file->count;
    for (uint64_t length = 0; length < count; length++) {
      write_file(path, file->bytes, length);
      damage damage = {index, length};
      reading reading = read_log(fixture, 0);
      CHECK_EQUAL(reading.end, WEIR_END);
      if (!CHECK(all_but(fixture, &reading, from_cut_on, &damage))) fprintf(stderr, "  %s cut at %" PRIu64 "\n", path, length);
      findings found = verify(fixture, NULL, NULL);
      if (index < 2) CHECK(found.count >= 1 && found.count != UINT64_MAX);
      else CHECK(found.count != UINT64_MAX);
    }
    write_file(path, file->bytes, file->count);
    free(path);
  }
}

static int only_in_ring(const expected *event, const void *context) {
  (void)context;
  return event->file == 3;
}

static void test_ring_damage(fixture *fixture) {
  test("every byte of the ring's header, lanes and definitions changed");
  char *path = strdup(join(fixture->path, RING_NAME));
  const built_ring *ring = &fixture->ring;
  static const uint8_t masks[] = {0x01, 0xff};
  for (uint64_t at = 0; at < ring->count; at++) {
    uint64_t in_lane = at < 4096 || at >= ring->header->types_at ? 0 : (at - 4096) % ring->header->lane_stride;
    if (in_lane > 4096 + 700) continue; /* no record lies there */
    for (int m = 0; m < 2; m++) {
      uint8_t changed = ring->bytes[at] ^ masks[m];
      overwrite(path, at, &changed, 1);
      reading reading = read_log(fixture, 0);
      int version = at >= 8 && at < 12;
      int good = (reading.end == WEIR_END && all_but(fixture, &reading, only_in_ring, NULL)) ||
                 (version && reading.end == WEIR_ERROR_VERSION);
      if (!CHECK(good)) {
        fprintf(stderr, "  ring byte %" PRIu64 " ^ %02x: end %d, wrong %" PRIu64 ", %s\n", at, masks[m], reading.end,
                reading.wrong, reading.message);
      }
      weir_verification sums;
      weir_error error;
      weir_status status = weir_verify(fixture->path, NULL, NULL, &sums, &error);
      CHECK(status == WEIR_OK || (version && status == WEIR_ERROR_VERSION));
    }
    overwrite(path, at, &ring->bytes[at], 1);
  }
  for (uint64_t length = 0; length < ring->count; length += length < 5000 ? 97 : 1011) {
    write_file(path, ring->bytes, length);
    reading reading = read_log(fixture, 0);
    CHECK(reading.end == WEIR_END && all_but(fixture, &reading, only_in_ring, NULL));
    CHECK(reading.skips >= 1);
    CHECK(verify(fixture, RING_NAME, NULL).named >= 1);
  }
  write_file(path, ring->bytes, ring->count);
  free(path);
}

static void test_random_damage(fixture *fixture) {
  test("random damage to any file");
  for (int round = 0; round < 3000; round++) {
    uint64_t index = random_below(4);
    char *path = strdup(join(fixture->path, names[index]));
    const uint8_t *bytes = index == 3 ? fixture->ring.bytes : file_of(fixture, index)->bytes;
    uint64_t count = index == 3 ? fixture->ring.count : index == 2 ? fixture->last_used : file_of(fixture, index)->count;
    uint8_t noise[256];
    uint64_t length = 1 + random_below(sizeof noise), at = random_below(count);
    if (length > count - at) length = count - at;
    for (uint64_t i = 0; i < length; i++) noise[i] = random_below(3) == 0 ? 0 : (uint8_t)random_below(256);
    overwrite(path, at, noise, length);
    reading reading = read_log(fixture, 0);
    CHECK_EQUAL(reading.wrong, 0);
    CHECK_EQUAL(reading.disorder, 0);
    weir_verification sums;
    weir_stat stat;
    weir_error error;
    weir_status status = weir_verify(fixture->path, NULL, NULL, &sums, &error);
    CHECK(status == WEIR_OK || status == WEIR_ERROR_VERSION);
    status = weir_stat_directory(fixture->path, &stat, &error);
    CHECK(status == WEIR_OK || status == WEIR_ERROR_VERSION);
    overwrite(path, at, bytes + at, length);
    free(path);
  }
}

static int in_file(const expected *event, const void *context) { return event->file == *(const uint64_t *)context; }

static void test_files(fixture *fixture) {
  test("a segment that is missing, foreign, a link, or under another name");
  for (uint64_t index = 0; index < 2; index++) {
    REQUIRE(unlink(join(fixture->path, names[index])) == 0);
    reading reading = read_log(fixture, 0);
    CHECK(reading.end == WEIR_END && all_but(fixture, &reading, in_file, &index));
    CHECK_EQUAL(reading.missing, index == 0 ? 8 : 6);
    weir_verification sums;
    CHECK(verify(fixture, NULL, &sums).count >= 1);
    CHECK_EQUAL(sums.missing_events, index == 0 ? 8 : 6);

    REQUIRE(symlink("/etc/passwd", join(fixture->path, names[index])) == 0);
    reading = read_log(fixture, 0);
    CHECK(reading.end == WEIR_END && all_but(fixture, &reading, in_file, &index));
    CHECK(verify(fixture, names[index], NULL).named >= 1);
    REQUIRE(unlink(join(fixture->path, names[index])) == 0);

    write_file(join(fixture->path, names[index]), "#!/bin/sh\necho not a segment\n", 29);
    reading = read_log(fixture, 0);
    CHECK(reading.end == WEIR_END && all_but(fixture, &reading, in_file, &index));
    CHECK(verify(fixture, names[index], NULL).named >= 1);
    write_log(fixture);
  }
  write_file(join(fixture->path, "00000000000000000900.weir"), "foreign", 7);
  reading reading = read_log(fixture, 0);
  CHECK(all_but(fixture, &reading, NULL, NULL));
  CHECK_EQUAL(reading.missing, 0);
  CHECK_EQUAL(reading.skips, 1);
  CHECK(verify(fixture, "00000000000000000900.weir", NULL).named >= 1);
  REQUIRE(unlink(join(fixture->path, "00000000000000000900.weir")) == 0);

  write_file(join(fixture->path, "00000000000000000003.weir"), fixture->first.bytes, fixture->first.count);
  reading = read_log(fixture, 0);
  CHECK(reading.wrong == 0 && reading.disorder == 0 && reading.end == WEIR_END);
  CHECK(verify(fixture, "00000000000000000003.weir", NULL).named >= 1);
  REQUIRE(unlink(join(fixture->path, "00000000000000000003.weir")) == 0);
}

static void test_copied_block(fixture *fixture) {
  test("a copy of a block elsewhere, or in another file, is no block");
  char *path = strdup(join(fixture->path, LAST_NAME));
  const expected *event = &fixture->events[14];
  overwrite(path, fixture->last_used, fixture->last.bytes + event->from, event->to - event->from);
  reading reading = read_log(fixture, 0);
  CHECK(all_but(fixture, &reading, NULL, NULL));
  weir_verification sums;
  CHECK_EQUAL(verify(fixture, NULL, &sums).count, 0);
  CHECK(sums.torn_bytes > 0);
  overwrite(path, 0, fixture->last.bytes, fixture->last.count);
  free(path);
}

static void test_version(fixture *fixture) {
  test("a newer version is refused by name");
  built newer = {0};
  built_put(&newer, fixture->last.bytes, fixture->last.count);
  newer.bytes[8] = 2;
  memset(newer.bytes + 280, 0x5a, 4096); /* blocks of a kind that this version cannot know */
  write_file(join(fixture->path, LAST_NAME), newer.bytes, newer.count);
  reading reading = read_log(fixture, 0);
  CHECK_EQUAL(reading.end, WEIR_ERROR_VERSION);
  CHECK(strstr(reading.message, "newer version") != NULL);
  built_free(&newer);
  write_log(fixture);
}

static void test_no_log(void) {
  test("a directory that holds no log, none at all, and a file");
  char *path = scratch();
  weir_reader *reader;
  weir_error error;
  weir_verification sums;
  weir_stat stat;
  CHECK_EQUAL(weir_reader_open(path, NULL, &reader, &error), WEIR_ERROR_MISSING);
  CHECK(strstr(error.message, "holds no log") != NULL);
  CHECK_EQUAL(weir_verify(path, NULL, NULL, &sums, &error), WEIR_ERROR_MISSING);
  CHECK_EQUAL(weir_stat_directory(path, &stat, &error), WEIR_ERROR_MISSING);
  CHECK_EQUAL(weir_reader_open(join(path, "nowhere"), NULL, &reader, &error), WEIR_ERROR_MISSING);
  write_file(join(path, "file"), "", 0);
  CHECK_EQUAL(weir_reader_open(join(path, "file"), NULL, &reader, &error), WEIR_ERROR_DIRECTORY);
  REQUIRE(symlink(path, join(path, "link")) == 0);
  CHECK_EQUAL(weir_reader_open(join(path, "link"), NULL, &reader, &error), WEIR_ERROR_DIRECTORY);
  write_file(join(path, LOCK_NAME), "", 0);
  CHECK_EQUAL(weir_reader_open(path, NULL, &reader, &error), WEIR_OK);
  weir_event event;
  weir_skip skip;
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, &error), WEIR_END);
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, &error), WEIR_END);
  weir_reader_close(reader);
  CHECK_EQUAL(weir_verify(path, NULL, NULL, &sums, &error), WEIR_OK);
  CHECK_EQUAL(sums.findings, 0);
  scratch_remove(path);
}

/* A writer's lock, held through a descriptor of this process. */
static int take_lock(const fixture *fixture) {
  int fd = open(join(fixture->path, LOCK_NAME), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  REQUIRE(fcntl(fd, F_OFD_SETLK, &lock) == 0);
  return fd;
}

/* Follows a log that grows block by block, rolls, dies and is recovered under the reader. */
static void test_follow(fixture *fixture) {
  test("following a live log through rolling, sealing and death");
  clear(fixture);
  int lock = take_lock(fixture);
  const built *first = &fixture->first, *second = &fixture->second, *last = &fixture->last;
  weir_reader *reader;
  weir_error error;
  CHECK_EQUAL(weir_reader_open(fixture->path, NULL, &reader, &error), WEIR_OK);
  reading reading = {0};
  uint64_t next = 0;
  char *active = strdup(join(fixture->path, "00000000000000000000.weir.active"));
  built zeros = {0};
  built_put(&zeros, first->bytes, 280);
  built_put(&zeros, NULL, 65536 - 280);
  write_file(active, zeros.bytes, zeros.count);
  for (uint64_t at = 280; at < first->count; at += 8) { /* a half-written block is never told of */
    read_on(fixture, reader, &reading, &next);
    overwrite(active, at, first->bytes + at, 8);
  }
  read_on(fixture, reader, &reading, &next);
  CHECK_EQUAL(next, 8);
  REQUIRE(truncate(active, (off_t)first->count) == 0);
  REQUIRE(rename(active, join(fixture->path, FIRST_NAME)) == 0);
  read_on(fixture, reader, &reading, &next);
  CHECK_EQUAL(reading.end, WEIR_END);
  CHECK(weir_reader_is_live(reader));
  write_file(join(fixture->path, "00000000000000000008.weir.active"), second->bytes, second->count);
  read_on(fixture, reader, &reading, &next);
  CHECK_EQUAL(next, 14);
  REQUIRE(rename(join(fixture->path, "00000000000000000008.weir.active"), join(fixture->path, SECOND_NAME)) == 0);
  write_file(join(fixture->path, LAST_NAME), last->bytes, last->count);
  write_file(join(fixture->path, RING_NAME), fixture->ring.bytes, fixture->ring.count);
  read_on(fixture, reader, &reading, &next);
  CHECK_EQUAL(next, 20);
  close(lock);
  read_on(fixture, reader, &reading, &next);
  CHECK_EQUAL(next, 25);
  CHECK(!weir_reader_is_live(reader));
  lock = take_lock(fixture);
  read_on(fixture, reader, &reading, &next);
  CHECK_EQUAL(next, 25);
  CHECK(all_but(fixture, &reading, NULL, NULL));
  CHECK_EQUAL(reading.skips, 0);
  close(lock);
  weir_reader_close(reader);
  built_free(&zeros);
  free(active);
  clear(fixture);
  write_log(fixture);
}

static void test_handover(void) {
  test("where a lane starts and ends");
  static uint8_t bytes[BUILT_LANE_BYTES + BUILT_RECORD_BYTES + 8];
  lane_view view = {
      .data = bytes, .capacity = BUILT_LANE_BYTES, .record_bytes = BUILT_RECORD_BYTES, .seed = record_seed(OPENING, 1)};
  uint64_t positions[8], at = 0;
  for (int i = 0; i < 7; i++) {
    uint8_t record[128];
    positions[i] = at;
    uint64_t size = built_record(record, OPENING, 1, at, (uint64_t)i);
    memcpy(bytes + at, record, size);
    at += size;
  }
  positions[7] = at;
  handover *told = calloc(1, sizeof *told);
  REQUIRE(told);
  uint64_t from, to;
  handover_lane(told, &view, 1, positions[2], at, &from, &to);
  CHECK(from == positions[2] && to == at);
  told->known[1] = 1;
  told->position[1] = positions[4];
  handover_lane(told, &view, 1, positions[2], at, &from, &to);
  CHECK(from == positions[4] && to == at);
  told->position[1] = positions[1];
  handover_lane(told, &view, 1, positions[2], at, &from, &to);
  CHECK(from == positions[2]); /* all sealed: the head may be ahead */
  told->unsealed = 1;
  handover_lane(told, &view, 1, positions[2], at, &from, &to);
  CHECK(from == positions[1]); /* not sealed: the log's word */
  told->position[1] = at + 64;
  handover_lane(told, &view, 1, positions[2], at, &from, &to);
  CHECK(from == at && to == at); /* the ring is older than the log */
  told->position[1] = positions[3];
  handover_lane(told, &view, 1, at + 800, at, &from, &to);
  CHECK(from == positions[3] && to == at); /* the head is nonsense, the tail is not */
  handover_lane(told, &view, 1, positions[3], at + 3, &from, &to);
  CHECK(from == positions[3] && to == at); /* the tail is nonsense: as far as records chain */
  handover_lane(told, &view, 1, 8, UINT64_MAX - 7, &from, &to);
  CHECK(from == positions[3] && to == at);
  told->known[1] = 0;
  handover_lane(told, &view, 1, UINT64_MAX, 16, &from, &to);
  CHECK(from == to);
  free(told);
}

static void test_faults(fixture *fixture) {
  (void)fixture;
#ifdef WEIR_FAULT_INJECTION
  test("a disk that fails at any call is an error, never a wrong event");
  for (uint64_t nth = 1; nth < 200; nth++) {
    weir_fault_set("any", nth, 1, EIO);
    reading reading = read_log(fixture, 0);
    int failed = weir_fault_count() >= nth;
    weir_fault_set("any", 0, 0, 0);
    CHECK_EQUAL(reading.wrong + reading.disorder, 0);
    if (!failed) CHECK_EQUAL(reading.end, WEIR_END);
    weir_verification sums;
    weir_stat stat;
    weir_error error;
    weir_fault_set("any", nth, 1, EIO);
    weir_verify(fixture->path, NULL, NULL, &sums, &error);
    weir_fault_set("any", nth, 1, EIO);
    weir_stat_directory(fixture->path, &stat, &error);
    weir_fault_set("any", 0, 0, 0);
  }
#endif
}

int main(void) {
  random_start("reader_test");
  test_crc();
  test_handover();
  test_no_log();
  fixture fixture;
  build(&fixture);
  test_whole_log(&fixture);
  test_from_offset(&fixture);
  test_flips(&fixture);
  test_cuts(&fixture);
  test_ring_damage(&fixture);
  test_random_damage(&fixture);
  test_files(&fixture);
  test_copied_block(&fixture);
  test_version(&fixture);
  test_follow(&fixture);
  test_faults(&fixture);
  demolish(&fixture);
  return finish();
}
