/*
 * identity_test.c: the log's id. Each file of a log has it; it outlives whichever file is gone, damaged or of another
 * log; and what is of another log never comes among the log's events, is told of, and is left or put away.
 */
#include "capture_check.h"

#include <signal.h>

#include "format/format.h"
#include "segment/identity.h"
#include "system/crc32c.h"

static weir_log *open_tiny(const char *directory, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.overflow_bytes = 0; /* blocks begin behind the marks of the lanes */
  options.lane_bytes = 16384;
  options.max_event_bytes = 2048;
  options.segment_bytes = 1 << 18;
  weir_log *log;
  REQUIRE(weir_open(directory, &options, &log, recovery, NULL) == WEIR_OK);
  return log;
}

/* One opening: events from `from` on of the producer. The first producer's number is the log's own. */
static void live(const char *directory, uint64_t producer, uint64_t from, uint64_t count) {
  weir_log *log = open_tiny(directory, NULL);
  uint32_t type = define_numbered(log);
  for (uint64_t i = from; i < from + count; i++) {
    while (capture_numbered(log, type, producer, i, 100, NULL) != WEIR_ACCEPTED) sleep_ns(100000);
  }
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
}

static uint64_t id_of(const char *directory) {
  uint64_t log_id = 0;
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(fd >= 0 && identity_find(fd, &log_id) == 0);
  close(fd);
  return log_id;
}

static uint64_t word_at(const char *directory, const char *name, uint64_t at) {
  uint64_t word = 0;
  int fd = open(join(directory, name), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, &word, sizeof word, (off_t)at) == sizeof word);
  close(fd);
  return word;
}

static void copy_file(const char *from, const char *to) {
  char command[9000];
  snprintf(command, sizeof command, "cp -a '%s' '%s'", from, to);
  REQUIRE(system(command) == 0);
}

/* The name of the segment at a base, and that of the last one. */
static const char *segment_at(uint64_t base) {
  static char name[64];
  snprintf(name, sizeof name, "%020" PRIu64 ".weir", base);
  return name;
}

/* Every event of producer 0 from 0 to count - 1, and none of another's. */
static void check_own(const char *directory, uint64_t count, uint64_t skips) {
  found_log found = read_log(directory);
  if (skips == 0) check_sound(&found);
  CHECK_EQUAL(found.wrong, 0);
  CHECK_EQUAL(found.count, count);
  CHECK_EQUAL(check_producer(&found, 0), count);
  CHECK_EQUAL(found.skipped, skips);
  found_free(&found);
}

static uint64_t findings_of(const char *directory) {
  weir_verification sums;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &sums, NULL), WEIR_OK);
  CHECK_EQUAL(sums.missing_events, 0);
  return sums.findings;
}

/* ---- Where it is ------------------------------------------------------------------------------------------------- */

static void in_each_file(void) {
  test("each file of a log has its id, which openings keep and another log does not have");
  char *folder = scratch();
  const char *path = join(folder, "log"), *other = join(folder, "other");
  live(path, 0, 0, 10);
  live(other, 0, 0, 10);
  uint64_t log_id = id_of(path);
  CHECK(log_id != 0 && log_id != id_of(other));
  CHECK_EQUAL(word_at(path, "lock", offsetof(lock_content, log_id)), log_id);
  CHECK_EQUAL(word_at(path, "ring", offsetof(ring_header, log_id)), log_id);
  CHECK_EQUAL(word_at(path, segment_at(0), offsetof(segment_header, log_id)), log_id);
  uint64_t block = SEGMENT_HEADER_BYTES + 3 * sizeof(lane_mark);
  CHECK_EQUAL(word_at(path, segment_at(0), block + offsetof(block_header, log_id)), log_id);
  live(path, 0, 10, 10);
  CHECK_EQUAL(id_of(path), log_id);
  CHECK_EQUAL(word_at(path, segment_at(10), offsetof(segment_header, log_id)), log_id);
  weir_batching batched;
  CHECK_EQUAL(weir_batch_directory(path, 1, NULL, NULL, &batched, NULL), WEIR_OK);
  live(path, 0, 20, 10);
  CHECK_EQUAL(id_of(path), log_id);
  check_own(path, 30, 0);
  CHECK_EQUAL(findings_of(path), 0);
  scratch_remove(folder);
}

