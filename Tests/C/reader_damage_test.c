/*
 * reader_damage_test.c: the reading side against damage. Every single byte of the segments is changed, every length
 * cut, the ring changed byte by byte; nothing wrong may ever be read, nothing outside the damage may be lost, verify
 * must name it; and what a reader gives of a damaged dead log, recovery must write down with the same offsets and
 * ids.
 */
#include "log_fixture.h"

#include "system/system.h"

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
  uint64_t count = used_bytes(fixture, index);
  for (uint64_t at = 0; at < count; at++) {
    for (int m = 0; m < 2; m++) {
      uint8_t changed = file->bytes[at] ^ (uint8_t)(m == 0 ? UINT64_C(1) << random_below(8) : 1 + random_below(255));
      overwrite(path, at, &changed, 1);
      damage damage = {index, at};
      if (at == offsetof(segment_header, major) && changed == 2) {
        CHECK_EQUAL(read_log(fixture, 0).end, WEIR_ERROR_VERSION);
        continue;
      }
      findings found = verify(fixture, names[index], NULL);
      reading reading = read_log(fixture, 0);
      int good = found.count >= 1 && found.count != UINT64_MAX && found.named >= 1 && reading.end == WEIR_END &&
                 all_but(fixture, &reading, lost_or_moved, &damage);
      uint64_t lost = 0;
      for (uint64_t i = 0; i < fixture->count; i++) lost += !reading.seen[i] && !reading.moved[i];
      if (reading.missing < lost) good = 0;
      if (!CHECK(good)) {
        fprintf(stderr, "  %s byte %" PRIu64 " now %02x: %" PRIu64 " findings, %" PRIu64 " wrong, lost %" PRIu64
                        ", missing %" PRIu64 ", end %d %s\n",
                names[index], at, changed, found.count, reading.wrong, lost, reading.missing, reading.end,
                reading.message);
      }
    }
    overwrite(path, at, &file->bytes[at], 1);
  }
  free(path);
}

static void test_flips(fixture *fixture) {
  test("case 41: every single byte of a sealed segment changed: its block is lost, the others are read");
  write_log(fixture);
  flip_every_byte(fixture, 0);
  flip_every_byte(fixture, 1);
  test("case 41: every single byte of a dead writer's segment changed");
  flip_every_byte(fixture, 2);
  reading reading = read_log(fixture, 0);
  CHECK(all_but(fixture, &reading, NULL, NULL));
}

static int from_cut_on(const expected *event, const void *context) {
  const damage *damage = context;
  return (event->file == damage->file && event->to > damage->at) || (damage->file == 2 && event->file == 3);
}

