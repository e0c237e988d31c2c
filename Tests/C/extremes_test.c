/*
 * extremes_test.c: numbers at their ends: lane positions that pass 2^32 and 2^63, offsets that nobody can have given,
 * counters of the processor that step back.
 */
#include "capture_check.h"

#include "format/calibration.h"
#include "log/log.h"
#include "system/crc32c.h"

/* Makes the first lane begin at `start`, a multiple of 8. Before the first capture: then nobody looks at it. */
static void begin_lane_at(weir_log *handle, uint64_t start) {
  lane *first = &((event_log *)handle)->intake.lanes[0];
  first->drained = start;
  first->producer.limit = start;
  first->producer.position = start;
  __atomic_store_n(&first->control->head, start, __ATOMIC_SEQ_CST);
  __atomic_store_n(&first->control->tail, start, __ATOMIC_SEQ_CST);
}

enum { EVENTS = 600, FILLER = 60 };

/* Captures across the number at which positions take another bit, and closes or dies. */
static void capture_across(const char *directory, uint64_t start, int kill) {
  checks_failed = 0; /* the parent's are its own */
  weir_log *log = open_small(directory, UINT64_MAX, 4, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  begin_lane_at(log, start);
  for (uint64_t i = 0; i < EVENTS; i++) REQUIRE(capture_numbered(log, type, 0, i, FILLER, NULL) == WEIR_ACCEPTED);
  if (kill) raise(SIGKILL);
  close_and_free(log);
}

/* The first segment was begun when the lanes were at 0: that they went on elsewhere is found, and all that is. */
static void take_finding(void *context, const weir_finding *finding) {
  if (strstr(finding->problem, "lane positions")) return;
  ++*(uint64_t *)context;
  fprintf(stderr, "  %s\n", finding->problem);
}

static void positions_pass(const char *name, uint64_t number) {
  test(name);
  for (int killed = 0; killed < 2; killed++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    uint64_t start = number - 8 * (200 + random_below(1000)); /* the small lanes go round several times */
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      capture_across(directory, start, killed);
      _exit(checks_failed != 0);
    }
    CHECK_EQUAL(wait_for(child), killed ? 1000 + SIGKILL : 0);
    for (int opened = 0; opened < 2; opened++) {
      found_log found = read_log(directory);
      check_sound(&found);
      CHECK_EQUAL(check_producer(&found, 0), EVENTS);
      found_free(&found);
      uint64_t others = 0;
      CHECK_EQUAL(weir_verify(directory, take_finding, &others, NULL, NULL), WEIR_OK);
      CHECK_EQUAL(others, 0);
      if (!opened) close_and_free(open_small(directory, 0, 4, NULL));
    }
    scratch_remove(folder);
  }
}

/* ---- Offsets ----------------------------------------------------------------------------------------------------- */

static void overwrite_word(const char *path, off_t at, uint64_t word) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  REQUIRE(fd >= 0 && pwrite(fd, &word, sizeof word, at) == sizeof word);
  close(fd);
}

/* The ring's word for the log's end has no checksum; the highest of all would leave no offset to give. */
static void lost_end(void) {
  test("case 48: an end of the log that no log can have come to says nothing");
  const uint64_t words[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, LAST_FIRST_OFFSET + 1};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    weir_log *log = open_default(directory, NULL);
    REQUIRE(log);
    uint32_t type = define_numbered(log);
    for (uint64_t n = 0; n < 20; n++) CHECK_EQUAL(capture_numbered(log, type, 0, n, 10, NULL), WEIR_ACCEPTED);
    close_and_free(log);
    overwrite_word(join(directory, RING_NAME), offsetof(ring_header, log_end), words[i]);
    weir_recovery recovery;
    log = open_default(directory, &recovery);
    REQUIRE(log);
    CHECK_EQUAL(recovery.first_offset, 20);
    CHECK_EQUAL(recovery.missing_events, 0);
    type = define_numbered(log);
    for (uint64_t n = 20; n < 40; n++) CHECK_EQUAL(capture_numbered(log, type, 0, n, 10, NULL), WEIR_ACCEPTED);
    close_and_free(log);
    found_log found = read_log(directory);
    check_sound(&found);
    CHECK_EQUAL(check_producer(&found, 0), 40);
    found_free(&found);
    scratch_remove(folder);
  }
}

