/*
 * retention_failure_test.c: bounds of a log whose disk fails, or whose `start` is another's: nothing that was accepted
 * goes without being counted, and no more goes than has to.
 */
#include "retention_check.h"

/* ---- A sync that failed ------------------------------------------------------------------------------------------ */

/* Captures `count`; what is refused is captured once more: beyond so many segments that wait for the disk none are. */
static void capture_all(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  uint64_t accepted = 0;
  for (uint64_t until = now_ns() + HANG_NS; accepted < count && now_ns() < until;) {
    int32_t answer = capture_numbered(log, type, 0, from + accepted, FILLER, NULL);
    accepted += answer == WEIR_ACCEPTED;
    if (answer != WEIR_ACCEPTED) sleep_ns(1000000);
  }
  CHECK_EQUAL(accepted, count);
}

/* Until all is drained, and where the disk is well again on it. */
static void await(weir_log *log, weir_status (*what)(weir_log *, uint64_t, uint64_t *, weir_error *)) {
  weir_error error = {0};
  if (!CHECK_AWAIT(what(log, HANG_NS, NULL, &error) == WEIR_OK)) fprintf(stderr, "%s: %s\n", test_name, error.message);
}

/* As if a sync of the active segment had failed: it is copied once it is full. With nobody capturing. Its base. */
static uint64_t poison_active(weir_log *log) {
  await(log, weir_drain);
  segment *active = ((event_log *)log)->sealer.active;
  REQUIRE(active);
  active->poisoned = 1;
  return active->base_offset;
}

static void test_stuck(int heals) {
  test(heals ? "a segment that is sealed after its successors keeps them from being removed before it"
             : "a segment that could not be sealed at all keeps its successors, until recovery has sealed it");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.retain_bytes = 2 * SEGMENT;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  capture_all(log, type, 0, 1000);
  uint64_t base = poison_active(log);
  weir_fault_set("sys_rename", 1, 1000000, ENOSPC); /* which only the copy is given its name with */
  capture_all(log, type, 1000, 2000);
  weir_error error;
  await(log, weir_drain);
  CHECK(weir_sync(log, UINT64_MAX, NULL, &error) != WEIR_OK);
  weir_stat stat = stat_of(directory);
  CHECK_AWAIT((stat = stat_of(directory), stat.removed > 0)); /* the sealer has its own pace */
  CHECK(stat.first_offset <= base);
  if (stat.first_offset > base) fprintf(stderr, "%s: %" PRIu64 " > %" PRIu64 "\n", test_name, stat.first_offset, base);
  if (heals) {
    weir_fault_set(NULL, 0, 0, 0);
    await(log, weir_sync);
    close_and_free(log);
  } else {
    CHECK(weir_close(log, &error) != WEIR_OK);
    weir_free(log);
    weir_fault_set(NULL, 0, 0, 0);
  }
  /* Whatever the bounds of the opening that recovers it. */
  options.retain_bytes = 1;
  close_and_free(open_with(directory, &options, NULL));
  stat = check_conserved(directory, 3000, 0);
  CHECK(stat.first_offset > base);
  scratch_remove(folder);
}

/* The log is at its limit when a segment is to be copied: older ones make room, also where hardly any are there. */
static void test_copy_at_limit(uint64_t more) {
  test("at the byte limit the oldest segments make room for the copy of one whose sync failed");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + more;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  capture_all(log, type, 0, 3000);
  poison_active(log);
  capture_all(log, type, 3000, 2000);
  await(log, weir_sync);
  close_and_free(log);
  CHECK(stat_of(directory).total_bytes <= options.max_bytes);
  check_conserved(directory, 5000, 0);
  scratch_remove(folder);
}

/* ---- What can't be unlinked -------------------------------------------------------------------------------------- */

static void test_unlink_fails(void) {
  test("while segments can't be unlinked, not one after the other is given up for room that does not come");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.full_wait_ns = 1000000;
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + 10 * SEGMENT;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t accepted = 0, before = 0;
  for (int i = 0; i < 1000000 && accepted < 4000; i++) accepted += capture_watched(log, type, accepted, 1, 0);
  before = stat_of(directory).removed;
  CHECK(before > 0);
  weir_fault_set("sys_unlink", 1, 1000000, EIO);
  for (int i = 0; i < 1500; i++) accepted += capture_watched(log, type, accepted, 1, 0);
  CHECK(stat_of(directory).removed <= before + 2 * SEGMENT / FILLER);
  CHECK(stat_of(directory).total_bytes <= options.max_bytes);
  weir_fault_set(NULL, 0, 0, 0);
  uint64_t goal = accepted + 2000;
  for (int i = 0; i < 1000000 && accepted < goal; i++) accepted += capture_watched(log, type, accepted, 1, 0);
  CHECK_EQUAL(accepted, goal);
  close_and_free(log);
  check_conserved(directory, accepted, 0);
  scratch_remove(folder);
}

