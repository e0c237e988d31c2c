/*
 * reader_test.c: the reading side against a log built by hand: reading it from every offset, following it while it
 * grows, dies and is recovered, files that are missing or foreign, and where a dead lane starts and ends.
 */
#include "log_fixture.h"

#include "replay/drained.h"
#include "system/system.h"

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
  CHECK_EQUAL(stat.lane_kib, BUILT_LANE_BYTES >> 10);
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

static void test_place(fixture *fixture) {
  test("the place of each event: its file, and its block's position");
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_event_place place;
  REQUIRE(weir_reader_open(fixture->path, NULL, &reader, NULL) == WEIR_OK);
  uint64_t found = 0;
  while (weir_reader_next(reader, &event, &skip, NULL) == WEIR_OK) {
    weir_reader_place(reader, &place);
    for (uint64_t i = 0; i < fixture->count; i++) {
      const expected *expected = &fixture->events[i];
      if (expected->offset != event.offset) continue;
      CHECK(strcmp(place.file, names[expected->file]) == 0);
      CHECK_EQUAL(place.block, expected->file == 3 ? 0 : expected->from);
      found++;
    }
  }
  CHECK_EQUAL(found, fixture->count);
  weir_reader_close(reader);
}

static int in_file(const expected *event, const void *context) { return event->file == *(const uint64_t *)context; }

