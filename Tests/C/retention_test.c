/*
 * retention_test.c: the bounds of a log. At every look the files take no more than the byte limit allows; whatever is
 * removed is counted, by its reason, so that what was accepted is what the log holds and what was removed, to the
 * event; and killed at any system call the removal is finished by the next opening.
 */
#include "retention_check.h"

/* ---- The byte limit ---------------------------------------------------------------------------------------------- */

static void test_least(void) {
  test("a limit that can't hold the ring and three segments is invalid, and the message has the least");
  char *folder = scratch();
  uint64_t least = least_limit(WEIR_LIMIT_DROP_OLDEST);
  CHECK(least > ring_bytes() + 3 * SEGMENT && least_limit(WEIR_LIMIT_REFUSE) > least + LANES * LANE);
  weir_options options = small_options();
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least - 1;
  weir_log *log;
  weir_error error;
  CHECK_EQUAL(weir_open(join(folder, "log"), &options, &log, NULL, &error), WEIR_ERROR_INVALID);
  CHECK(strstr(error.message, "max_bytes"));
  options.max_bytes = least;
  log = open_with(join(folder, "log"), &options, NULL);
  uint64_t accepted = capture_watched(log, define_numbered(log), 0, 3000, least);
  CHECK_EQUAL(accepted, 3000);
  close_and_free(log);
  check_conserved(join(folder, "log"), accepted, 0);
  scratch_remove(folder);
}

/* Captures until `count` are refused for want of storage. */
static uint64_t capture_until_refused(weir_log *log, uint32_t type, uint64_t from, uint64_t count, uint64_t limit) {
  uint64_t accepted = 0, refused = 0, other = 0;
  for (uint64_t i = 0; refused < count && i < 1000000; i++) {
    int32_t answer = capture_numbered(log, type, 0, from + accepted, FILLER, NULL);
    accepted += answer == WEIR_ACCEPTED;
    refused += answer == WEIR_DROP_STORAGE;
    other += answer != WEIR_ACCEPTED && answer != WEIR_DROP_STORAGE;
    if (i % 50 == 0) CHECK(stat_of(weir_directory(log)).total_bytes <= limit);
  }
  CHECK_EQUAL(refused, count);
  CHECK_EQUAL(other, 0);
  return accepted;
}

static _Atomic uint64_t *accepted_by_child; /* shared: outlives it */

/* In a child that dies: captures until the lane is full at the limit, and leaves the ring undrained. */
static void fill_and_die(const char *directory, weir_options options) {
  options.full_wait_ns = 0;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t accepted = 0;
  for (uint64_t refused = 0; refused < 200; sys_sleep_ns(refused > 0 ? 100000 : 0)) {
    int32_t answer = capture_numbered(log, type, 0, accepted, FILLER, NULL);
    accepted += answer == WEIR_ACCEPTED;
    refused += answer == WEIR_DROP_STORAGE;
  }
  *accepted_by_child = accepted;
  kill(getpid(), SIGKILL);
}

static void test_refuse_killed(const char *ring) {
  test("killed at the byte limit: the next opening succeeds, wherever the ring lies");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.ring_directory = ring ? join(folder, ring) : NULL;
  options.lane_bytes = 1 << 20;
  options.max_bytes = 1;
  weir_log *log;
  weir_error error;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_ERROR_INVALID);
  const char *least = strstr(error.message, "must be at least ");
  REQUIRE(least);
  options.max_bytes = strtoull(least + 17, NULL, 10);
  fflush(NULL);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) fill_and_die(directory, options);
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  close_and_free(open_with(directory, &options, NULL));
  weir_stat stat = check_conserved(directory, *accepted_by_child, 0);
  CHECK(stat.total_bytes <= options.max_bytes);
  scratch_remove(folder);
}

static void hold_sealer(const weir_call *call, int after) {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  while (call && !after && strcmp(name, "weir-seal") == 0) pause();
}