/* ---- What it outlives -------------------------------------------------------------------------------------------- */

static void one_file_fails(void) {
  test("the id outlives any one file that is gone, damaged, or of another log, and lock says it again");
  char *folder = scratch();
  const char *whole = join(folder, "whole"), *other = join(folder, "other"), *path = join(folder, "log");
  live(whole, 0, 0, 10);
  live(whole, 0, 10, 10);
  live(other, 1, 0, 10);
  live(other, 1, 10, 10);
  uint64_t log_id = id_of(whole);
  char names[4][64] = {"lock", "ring"};
  snprintf(names[2], sizeof names[2], "%s", segment_at(0));
  snprintf(names[3], sizeof names[3], "%s", segment_at(10));
  for (int file = 0; file < 4; file++) {
    for (int fate = 0; fate < 3; fate++) {
      copy_file(whole, path);
      const char *name = join(path, names[file]);
      REQUIRE(unlink(name) == 0);
      if (fate == 1) REQUIRE(close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
      if (fate == 2) copy_file(join(other, names[file]), name);
      CHECK_EQUAL(id_of(path), log_id);
      live(path, 0, 20, 10);
      CHECK_EQUAL(id_of(path), log_id);
      CHECK_EQUAL(word_at(path, "lock", offsetof(lock_content, log_id)), log_id);
      found_log found = read_log(path);
      uint64_t own = 0, others = 0;
      for (uint64_t i = 0; i < found.count; i++) {
        own += found.events[i].producer == 0;
        others += found.events[i].producer != 0;
      }
      CHECK_EQUAL(others, 0);
      CHECK_EQUAL(own, file < 2 ? 30 : 20);
      found_free(&found);
      remove_tree(path);
    }
  }
  scratch_remove(folder);
}

static void somebodys_lock(void) {
  test("somebody's file of the name lock is locked, and not written to");
  char *folder = scratch();
  const char *path = join(folder, "log");
  REQUIRE(mkdir(path, 0700) == 0);
  FILE *file = fopen(join(path, "lock"), "w");
  REQUIRE(file && fputs("a lock of another program, 64 bytes and more of words that it needs", file) >= 0);
  REQUIRE(fclose(file) == 0);
  uint64_t word = word_at(path, "lock", 0);
  live(path, 0, 0, 10);
  live(path, 0, 10, 10);
  CHECK_EQUAL(word_at(path, "lock", 0), word);
  check_own(path, 20, 0);
  scratch_remove(folder);
}

/* ---- Another log's segments -------------------------------------------------------------------------------------- */

/* A segment of another log under a name: between the log's, behind them, sealed, active or a batch. */
static void foreign_segment(uint64_t base, const char *suffix, int batch) {
  static char words[100];
  snprintf(words, sizeof words, "another log's segment at %" PRIu64 ", %s: none of its events is read", base, suffix);
  test(words);
  char *folder = scratch(), name[64];
  const char *path = join(folder, "log"), *other = join(folder, "other");
  live(path, 0, 0, 10);
  live(path, 0, 10, 10);
  live(other, 1, 0, base > 0 ? base : 7);
  live(other, 2, 0, 7);
  if (batch) CHECK_EQUAL(weir_batch_directory(other, 1, NULL, NULL, NULL, NULL), WEIR_OK);
  snprintf(name, sizeof name, "%020" PRIu64 "%s", base, suffix);
  const char *brought = join(path, name);
  copy_file(join(other, batch ? strcpy(words, name) : segment_at(base)), brought);
  check_own(path, 20, 1);
  CHECK_EQUAL(findings_of(path), 1);
  weir_tally tally;
  CHECK_EQUAL(weir_count_from(path, 0, &tally, NULL), WEIR_OK);
  CHECK_EQUAL(tally.in_segments, 20);
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(path, &stat, NULL), WEIR_OK);
  CHECK(stat.damaged && stat.events == 20 && stat.segments == 2);
  weir_recovery recovery;
  weir_log *log = open_tiny(path, &recovery);
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK_EQUAL(recovery.first_offset, 20);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  live(path, 0, 20, 10);
  check_own(path, 30, access(brought, F_OK) == 0);
  CHECK(access(brought, F_OK) == 0 || access(join(join(path, "quarantine"), strcat(name, "-0")), F_OK) == 0);
  scratch_remove(folder);
}