static void test_files(fixture *fixture) {
  test("case 42: a segment that is missing, foreign, a link, or under another name");
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
  test("case 43: a copy of a block elsewhere, or in another file, is no block");
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
  test("case 44: a newer version is refused by name");
  built newer = {0};
  built_put(&newer, fixture->last.bytes, fixture->last.count);
  memset(newer.bytes + 560, 0x5a, 4096); /* blocks of a kind that this version cannot know */
  for (uint8_t major = 2; major < 5; major++) {
    newer.bytes[offsetof(segment_header, major)] = major;
    write_file(join(fixture->path, LAST_NAME), newer.bytes, newer.count);
    reading reading = read_log(fixture, 0);
    CHECK_EQUAL(reading.end, WEIR_ERROR_VERSION);
    CHECK(strstr(reading.message, "newer version") != NULL);
  }
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
  built_put(&zeros, first->bytes, 560);
  built_put(&zeros, NULL, 65536 - 560);
  write_file(active, zeros.bytes, zeros.count);
  for (uint64_t at = 560; at < first->count; at += 8) { /* a half-written block is never told of */
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

static void test_drained(void) {
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
  drained *told = calloc(1, sizeof *told);
  REQUIRE(told);
  uint64_t from, to;
  drained_lane(told, &view, 1, &(lane_control){.head = positions[2], .tail = at}, &from, &to);
  CHECK(from == positions[2] && to == at);
  told->known[1] = 1;
  told->position[1] = positions[4];
  drained_lane(told, &view, 1, &(lane_control){.head = positions[2], .tail = at}, &from, &to);
  CHECK(from == positions[4] && to == at);
  told->position[1] = positions[1];
  drained_lane(told, &view, 1, &(lane_control){.head = positions[2], .tail = at}, &from, &to);
  CHECK(from == positions[2]); /* all sealed: the head may be ahead */
  told->unsealed = 1;
  drained_lane(told, &view, 1, &(lane_control){.head = positions[2], .tail = at}, &from, &to);
  CHECK(from == positions[1]); /* not sealed: the log's word */
  told->position[1] = at + 64;
  drained_lane(told, &view, 1, &(lane_control){.head = positions[2], .tail = at}, &from, &to);
  CHECK(from == at && to == at); /* the ring is older than the log */
  told->position[1] = positions[3];
  drained_lane(told, &view, 1, &(lane_control){.head = at + 800, .tail = at}, &from, &to);
  CHECK(from == positions[3] && to == at); /* the head is nonsense, the tail is not */
  drained_lane(told, &view, 1, &(lane_control){.head = positions[3], .tail = at + 3}, &from, &to);
  CHECK(from == positions[3] && to == at); /* the tail is nonsense: as far as records chain */
  drained_lane(told, &view, 1, &(lane_control){.head = 8, .tail = UINT64_MAX - 7}, &from, &to);
  CHECK(from == positions[3] && to == at);
  told->known[1] = 0;
  drained_lane(told, &view, 1, &(lane_control){.head = UINT64_MAX, .tail = 16}, &from, &to);
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

#ifdef WEIR_FAULT_INJECTION
/* Reads all, going on after calls that fail. Returns the offsets given out and passed over. */
static uint64_t offsets_read(const fixture *fixture, int *failures) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  weir_error error;
  weir_event event;
  weir_skip skip;
  uint64_t offsets = 0;
  *failures = 0;
  if (weir_reader_open(fixture->path, &options, &reader, &error) != WEIR_OK) return UINT64_MAX;
  for (weir_status status = WEIR_OK; status != WEIR_END && *failures < 10;) {
    status = weir_reader_next(reader, &event, &skip, &error);
    if (status == WEIR_OK) offsets++;
    else if (status == WEIR_SKIPPED) offsets += skip.count;
    else if (status != WEIR_END) ++*failures;
  }
  weir_reader_close(reader);
  return offsets;
}
#endif

static void test_failed_listing(fixture *fixture) {
  (void)fixture;
#ifdef WEIR_FAULT_INJECTION
  test("a listing that fails once: the next calls report every missing offset before the ring");
  REQUIRE(unlink(join(fixture->path, names[2])) == 0);
  int failures, failed = 0;
  uint64_t all = offsets_read(fixture, &failures);
  for (uint64_t nth = 1, seen = 1; seen; nth++) {
    weir_fault_set("sys_list", nth, 1, EMFILE);
    uint64_t offsets = offsets_read(fixture, &failures);
    seen = weir_fault_count() >= nth;
    weir_fault_set("", 0, 0, 0);
    if (offsets != UINT64_MAX) CHECK_EQUAL(offsets, all);
    failed += failures;
  }
  CHECK(failed > 0);
  clear(fixture);
  write_log(fixture);
#endif
}

static void test_unsettled(fixture *fixture) {
  (void)fixture;
#ifdef WEIR_FAULT_INJECTION
  test("files that go away at each look are an error that says so, and no lock");
  weir_error error = {0};
  weir_event event;
  weir_skip skip;
  weir_tally tally;
  weir_reader *reader;
  REQUIRE(weir_reader_open(fixture->path, NULL, &reader, &error) == WEIR_OK);
  weir_fault_set("sys_open_read", 1, UINT64_MAX, ENOENT);
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, &error), WEIR_ERROR_TIMEOUT);
  CHECK(strstr(error.message, "try again") && !strstr(error.message, "writer first"));
  CHECK_EQUAL(weir_count_from(fixture->path, 0, &tally, &error), WEIR_ERROR_TIMEOUT);
  CHECK(strstr(error.message, "try again") && !strstr(error.message, "writer first"));
  weir_fault_set("", 0, 0, 0);
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, &error), WEIR_OK);
  CHECK_EQUAL(weir_count_from(fixture->path, 0, &tally, &error), WEIR_OK);
  weir_reader_close(reader);
#endif
}

/* ---- Many names -------------------------------------------------------------------------------------------------- */

#ifdef WEIR_FAULT_INJECTION
enum { SCRAP, ZEROS, LINK, COPY, JUNK_NAMES = 20, JUNK_FROM = 1000, BEYOND_JUNK = 1000000 };

/* Names that are not the log's own, and what lies under them. */
static const struct {
  const char *format;
  int content;
} junk[] = {{"%020d.weir", SCRAP}, {"%020d.weir.active", SCRAP}, {"%020d.weir.lz4", SCRAP},
            {"%020d.weir", ZEROS}, {"%020d.weir.active", ZEROS}, {"%020d.weir", LINK},
            {"%020d.weir", COPY},  {"%020d.weir.active", COPY},  {"%d.weir", SCRAP},
            {"prepared-%d", SCRAP}, {".hidden-%d", SCRAP}, {"cursors/%d.cursor", SCRAP}, {"quarantine/%d", SCRAP}};