/* In a child that dies: captures until the log is full of segments that no sealer has come to. */
static void outrun_sealer_and_die(const char *directory, weir_options options) {
  options.full_wait_ns = 0;
  weir_log *log = open_with(directory, &options, NULL);
  weir_fault_observe(hold_sealer);
  uint32_t type = define_numbered(log);
  uint64_t accepted = 0;
  for (int refused = 0; refused < 1000; sys_sleep_ns(refused > 0 ? 20000 : 0)) {
    int went = capture_numbered(log, type, 0, accepted, FILLER, NULL) == WEIR_ACCEPTED;
    accepted += (uint64_t)went;
    refused = went ? 0 : refused + 1;
  }
  *accepted_by_child = accepted;
  kill(getpid(), SIGKILL);
}

static void test_displace_unsealed(void) {
  test("a log at its byte limit whose segments were all unsealed opens: recovery seals them, then displaces the oldest");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + 4 * SEGMENT;
  fflush(NULL);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) outrun_sealer_and_die(directory, options);
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  CHECK(stat_of(directory).removed == 0);
  close_and_free(open_with(directory, &options, NULL));
  weir_stat stat = check_conserved(directory, *accepted_by_child, 0);
  CHECK(stat.total_bytes <= options.max_bytes);
  scratch_remove(folder);
}

static void check_limit_message(weir_status status, const weir_error *error) {
  CHECK_EQUAL(status, WEIR_ERROR_NO_SPACE);
  CHECK(strstr(error->message, "byte limit") && strstr(error->message, "max_bytes"));
  CHECK_EQUAL(error->system_error, 0);
}

static void test_refuse(void) {
  test("case 39: at the byte limit, with nobody to deliver to, captures are refused and counted, and resume with room");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.max_bytes = least_limit(WEIR_LIMIT_REFUSE) + 3 * SEGMENT;
  weir_log *log = open_with(directory, &options, NULL);
  uint64_t accepted = capture_until_refused(log, define_numbered(log), 0, 100, options.max_bytes);
  CHECK(accepted * FILLER > 3 * SEGMENT);
  weir_error error;
  weir_counters counters;
  check_limit_message(weir_drain(log, UINT64_MAX, NULL, &error), &error);
  check_limit_message(weir_sync(log, UINT64_MAX, NULL, &error), &error);
  weir_count(log, &counters);
  CHECK_EQUAL(counters.storage, WEIR_ERROR_NO_SPACE);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_STORAGE], 100);
  CHECK_EQUAL(counters.accepted, accepted);
  check_limit_message(weir_close(log, &error), &error);
  weir_free(log);
  check_conserved(directory, accepted, 0);

  /* Again and again at the limit: each opening recovers what the ring held, then refuses; none fails. */
  uint64_t refused = 100;
  for (int i = 0; i < 4; i++) {
    log = open_with(directory, &options, NULL);
    uint32_t type = define_numbered(log);
    accepted += capture_until_refused(log, type, accepted, 10, options.max_bytes);
    refused += 10;
    weir_close(log, &error);
    weir_free(log);
    CHECK(stat_of(directory).total_bytes <= options.max_bytes);
    check_conserved(directory, accepted, 0);
  }
  options.max_bytes *= 2;
  log = open_with(directory, &options, NULL);
  CHECK_EQUAL(capture_watched(log, define_numbered(log), accepted, 100, options.max_bytes), 100);
  close_and_free(log);
  weir_stat stat = check_conserved(directory, accepted + 100, 0);
  CHECK_EQUAL(stat.dropped[WEIR_DROP_STORAGE], refused);
  CHECK_EQUAL(stat.removed, 0);
  scratch_remove(folder);
}

