/*
 * interval_test.c: a long drain interval is a limit on how late events come into the log, not on how fast: a lane that
 * fills up has the drainer come at once, so that nothing is refused, and nobody waits, for want of its interval's end.
 */
#include "capture_check.h"
#include "drainer.h"

/* Whether the drainer has come for a lane that got half full; ends the test where it naps on instead. */
static int has_come(weir_log *log, uint64_t captured, uint64_t half) {
  weir_counters counters;
  int naps = drainer_naps(log);
  weir_count(log, &counters);
  if (captured - counters.drained < half) return 1;
  return !CHECK(!naps);
}

/*
 * More than half of a lane is captured, over and over, and the drainer waited for. Twelve
 * rounds halve the naps nine times at most, to 9.8 ms: only before naps of 1 ms the drainer does not look at the tails.
 */
static void fill(uint64_t wait_ns, uint32_t policy) {
  enum { BYTES = 200, EACH = 100, HALF = 150, ROUNDS = 12 }; /* half a lane and a sixteenth, of 264 */
  char *path = scratch();
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.lane_bytes = 65536;
  options.max_event_bytes = 1024;
  options.drain_interval_ns = 10000000000;
  options.full_wait_ns = wait_ns;
  options.full_policy = policy;
  weir_log *log;
  REQUIRE(weir_open(path, &options, &log, NULL, NULL) == WEIR_OK);
  uint32_t type = define_numbered(log);
  weir_counters counters;
  uint64_t number = 0;
  uint32_t shorter = 0;
  for (uint64_t round = 0; round < ROUNDS && checks_failed == 0; round++) {
    for (int i = 0; i < EACH; i++) CHECK_EQUAL(capture_numbered(log, type, 0, number++, BYTES, NULL), WEIR_ACCEPTED);
    CHECK_AWAIT(has_come(log, number, HALF));
    shorter |= __atomic_load_n(&((event_log *)log)->drainer.shorter, __ATOMIC_RELAXED);
  }
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, number);
  CHECK_EQUAL(counters.overwritten, 0);
  CHECK(shorter > 0); /* so that producers need not ring */
  close_and_free(log);
  scratch_remove(path);
}

static void test_long_interval(const char *name, uint64_t wait_ns, uint32_t policy) {
  enum { LOGS = 25 };
  test(name);
  for (int i = 0; i < LOGS && checks_failed == 0; i++) fill(wait_ns, policy);
}

int main(void) {
  test_long_interval("drop newest", 0, WEIR_FULL_DROP_NEWEST);
  test_long_interval("block", UINT64_MAX, WEIR_FULL_DROP_NEWEST);
  test_long_interval("drop oldest", 0, WEIR_FULL_DROP_OLDEST);
  return finish();
}