static void put_junk(const fixture *fixture, uint64_t kind, int from, int to) {
  static const uint8_t zeros[4096];
  for (int i = from; i < to; i++) {
    char name[64];
    snprintf(name, sizeof name, junk[kind].format, JUNK_FROM + i);
    const char *path = join(fixture->path, name);
    if (junk[kind].content == SCRAP) write_file(path, "neither a header nor a block", 28);
    if (junk[kind].content == ZEROS) write_file(path, zeros, sizeof zeros);
    if (junk[kind].content == LINK) REQUIRE(symlink("/etc/passwd", path) == 0);
    if (junk[kind].content == COPY) write_file(path, fixture->first.bytes, fixture->first.count);
  }
}

static void read_first(const fixture *fixture) { CHECK_EQUAL(read_log(fixture, 0).end, WEIR_END); }
static void read_last(const fixture *fixture) { CHECK_EQUAL(read_log(fixture, BEYOND_JUNK).end, WEIR_END); }

static void verify_all(const fixture *fixture) {
  CHECK_EQUAL(weir_verify(fixture->path, NULL, NULL, NULL, NULL), WEIR_OK);
}

static void sum_up(const fixture *fixture) {
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(fixture->path, &stat, NULL), WEIR_OK);
}

static void count_all(const fixture *fixture) {
  weir_tally tally;
  CHECK_EQUAL(weir_count_from(fixture->path, 10, &tally, NULL), WEIR_OK);
}

/* System calls that a call made, and how often it listed a directory. */
typedef struct calls {
  uint64_t all, lists;
} calls;

static calls count_calls(const fixture *fixture, void (*call)(const struct fixture *)) {
  calls calls;
  weir_fault_set("any", UINT64_MAX, 0, 0);
  call(fixture);
  calls.all = weir_fault_count();
  weir_fault_set("sys_list", UINT64_MAX, 0, 0);
  call(fixture);
  calls.lists = weir_fault_count();
  weir_fault_set("", 0, 0, 0);
  return calls;
}

/* Each call by itself may take time with the names, for it looks at them all: what may not is how often one is made. */
static void check_calls(const fixture *fixture, uint64_t kind) {
  static void (*const call[])(const struct fixture *) = {read_first, read_last, verify_all, sum_up, count_all};
  enum { CALLS = sizeof call / sizeof *call };
  calls few[CALLS], many[CALLS];
  put_junk(fixture, kind, 0, JUNK_NAMES);
  for (int i = 0; i < CALLS; i++) few[i] = count_calls(fixture, call[i]);
  put_junk(fixture, kind, JUNK_NAMES, 2 * JUNK_NAMES);
  for (int i = 0; i < CALLS; i++) many[i] = count_calls(fixture, call[i]);
  for (int i = 0; i < CALLS; i++) {
    int linear = CHECK_EQUAL(many[i].lists, few[i].lists);
    linear &= CHECK(many[i].all <= 2 * few[i].all);
    if (linear) continue;
    fprintf(stderr, "  call %d beside %s: %" PRIu64 " and %" PRIu64 " system calls\n", i, junk[kind].format, few[i].all,
            many[i].all);
  }
}

/* So many segments of one event each, every `step`-th of them there. */
static void write_chain(const fixture *fixture, uint64_t count, uint64_t step) {
  uint64_t at[BUILT_LANES] = {0};
  built previous = {0};
  clear(fixture);
  for (uint64_t i = 0; i < count; i++) {
    built file;
    char name[64];
    built_begin(&file, OPENING, i, at, i > 0 ? &previous : NULL, i > 0 ? i - 1 : 0);
    built_define(&file);
    built_events(&file, 0, &at[0], 100 + i, 1);
    built_seal(&file);
    snprintf(name, sizeof name, "%020" PRIu64 ".weir", i);
    if (i % step == 0) write_file(join(fixture->path, name), file.bytes, file.count);
    built_free(&previous);
    previous = file;
  }
  built_free(&previous);
}