/* Events that are in the ring alone, and the process is killed. */
static void die(const char *directory, const char *rings, uint64_t producer, uint64_t from, uint64_t count) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_options options;
    weir_options_init(&options);
    options.lane_count = 3;
    options.lane_bytes = 16384;
    options.max_event_bytes = 2048;
    options.segment_bytes = 1 << 18;
    options.drain_interval_ns = UINT64_C(10000000000);
    options.ring_directory = rings;
    weir_log *log;
    if (weir_open(directory, &options, &log, NULL, NULL) != WEIR_OK) _exit(1);
    uint32_t type = define_numbered(log);
    for (uint64_t i = from; i < from + count; i++) capture_numbered(log, type, producer, i, 100, NULL);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
}

static void new_log_in_the_directory(void) {
  test("a reader goes on with the log that is opened where all files of another were deleted");
  for (int killed = 0; killed < 2; killed++) {
    char *folder = scratch(), command[9000];
    const char *path = join(folder, "log");
    live(path, 0, 0, 10);
    weir_reader *reader;
    weir_event event;
    weir_skip skip;
    REQUIRE(weir_reader_open(path, NULL, &reader, NULL) == WEIR_OK);
    uint64_t found = 0, skips = 0;
    while (weir_reader_next(reader, &event, &skip, NULL) == WEIR_OK) found++;
    CHECK_EQUAL(found, 10);
    snprintf(command, sizeof command, "rm '%s'/*", path);
    REQUIRE(system(command) == 0);
    if (killed) die(path, NULL, 0, 0, 30);
    else live(path, 0, 0, 30);
    for (weir_status status; (status = weir_reader_next(reader, &event, &skip, NULL)) <= WEIR_SKIPPED;) {
      if (status == WEIR_END) break;
      if (status == WEIR_OK) found++;
      else skips++;
    }
    CHECK_EQUAL(found, 30); /* from the offset on that the reader had come to */
    CHECK_EQUAL(skips, 0);
    weir_reader_close(reader);
    scratch_remove(folder);
  }
}

static void foreign_ring(void) {
  test("another log's ring, which begins after the end of this one, which was closed: it is put away, and told");
  char *folder = scratch();
  const char *path = join(folder, "log"), *other = join(folder, "other");
  live(path, 0, 0, 10);
  live(other, 1, 0, 50);
  die(other, NULL, 1, 50, 10);
  copy_file(join(other, "ring"), join(path, "ring"));
  check_own(path, 10, 1);
  CHECK_EQUAL(findings_of(path), 1);
  weir_recovery recovery;
  weir_log *log = open_tiny(path, &recovery);
  CHECK_EQUAL(recovery.ring_replaced, 1);
  CHECK_EQUAL(recovery.events_from_lanes, 0);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  check_own(path, 10, 0);
  CHECK_EQUAL(access(join(path, "quarantine/ring-0"), F_OK), 0);
  scratch_remove(folder);
}