static void test_cuts(fixture *fixture) {
  test("case 40: segments cut at any length");
  for (uint64_t index = 0; index < 3; index++) {
    char *path = strdup(join(fixture->path, names[index]));
    const built *file = file_of(fixture, index);
    uint64_t count = used_bytes(fixture, index);
    for (uint64_t length = 0; length < count; length += 1 + random_below(3)) {
      write_file(path, file->bytes, length);
      damage damage = {index, length};
      reading reading = read_log(fixture, 0);
      CHECK_EQUAL(reading.end, WEIR_END);
      if (!CHECK(all_but(fixture, &reading, from_cut_on, &damage))) {
        fprintf(stderr, "  %s cut at %" PRIu64 "\n", path, length);
      }
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

static void change_ring_byte(fixture *fixture, const char *path, uint64_t at) {
  uint8_t changed = fixture->ring.bytes[at] ^ (uint8_t)(1 + random_below(255));
  overwrite(path, at, &changed, 1);
  reading reading = read_log(fixture, 0);
  int version = at >= offsetof(ring_header, major) && at < offsetof(ring_header, header_crc);
  int good = (reading.end == WEIR_END && all_but(fixture, &reading, only_in_ring, NULL)) ||
             (version && reading.end == WEIR_ERROR_VERSION);
  if (!CHECK(good)) {
    fprintf(stderr, "  ring byte %" PRIu64 " now %02x: end %d, wrong %" PRIu64 ", %s\n", at, changed, reading.end,
            reading.wrong, reading.message);
  }
  weir_verification sums;
  weir_error error;
  weir_status status = weir_verify(fixture->path, NULL, NULL, &sums, &error);
  CHECK(status == WEIR_OK || (version && status == WEIR_ERROR_VERSION));
  overwrite(path, at, &fixture->ring.bytes[at], 1);
}

static void test_ring_damage(fixture *fixture) {
  test("case 40: every byte of the ring's header, lanes and definitions changed");
  char *path = strdup(join(fixture->path, RING_NAME));
  const built_ring *ring = &fixture->ring;
  for (uint64_t at = 0; at < ring->count; at++) {
    uint64_t in_lane = at < 4096 || at >= ring->header->types_at ? 0 : (at - 4096) % ring->header->lane_stride;
    if (in_lane > 4096 + 700) continue; /* no record lies there */
    if (at % 4096 > 700 && in_lane < 4096 && at % 29 != 0) continue; /* reserved: some will do */
    change_ring_byte(fixture, path, at);
  }
  test("case 40: the ring cut");
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
  test("case 40: random damage to any file");
  for (int round = 0; round < 3000; round++) {
    uint64_t index = random_below(4);
    char *path = strdup(join(fixture->path, names[index]));
    const uint8_t *bytes = index == 3 ? fixture->ring.bytes : file_of(fixture, index)->bytes;
    uint64_t count = used_bytes(fixture, index);
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

/* ---- Recovery agrees -------------------------------------------------------------------------------------------- */

enum { ROUNDS = 400 };

typedef struct listed {
  uint64_t offset;
  weir_id id;
  int64_t time_ns;
  uint32_t type;
  uint32_t payload_crc;
} listed;

typedef struct listing {
  listed events[128];
  uint64_t count;
  weir_status end;
} listing;

/*
 * What recovery writes of a ring that it can't read. A reader says the same of it as it passes over it, with no offset.
 */
static int tells_of_lost_ring(const weir_event *event) {
  uint32_t reason_bytes, lane;
  if (event->type != WEIR_TYPE_HOLE || event->payload_bytes < 8) return 0;
  memcpy(&reason_bytes, event->payload, 4);
  if (reason_bytes > event->payload_bytes - 8) return 0;
  memcpy(&lane, event->payload + 4 + reason_bytes, 4);
  return lane == NOTICE_LANE;
}

static listing list_events(const char *path) {
  listing list;
  memset(&list, 0, sizeof list);
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  list.end = weir_reader_open(path, NULL, &reader, NULL);
  if (list.end != WEIR_OK) return list;
  while ((list.end = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK || list.end == WEIR_SKIPPED) {
    if (list.end == WEIR_SKIPPED || list.count == 128 || tells_of_lost_ring(&event)) continue;
    listed *one = &list.events[list.count++];
    one->offset = event.offset;
    one->id = event.id;
    one->time_ns = event.time_ns;
    one->type = event.type;
    one->payload_crc = crc32c(event.payload, event.payload_bytes);
  }
  weir_reader_close(reader);
  return list;
}

static weir_status open_small_log(const char *path, weir_log **log, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 4096;
  options.overflow_bytes = 0;
  options.max_event_bytes = 1024;
  options.segment_bytes = 1 << 20;
  options.create = 0;
  return weir_open(path, &options, log, NULL, error);
}

/* Damages one to three stretches of the files that recovery reads; answers a word on where, for a failure's message. */
static const char *damage_at_random(const fixture *fixture) {
  static char text[256];
  text[0] = 0;
  for (uint64_t times = random_below(4); times > 0; times--) {
    uint64_t index = 1 + random_below(3), length = random_below(3) == 0 ? 1 + random_below(300) : 1;
    uint64_t count = used_bytes(fixture, index);
    uint64_t at = random_below(count);
    if (index == 3 && random_below(4) != 0) { /* where the records and the lanes' positions are */
      at = 4096 + random_below(BUILT_LANES) * fixture->ring.header->lane_stride;
      at += random_below(2) * 4096 + random_below(640);
    }
    if (length > count - at) length = count - at;
    uint8_t noise[300];
    for (uint64_t i = 0; i < length; i++) noise[i] = (uint8_t)random_below(256);
    overwrite(join(fixture->path, names[index]), at, noise, length);
    snprintf(text + strlen(text), sizeof text - strlen(text), " %s[%" PRIu64 "+%" PRIu64 "]", names[index], at, length);
  }
  return text;
}

static int same_listing(const listing *a, const listing *b) {
  return a->end == b->end && a->count == b->count && memcmp(a->events, b->events, a->count * sizeof *a->events) == 0;
}

static void show(const char *when, const listing *list) {
  fprintf(stderr, "  %s: %" PRIu64 " events, end %d:", when, list->count, list->end);
  for (uint64_t i = 0; i < list->count; i++) {
    fprintf(stderr, " %" PRIu64 "=%" PRIx64, list->events[i].offset, list->events[i].id.sequence);
  }
  fprintf(stderr, "\n");
}

/* A recovery that stops in the middle leaves, like a kill there, a log that reads as before. */
static void stop_recovery(const fixture *fixture, uint64_t nth) {
#ifdef WEIR_FAULT_INJECTION
  weir_log *log = NULL;
  weir_fault_set("any", nth, UINT64_MAX, EIO);
  weir_status status = open_small_log(fixture->path, &log, NULL);
  weir_fault_set("any", 0, 0, 0);
  if (status == WEIR_OK) weir_free(log);
#else
  (void)fixture;
  (void)nth;
#endif
}

static void test_recovery_agrees(fixture *fixture) {
  test("case 41: what a damaged dead log reads as is what recovery makes of it");
  for (int round = 0; round < ROUNDS; round++) {
    clear(fixture);
    write_log(fixture);
    const char *where = round == 0 ? "" : damage_at_random(fixture);
    listing before = list_events(fixture->path);
    for (uint64_t stops = random_below(3); stops > 0; stops--) stop_recovery(fixture, 1 + random_below(150));
    listing between = list_events(fixture->path);
    weir_log *log = NULL;
    weir_error error;
    weir_status status = open_small_log(fixture->path, &log, &error);
    if (before.end == WEIR_ERROR_VERSION || status == WEIR_ERROR_VERSION) {
      weir_free(log);
      continue; /* the damage made a version */
    }
    if (!CHECK_EQUAL(status, WEIR_OK)) fprintf(stderr, "  %s:%s\n", error.message, where);
    weir_free(log);
    listing after = list_events(fixture->path);
    if (!CHECK(same_listing(&before, &between)) || !CHECK(same_listing(&before, &after))) {
      fprintf(stderr, "  round %d, damaged:%s\n", round, where);
      show("before ", &before);
      show("between", &between);
      show("after  ", &after);
    }
    if (round == 0) CHECK_EQUAL(verify(fixture, NULL, NULL).count, 0);
  }
}

/* ---- Logs that nobody damaged, as a kill or the machine leaves them ---------------------------------------------- */

/* Writes the fixture's log with the last segment's header changed, its checksum right. */
static void write_changed(const fixture *fixture, void (*change)(segment_header *header)) {
  write_log(fixture);
  uint8_t bytes[SEGMENT_HEADER_BYTES + 16 * BUILT_LANES];
  memcpy(bytes, fixture->last.bytes, sizeof bytes);
  segment_header *header = (segment_header *)(void *)bytes;
  change(header);
  header->header_crc = crc32c(bytes + 20, sizeof bytes - 20);
  overwrite(join(fixture->path, LAST_NAME), 0, bytes, sizeof bytes);
}

/* Makes the ring one of another boot. */
static void change_boot(const fixture *fixture) {
  ring_header header = *fixture->ring.header;
  header.boot_id[0] ^= 1;
  header.header_crc = crc32c((uint8_t *)&header + 16, RING_FIXED_BYTES - 16);
  overwrite(join(fixture->path, RING_NAME), 0, &header, sizeof header);
}

static void set_recovered(segment_header *header) {
  header->flags = SEGMENT_RECOVERED;
  header->boot_id[0] ^= 1;
  header->captured_boot_id[0] ^= 1;
}

static uint64_t ids_given_twice(const listing *list) {
  uint64_t twice = 0;
  for (uint64_t i = 0; i < list->count; i++) {
    for (uint64_t j = 0; j < i; j++) twice += memcmp(&list->events[i].id, &list->events[j].id, sizeof(weir_id)) == 0;
  }
  return twice;
}

/* Reads, recovers and reads again: 1 if both are the same, and `*before` is what was read. */
static int is_as_recovered(const fixture *fixture, listing *before) {
  *before = list_events(fixture->path);
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(open_small_log(fixture->path, &log, &error), WEIR_OK)) fprintf(stderr, "  %s\n", error.message);
  weir_free(log);
  listing after = list_events(fixture->path);
  int same = same_listing(before, &after);
  if (!same) {
    show("before", before);
    show("after ", &after);
  }
  return same;
}

static void test_recovery_of_an_earlier_boot(fixture *fixture) {
  test("a segment that a recovery left unsealed, and then the machine went down: its events are read once");
  clear(fixture);
  write_changed(fixture, set_recovered);
  change_boot(fixture);
  listing before;
  CHECK(is_as_recovered(fixture, &before));
  CHECK_EQUAL(ids_given_twice(&before), 0);
  CHECK_EQUAL(before.count, fixture->count); /* a notice of the tail in place of the segment's notice */
}

static void set_newer(segment_header *header) { header->incompatible = UINT64_C(1) << 63; }

static void test_newer_behind_damage(fixture *fixture) {
  test("events behind damage in an unsealed segment are read, though the next segment is a newer version's");
  clear(fixture);
  write_changed(fixture, set_newer);
  char *sealed = strdup(join(fixture->path, SECOND_NAME)), *active = strdup(join(fixture->path, SECOND_NAME ".active"));
  REQUIRE(rename(sealed, active) == 0);
  uint64_t at = SEGMENT_HEADER_BYTES + 16 * BUILT_LANES; /* its definitions, which the seal has too */
  overwrite(active, at + 8, "damage", 6);
  reading reading = read_log(fixture, 0);
  CHECK_EQUAL(reading.end, WEIR_ERROR_VERSION);
  for (uint64_t i = 0; i < fixture->count; i++) CHECK_EQUAL(reading.seen[i], fixture->events[i].file < 2);
  free(sealed);
  free(active);
}

static void test_missing_ring(fixture *fixture) {
  test("a ring that is missing is told once, unless the log is a copy of segments, or the ring was being made");
  clear(fixture);
  write_log(fixture);
  char *ring = strdup(join(fixture->path, RING_NAME)), *made = strdup(join(fixture->path, RING_NEW_NAME));
  REQUIRE(unlink(ring) == 0);
  reading reading = read_log(fixture, 0);
  CHECK(reading.end == WEIR_END && reading.skips == 1 && reading.missing == 0);
  CHECK(all_but(fixture, &reading, only_in_ring, NULL));
  write_file(made, "", 0);
  CHECK_EQUAL(read_log(fixture, 0).skips, 0);
  REQUIRE(unlink(made) == 0 && unlink(join(fixture->path, LOCK_NAME)) == 0);
  CHECK_EQUAL(read_log(fixture, 0).skips, 0);
  free(ring);
  free(made);
}

int main(void) {
  random_start("reader_damage_test");
  fixture fixture;
  build(&fixture);
  test_recovery_of_an_earlier_boot(&fixture);
  test_newer_behind_damage(&fixture);
  test_missing_ring(&fixture);
  clear(&fixture);
  test_flips(&fixture);
  test_cuts(&fixture);
  test_ring_damage(&fixture);
  test_random_damage(&fixture);
  test_recovery_agrees(&fixture);
  demolish(&fixture);
  return finish();
}