static uint64_t lists_of_reading(const fixture *fixture, uint64_t segments, uint64_t step) {
  write_chain(fixture, segments, step);
  weir_fault_set("sys_list", UINT64_MAX, 0, 0);
  reading reading = read_log(fixture, 0);
  uint64_t lists = weir_fault_count();
  weir_fault_set("", 0, 0, 0);
  CHECK_EQUAL(reading.end, WEIR_END);
  CHECK_EQUAL(reading.missing, step == 1 ? 0 : segments / 2 - 1 + segments % 2);
  return lists;
}

/* What recovery takes up is moved away, so each number of names has an opening of its own. */
static uint64_t lists_of_opening(const fixture *fixture, uint64_t kind, int names) {
  weir_options options;
  weir_options_init(&options);
  options.lane_bytes = 8192;
  options.max_event_bytes = 1024;
  options.segment_bytes = 140000;
  options.retain_bytes = 1 << 20;
  clear(fixture);
  write_log(fixture);
  REQUIRE(mkdir(join(fixture->path, "cursors"), 0700) == 0 && mkdir(join(fixture->path, "quarantine"), 0700) == 0);
  put_junk(fixture, kind, 0, names);
  weir_log *log;
  weir_error error;
  weir_fault_set("sys_list", UINT64_MAX, 0, 0);
  if (!CHECK_EQUAL(weir_open(fixture->path, &options, &log, NULL, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return 0;
  }
  uint64_t lists = weir_fault_count();
  weir_fault_set("", 0, 0, 0);
  weir_free(log);
  return lists;
}
#endif

static void test_many_names(fixture *fixture) {
  (void)fixture;
#ifdef WEIR_FAULT_INJECTION
  test("beside files that are none of the log's, calls grow with the number of names, and listings do not");
  for (uint64_t kind = 0; kind < sizeof junk / sizeof *junk; kind++) {
    clear(fixture);
    write_log(fixture);
    REQUIRE(mkdir(join(fixture->path, "cursors"), 0700) == 0 && mkdir(join(fixture->path, "quarantine"), 0700) == 0);
    check_calls(fixture, kind);
    reading reading = read_log(fixture, 0);
    CHECK(junk[kind].content == COPY || all_but(fixture, &reading, NULL, NULL));
    /* An opening moves each away, with syncs of the disk: so a few, and of those that it moves. */
    if (kind < 3) CHECK_EQUAL(lists_of_opening(fixture, kind, 6), lists_of_opening(fixture, kind, 2));
  }
  clear(fixture);
  write_log(fixture);
#endif
}

static void test_many_segments(fixture *fixture) {
  (void)fixture;
#ifdef WEIR_FAULT_INJECTION
  test("the directory is listed as often for many segments as for few, with holes between them or without");
  CHECK_EQUAL(lists_of_reading(fixture, 1200, 1), lists_of_reading(fixture, 20, 1));
  CHECK_EQUAL(lists_of_reading(fixture, 100, 2), lists_of_reading(fixture, 20, 2));
  clear(fixture);
  write_log(fixture);
#endif
}

int main(void) {
  random_start("reader_test");
  test_drained();
  test_no_log();
  fixture fixture;
  build(&fixture);
  test_whole_log(&fixture);
  test_from_offset(&fixture);
  test_place(&fixture);
  test_files(&fixture);
  test_copied_block(&fixture);
  test_version(&fixture);
  test_follow(&fixture);
  test_faults(&fixture);
  test_failed_listing(&fixture);
  test_unsettled(&fixture);
  test_many_names(&fixture);
  test_many_segments(&fixture);
  demolish(&fixture);
  return finish();
}