static void test_displace(void) {
  test("case 39: at the byte limit the oldest events make room, and each of them is counted");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + 2 * SEGMENT;
  uint64_t accepted = 0;
  for (int opening = 0; opening < 3; opening++) {
    weir_log *log = open_with(directory, &options, NULL);
    accepted += capture_watched(log, define_numbered(log), accepted, 2000, options.max_bytes);
    CHECK_EQUAL(accepted, 2000u * (unsigned)(opening + 1));
    weir_counters counters;
    weir_count(log, &counters);
    CHECK(counters.displaced > 1000 && counters.expired == 0);
    close_and_free(log);
    weir_stat stat = check_conserved(directory, accepted, 0);
    CHECK(stat.removed > 0 && stat.removed == stat.dropped[WEIR_LOST_DISPLACED]);
    CHECK(stat.total_bytes <= options.max_bytes);
    CHECK(stat.segments >= 3); /* what is kept is not given up for segments that are made ahead of their time */
    CHECK_EQUAL(read_from(directory, 0).numbers_from, stat.removed);
    CHECK_EQUAL(read_from(directory, stat.first_offset).removed, 0);
    CHECK_EQUAL(read_from(directory, stat.first_offset - 3).removed, 3);
  }
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST); /* lower than what is there */
  weir_log *log = open_with(directory, &options, NULL);
  CHECK(stat_of(directory).total_bytes <= options.max_bytes);
  close_and_free(log);
  check_conserved(directory, accepted, 0);
  scratch_remove(folder);
}

/* ---- Retention --------------------------------------------------------------------------------------------------- */

static void test_retain_bytes(void) {
  test("sealed segments beyond retain_bytes are removed, when one is sealed and at an opening");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.retain_bytes = 3 * SEGMENT;
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_EQUAL(capture_watched(log, define_numbered(log), 0, 3000, 0), 3000);
  close_and_free(log);
  weir_stat stat = check_conserved(directory, 3000, 0);
  CHECK(stat.dropped[WEIR_LOST_EXPIRED] > 1000);
  CHECK(stat.segment_bytes <= 3 * SEGMENT);
  options.retain_bytes = 1;
  log = open_with(directory, &options, NULL);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK(counters.expired > 0 && counters.displaced == 0);
  close_and_free(log);
  weir_stat less = check_conserved(directory, 3000, 0);
  CHECK_EQUAL(less.segments, 1); /* the last one stays */
  CHECK_EQUAL(less.removed - stat.removed, counters.expired);
  scratch_remove(folder);
}

static void test_retain_age(void) {
  test("sealed segments whose last event is older than retain_ns are removed; an idle log wakes once a minute at most");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_log(directory, 2000);
  uint64_t segments = stat_of(directory).segments;
  weir_options options = small_options();
  options.retain_ns = UINT64_C(3600000000000);
  uint64_t before = now_ns();
  weir_log *log = open_with(directory, &options, NULL);
  CHECK(stat_of(directory).segments >= segments && stat_of(directory).removed == 0);
  uint64_t due = retention_due(((event_log *)log)->intake.retention);
  CHECK(due > before + UINT64_C(59000000000) && due < now_ns() + UINT64_C(3601000000000));
  close_and_free(log);
  options.retain_ns = 1;
  before = now_ns();
  log = open_with(directory, &options, NULL);
  CHECK(retention_due(((event_log *)log)->intake.retention) >= before + UINT64_C(59000000000));
  close_and_free(log);
  weir_stat stat = check_conserved(directory, 2000, 0);
  CHECK(stat.segments == 1 && stat.removed > 1500 && stat.removed == stat.dropped[WEIR_LOST_EXPIRED]);
  scratch_remove(folder);
}