/* A ring that is right in itself, and begins where no offsets are left. */
static void used_up(void) {
  test("case 48: a log without offsets to give is refused, and stays as it is");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, 0, 10, NULL), WEIR_ACCEPTED);
  close_and_free(log);
  const char *ring = join(directory, RING_NAME);
  overwrite_word(ring, offsetof(ring_header, base_offset), LAST_FIRST_OFFSET + 1);
  uint8_t fixed[RING_FIXED_BYTES];
  int fd = open(ring, O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, fixed, sizeof fixed, 0) == sizeof fixed);
  uint32_t crc = crc32c(fixed + 16, sizeof fixed - 16);
  REQUIRE(pwrite(fd, &crc, sizeof crc, offsetof(ring_header, header_crc)) == sizeof crc);
  close(fd);
  uint64_t before = tree_checksum(directory);
  weir_error error;
  weir_log *refused = NULL;
  CHECK_EQUAL(weir_open(directory, NULL, &refused, NULL, &error), WEIR_ERROR_LIMIT);
  CHECK(strstr(error.message, "offsets") != NULL);
  CHECK_EQUAL(tree_checksum(directory), before);
  found_log found = read_log(directory);
  CHECK_EQUAL(check_producer(&found, 0), 1);
  found_free(&found);
  scratch_remove(folder);
}

/* ---- The clock --------------------------------------------------------------------------------------------------- */

static int64_t wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/*
 * A counter that steps back, by a virtual machine that moves: what the log measured it by then lies in the future. The
 * calibration stays the one before, events keep their order, and their times stay near.
 */
static void counter_steps_back(uint32_t clock) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  weir_options_init(&options);
  options.clock = clock;
  weir_log *handle = NULL;
  REQUIRE(weir_open(directory, &options, &handle, NULL, NULL) == WEIR_OK);
  event_log *log = (event_log *)handle;
  uint32_t type = define_numbered(handle);
  int64_t from = wall_ns();
  for (uint64_t n = 0; n < 50; n++) {
    if (n == 25) {
      /* The drainer measures when it next wakes up: at its next pass, seconds from now or with the next capture. */
      CHECK_EQUAL(weir_drain(handle, UINT64_MAX, NULL, NULL), WEIR_OK);
      log->drainer.clock.start_ticks += UINT64_C(1) << 50;
      log->drainer.clock.measure_at = 0;
    }
    CHECK_EQUAL(capture_numbered(handle, type, 0, n, 10, NULL), WEIR_ACCEPTED);
  }
  int64_t to = wall_ns();
  close_and_free(handle);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), 50);
  for (uint64_t i = 0; i < found.count; i++) {
    CHECK(found.events[i].time_ns >= from - 50000000 && found.events[i].time_ns <= to + 50000000);
  }
  found_free(&found);
  scratch_remove(folder);
}

/* Ticks below the base of their calibration, as after such a step: the time is before the base, not in another age. */
static void ticks_before_base(void) {
  test("case 49: ticks below the base of their calibration");
  const calibration now = {.base_ticks = 1000, .wall_ns = 5000000, .multiplier = UINT64_C(3) << 32};
  CHECK_EQUAL(calibration_time(&now, 1000), 5000000);
  CHECK_EQUAL(calibration_time(&now, 0), 5000000 - 3000);
  CHECK_EQUAL(calibration_time(&now, 2000), 5000000 + 3000);
  const calibration wild = {.base_ticks = UINT64_MAX, .wall_ns = INT64_MIN, .multiplier = UINT64_MAX};
  (void)calibration_time(&wild, 0); /* nonsense, but defined: UndefinedBehaviorSanitizer looks on */
  (void)calibration_time(&wild, UINT64_MAX / 2);
}

int main(void) {
  random_start("extremes_test");
  positions_pass("case 48: positions of a lane that pass 2^32", UINT64_C(1) << 32);
  positions_pass("case 48: positions of a lane that pass 2^63", UINT64_C(1) << 63);
  lost_end();
  used_up();
  test("case 49: the processor's counter steps back");
  counter_steps_back(WEIR_CLOCK_AUTO);
  test("case 49: the monotonic clock is measured against a later moment");
  counter_steps_back(WEIR_CLOCK_MONOTONIC);
  ticks_before_base();
  return finish();
}