static void foreign_locator(void) {
  test("another log's ring.at is put away: the ring that lies beside it is the log's, and gives what it has");
  char *folder = scratch();
  const char *path = join(folder, "log"), *other = join(folder, "other"), *rings = join(folder, "rings");
  REQUIRE(mkdir(rings, 0700) == 0);
  live(path, 0, 0, 10);
  die(path, NULL, 0, 10, 10);
  die(other, rings, 1, 0, 10);
  copy_file(join(other, "ring.at"), join(path, "ring.at"));
  check_own(path, 20, 0);
  CHECK_EQUAL(findings_of(path), 1);
  weir_recovery recovery;
  weir_log *log = open_tiny(path, &recovery);
  CHECK(!recovery.ring_vanished && !recovery.ring_replaced);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  check_own(path, 20, 0);
  CHECK_EQUAL(findings_of(path), 0);
  CHECK_EQUAL(access(join(path, "quarantine/ring.at-0"), F_OK), 0);
  live(other, 1, 10, 10); /* its ring is there still */
  scratch_remove(folder);
}

/* ---- Room for later versions ------------------------------------------------------------------------------------- */

/* Changes a byte of a header and its checksum. */
static void change(const char *file, uint64_t at, uint64_t byte, uint64_t from, uint64_t to, uint64_t crc_at) {
  uint8_t bytes[4096];
  int fd = open(file, O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, bytes, to - at, (off_t)at) == (ssize_t)(to - at));
  bytes[byte - at] = 1;
  uint32_t crc = crc32c(bytes + (from - at), to - from);
  memcpy(bytes + (crc_at - at), &crc, sizeof crc);
  REQUIRE(pwrite(fd, bytes, to - at, (off_t)at) == (ssize_t)(to - at));
  close(fd);
}

static void later_versions_room(void) {
  test("what is kept for later versions is zero: anything else is told of");
  char *folder = scratch();
  const char *path = join(folder, "log");
  uint64_t header = SEGMENT_HEADER_BYTES + 3 * sizeof(lane_mark);
  const uint64_t in_segment[] = {offsetof(segment_header, previous_chain), offsetof(segment_header, host),
                                 offsetof(segment_header, fleet), offsetof(segment_header, reserved1)};
  const uint64_t in_block[] = {offsetof(block_header, layout), offsetof(block_header, key_id),
                               offsetof(block_header, tag)};
  const uint64_t in_ring[] = {offsetof(ring_header, host), offsetof(ring_header, fleet),
                              offsetof(ring_header, reserved1)};
  for (uint64_t i = 0; i < 4; i++) {
    live(path, 0, 0, 10);
    change(join(path, segment_at(0)), 0, in_segment[i], 20, header, 16);
    CHECK(findings_of(path) > 0);
    check_own(path, 10, 0);
    remove_tree(path);
  }
  for (uint64_t i = 0; i < 3; i++) {
    live(path, 0, 0, 10);
    change(join(path, segment_at(0)), header, header + in_block[i], header + 8, header + sizeof(block_header),
           header + 4);
    CHECK(findings_of(path) > 0);
    check_own(path, 10, 1); /* a block of definitions, which the seal has too */
    remove_tree(path);
  }
  for (uint64_t i = 0; i < 3; i++) {
    live(path, 0, 0, 10);
    change(join(path, "ring"), 0, in_ring[i], 16, RING_FIXED_BYTES, 12);
    CHECK(findings_of(path) > 0);
    remove_tree(path);
  }
  scratch_remove(folder);
}

int main(void) {
  in_each_file();
  one_file_fails();
  somebodys_lock();
  foreign_segment(5, ".weir", 0);
  foreign_segment(15, ".weir", 0);
  foreign_segment(100, ".weir", 0);
  foreign_segment(100, ".weir.active", 0);
  foreign_segment(5, ".weir.active", 0);
  foreign_segment(5, ".weir.lz4", 1);
  foreign_segment(100, ".weir.lz4", 1);
  new_log_in_the_directory();
  foreign_ring();
  foreign_locator();
  later_versions_room();
  return finish();
}