static void test_delivered(void) {
  test("what was delivered before it is removed is not counted as lost, to the event");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_log(directory, 2000);
  uint64_t delivered = 1000; /* in the middle of a segment, and of a block */
  weir_options options = small_options();
  options.retain_bytes = UINT64_C(1) << 40;
  weir_log *log = open_with(directory, &options, NULL);
  retention *retention = ((event_log *)log)->intake.retention;
  retention_deliver(retention, delivered);
  retention->retain_bytes = 1;
  uint32_t type = define_numbered(log);
  CHECK_EQUAL(capture_watched(log, type, 2000, 300, 0), 300);
  close_and_free(log);
  weir_stat stat = stat_of(directory);
  CHECK(stat.removed > delivered);
  CHECK_EQUAL(stat.dropped[WEIR_LOST_EXPIRED], stat.removed - delivered);
  scratch_remove(folder);
}

/* ---- Around it --------------------------------------------------------------------------------------------------- */

static void test_by_hand(void) {
  test("a segment that somebody removed by hand is missing, beside others that retention removed");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_log(directory, 3000);
  weir_options options = small_options();
  options.retain_bytes = 6 * SEGMENT;
  close_and_free(open_with(directory, &options, NULL));
  weir_stat stat = stat_of(directory);
  segment_list list;
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  REQUIRE(segment_list_read(fd, &list) == 0 && list.count > 4);
  uint64_t gone = list.items[2].base - list.items[1].base;
  REQUIRE(unlink(join(directory, list.items[1].name)) == 0);
  reading reading = read_from(directory, 0);
  CHECK_EQUAL(reading.missing, gone);
  CHECK_EQUAL(reading.removed, stat.first_offset);
  REQUIRE(unlink(join(directory, list.items[0].name)) == 0); /* right after what was removed */
  reading = read_from(directory, 0);
  CHECK_EQUAL(reading.missing, list.items[2].base - stat.first_offset);
  CHECK_EQUAL(reading.removed, stat.first_offset);
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK(verification.findings > 0 && verification.missing_events == list.items[2].base - stat.first_offset);
  segment_list_free(&list);
  close(fd);
  scratch_remove(folder);
}

static void test_follower(void) {
  test("a reader in the middle of a segment that is removed under it reads it to its end, then goes on, and is told");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_log(directory, 1000);
  weir_reader *reader;
  weir_error error;
  weir_event event;
  weir_skip skip;
  REQUIRE(weir_reader_open(directory, NULL, &reader, &error) == WEIR_OK);
  for (uint64_t i = 0; i < 10; i++) {
    CHECK(weir_reader_next(reader, &event, &skip, &error) == WEIR_OK && event.offset == i);
  }
  weir_options options = small_options();
  options.retain_bytes = 1;
  close_and_free(open_with(directory, &options, NULL));
  CHECK(access(join(directory, "00000000000000000000.weir"), F_OK) != 0);
  uint64_t given = 10, removed = 0, other = 0, next = 10;
  weir_status status;
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (status == WEIR_SKIPPED) {
      if (skip.removed) removed += skip.count;
      else other++;
      next = skip.first_offset + skip.count;
      continue;
    }
    CHECK_EQUAL(event.offset, next);
    next++;
    given++;
  }
  CHECK_EQUAL(status, WEIR_END);
  CHECK(given > 100 && removed > 100 && other == 0);
  CHECK_EQUAL(given + removed, next);
  weir_reader_close(reader);
  scratch_remove(folder);
}