/* ---- Another log's start ----------------------------------------------------------------------------------------- */

static void copy_start(const char *from, const char *to) {
  char command[9000];
  snprintf(command, sizeof command, "cp '%s/" START_NAME "' '%s/" START_NAME "'", from, to);
  REQUIRE(system(command) == 0);
}

static void make_retained(const char *directory, uint64_t count) {
  weir_options options = small_options();
  options.retain_bytes = 2 * SEGMENT;
  weir_log *log = open_with(directory, &options, NULL);
  capture_all(log, define_numbered(log), 0, count);
  close_and_free(log);
}

/* `ours` events are in the log; `others` were captured in that whose start it is given. */
static void test_foreign_start(uint64_t ours, uint64_t others, uint64_t retain_bytes) {
  test("for the start of another log no segment is removed");
  char *folder = scratch();
  const char *directory = join(folder, "log"), *other = join(folder, "other");
  make_log(directory, ours);
  make_retained(other, others);
  copy_start(other, directory);
  uint64_t segments = stat_of(other).segments;
  CHECK(segments > 0 && stat_of(other).removed > 0);
  weir_options options = small_options();
  options.retain_bytes = retain_bytes;
  weir_recovery recovery;
  close_and_free(open_with(directory, &options, &recovery));
  CHECK_EQUAL(recovery.start_damaged, 1);
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK(access(join(directory, "quarantine/" START_NAME "-0"), F_OK) == 0 ||
        access(join(directory, "quarantine/" START_NAME "-1"), F_OK) == 0);
  uint64_t removed = stat_of(directory).removed;
  CHECK_EQUAL(stat_of(directory).events + removed, ours);
  if (retain_bytes == 0) CHECK_EQUAL(read_from(directory, 0).events, ours);
  close_and_free(open_with(directory, &options, &recovery));
  CHECK_EQUAL(recovery.start_damaged, 0);
  scratch_remove(folder);
}

/* Opens it once more, with its bounds. */
static void check_kept(const char *directory) {
  weir_options options = small_options();
  options.retain_bytes = 2 * SEGMENT;
  weir_recovery recovery;
  uint64_t first = stat_of(directory).first_offset;
  close_and_free(open_with(directory, &options, &recovery));
  CHECK_EQUAL(recovery.start_damaged, 0);
  CHECK(stat_of(directory).first_offset >= first && first > 0);
}

static void test_own_start(void) {
  test("a start is believed where the segment after it has a damaged header, is gone, or where no segment is left");
  char *folder = scratch(), command[9000];
  const char *directory = join(folder, "log");
  segment_list list;
  make_retained(directory, 2000);
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  REQUIRE(segment_list_read(fd, &list) == 0 && list.count > 1);
  int file = openat(fd, list.items[0].name, O_RDWR);
  uint8_t byte;
  REQUIRE(pread(file, &byte, 1, offsetof(segment_header, previous_salt)) == 1);
  byte ^= 1;
  REQUIRE(pwrite(file, &byte, 1, offsetof(segment_header, previous_salt)) == 1);
  close(file);
  check_kept(directory);
  REQUIRE(unlinkat(fd, list.items[0].name, 0) == 0);
  check_kept(directory);
  segment_list_free(&list);
  close(fd);
  snprintf(command, sizeof command, "rm '%s'/*.weir", directory);
  REQUIRE(system(command) == 0);
  check_kept(directory);
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  capture_all(log, define_numbered(log), 0, 500);
  close_and_free(log);
  check_kept(directory);
  scratch_remove(folder);
}

int main(void) {
  random_start("retention_failure_test");
  test_stuck(1);
  test_stuck(0);
  test_copy_at_limit(10 * SEGMENT);
  test_copy_at_limit(SEGMENT);
  test_unlink_fails();
  test_foreign_start(1000, 3000, 0);
  test_foreign_start(3000, 1200, 0);
  test_foreign_start(1000, 3000, 1);
  test_own_start();
  return finish();
}