static void flip(const char *path, uint64_t at) {
  uint8_t byte;
  int fd = open(path, O_RDWR);
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= 0x10;
  REQUIRE(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

/* How many skips a reader gives for the file `start` that are no removal: 1 where the file can't be believed. */
static uint64_t doubts_about_start(const char *directory) {
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_status status;
  uint64_t doubts = 0;
  REQUIRE(weir_reader_open(directory, NULL, &reader, NULL) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK || status == WEIR_SKIPPED) {
    doubts += status == WEIR_SKIPPED && strcmp(skip.file, START_NAME) == 0 && !skip.removed;
  }
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
  return doubts;
}

static void test_damaged_start(void) {
  test("a damaged slot of the start leaves the other; without either, what was removed is reported as missing, aloud");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.retain_bytes = 2 * SEGMENT;
  weir_log *log = open_with(directory, &options, NULL);
  capture_watched(log, define_numbered(log), 0, 2000, 0);
  close_and_free(log);
  const char *start = join(directory, START_NAME);
  weir_stat whole = check_conserved(directory, 2000, 0);
  log_start_slot slot;
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  CHECK_EQUAL(log_start_read(fd, 0, &slot), 1);
  CHECK_EQUAL(slot.events, whole.removed);
  CHECK_EQUAL(doubts_about_start(directory), 0);
  /* The older slot: nothing is different. Each byte of it. */
  uint64_t old = slot.sequence % 2 == 0 ? START_SLOT_STRIDE : 0, changed = 0;
  for (uint64_t at = 0; at < sizeof slot; at++) {
    flip(start, old + at);
    log_start_slot other;
    changed += log_start_read(fd, 0, &other) != 1 || memcmp(&other, &slot, sizeof slot) != 0;
    flip(start, old + at);
  }
  CHECK_EQUAL(changed, 0);
  /* The newer one: the older is taken, and what went since then is missing, and not silently. */
  flip(start, START_SLOT_STRIDE - old + 100);
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK(verification.missing_events == 0 || verification.findings > 0);
  flip(start, START_SLOT_STRIDE - old + 100);
  flip(start, 40);
  flip(start, START_SLOT_STRIDE + 40);
  CHECK_EQUAL(log_start_read(fd, 0, &slot), -EBADMSG);
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK(verification.findings >= 2);
  CHECK_EQUAL(verification.missing_events, whole.first_offset);
  CHECK_EQUAL(stat_of(directory).damaged, 1);
  CHECK_EQUAL(read_from(directory, 0).missing, whole.first_offset);
  CHECK_EQUAL(doubts_about_start(directory), 1);
  weir_recovery recovery;
  close_and_free(open_with(directory, &options, &recovery));
  CHECK_EQUAL(recovery.start_damaged, 1);
  CHECK_EQUAL(read_from(directory, 0).missing, whole.first_offset);
  close_and_free(open_with(directory, &options, &recovery));
  CHECK_EQUAL(recovery.start_damaged, 0);
  close(fd);
  scratch_remove(folder);
}

static void test_start_of_another_log(void) {
  test("a start of another log removes nothing for a reader, and is reported");
  char *folder = scratch();
  char *directory = strdup(join(folder, "log")), *other = strdup(join(folder, "other"));
  weir_options options = small_options();
  options.retain_bytes = 2 * SEGMENT;
  weir_log *log = open_with(other, &options, NULL);
  capture_watched(log, define_numbered(log), 0, 2000, 0);
  close_and_free(log);
  CHECK(stat_of(other).first_offset > 0);
  options = small_options();
  log = open_with(directory, &options, NULL);
  capture_watched(log, define_numbered(log), 0, 2000, 0);
  close_and_free(log);
  REQUIRE(rename(join(other, START_NAME), join(directory, START_NAME)) == 0);
  CHECK_EQUAL(doubts_about_start(directory), 1);
  CHECK_EQUAL(read_from(directory, 0).events, 2000);
  free(directory);
  free(other);
  scratch_remove(folder);
}

static void test_newer_start(void) {
  test("case 44: a start of a newer version is refused by all who would read it");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.retain_bytes = 1;
  close_and_free(open_with(directory, &options, NULL));
  int fd = open(join(directory, START_NAME), O_RDWR);
  uint8_t two = 2;
  REQUIRE(pwrite(fd, &two, 1, 8) == 1 && pwrite(fd, &two, 1, START_SLOT_STRIDE + 8) == 1);
  close(fd);
  weir_log *log;
  weir_error error;
  weir_stat stat;
  weir_verification verification;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_ERROR_VERSION);
  CHECK_EQUAL(weir_stat_directory(directory, &stat, &error), WEIR_ERROR_VERSION);
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_ERROR_VERSION);
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  REQUIRE(weir_reader_open(directory, NULL, &reader, &error) == WEIR_OK);
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, &error), WEIR_ERROR_VERSION);
  weir_reader_close(reader);
  scratch_remove(folder);
}

/* ---- Kills ------------------------------------------------------------------------------------------------------- */


/* Opens a log that has to remove much, captures some, closes; all with the fault in it. */
static void live_and_die(const char *directory, const weir_options *options, uint64_t nth, int fault) {
  weir_fault_set("any", nth, 1, fault);
  weir_log *log;
  weir_error error;
  if (weir_open(directory, options, &log, NULL, &error) != WEIR_OK) _exit(3);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 350; i++) {
    if (capture_numbered(log, type, 0, *accepted_by_child, FILLER, NULL) == WEIR_ACCEPTED) ++*accepted_by_child;
  }
  weir_close(log, &error);
  _exit(weir_fault_count() >= nth ? 4 : 0);
}

static void test_kills(const char *name, uint64_t retain_bytes, uint64_t max_bytes, int fault) {
  test(name);
  uint64_t nth = 1, rounds = 0, died = 0, failed = checks_failed;
  char *model = scratch();
  make_log(join(model, "log"), 1200);
  for (int status = 1; status != 0 && nth < 3000 && checks_failed == failed;
       nth += nth < 60 ? 1 : 1 + random_below(6)) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    char command[9000];
    snprintf(command, sizeof command, "cp -a '%s/log' '%s'", model, directory);
    REQUIRE(system(command) == 0);
    weir_options options = small_options();
    options.full_wait_ns = 5000000; /* with a fault the log may not grow: nobody waits for that for ever */
    options.retain_bytes = retain_bytes;
    options.max_bytes = max_bytes;
    options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
    *accepted_by_child = 1200;
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) live_and_die(directory, &options, nth, fault);
    status = wait_for(child);
    died += status == 1000 + SIGKILL;
    check_conserved(directory, *accepted_by_child, 1);
    close_and_free(open_with(directory, &options, NULL));
    weir_stat once = check_conserved(directory, *accepted_by_child, 1);
    if (max_bytes) CHECK(once.total_bytes <= max_bytes);
    close_and_free(open_with(directory, &options, NULL));
    weir_stat twice = check_conserved(directory, *accepted_by_child, 1);
    CHECK(twice.removed >= once.removed && twice.next_offset == once.next_offset);
    if (checks_failed > failed) fprintf(stderr, "%s: call %" PRIu64 ", kept for a look: %s\n", name, nth, folder);
    else scratch_remove(folder);
    rounds++;
  }
  scratch_remove(model);
  CHECK(rounds > 60);
  if (fault == WEIR_FAULT_KILL) CHECK(died > 60);
  printf("%s: %" PRIu64 " rounds, %" PRIu64 " kills\n", name, rounds, died);
}

int main(void) {
  random_start("retention_test");
  accepted_by_child = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(accepted_by_child != MAP_FAILED);
  test_least();
  test_refuse();
  test_refuse_killed(NULL);
  test_refuse_killed("ring");
  test_displace_unsealed();
  test_displace();
  test_retain_bytes();
  test_retain_age();
  test_delivered();
  test_by_hand();
  test_follower();
  test_damaged_start();
  test_start_of_another_log();
  test_newer_start();
  test_kills("case 10: killed at each system call while segments are removed by their size", 2 * SEGMENT, 0,
             WEIR_FAULT_KILL);
  uint64_t least = least_limit(WEIR_LIMIT_DROP_OLDEST);
  test_kills("case 10: killed at each system call while segments are removed for the byte limit", 0, least,
             WEIR_FAULT_KILL);
  test_kills("each system call fails once with EIO while segments are removed", 2 * SEGMENT, 0, EIO);
  return finish();
}
