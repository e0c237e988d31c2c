/*
 * interval_test.c: a long drain interval is a limit on how late events come into the log, not on how fast: a lane that
 * fills up has the drainer come at once, so that nothing is refused, and nobody waits, for want of its interval's end.
 */
#include "capture_check.h"

static void test_long_interval(const char *name, uint64_t wait_ns, uint32_t policy) {
  test(name);
  enum { EVENTS = 3000, BYTES = 200, PAUSE = 50 };
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
  uint64_t started = now_ns(), refused = 0;
  for (uint64_t number = 0; number < EVENTS; number++) {
    refused += capture_numbered(log, type, 0, number, BYTES, NULL) != WEIR_ACCEPTED;
    /* Time for the drainer to come: only a machine that keeps it from the processor for longer refuses anything. */
    if (number % PAUSE == PAUSE - 1) sleep_ns(2000000);
  }
  uint64_t took = now_ns() - started;
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted + refused, EVENTS);
  CHECK(refused + counters.overwritten < EVENTS / 4); /* eleven lanes' worth went through one lane */
  CHECK(took < UINT64_C(5000000000));                 /* half the interval: nobody waited for it */
  close_and_free(log);
  scratch_remove(path);
}

int main(void) {
  test_long_interval("drop newest", 0, WEIR_FULL_DROP_NEWEST);
  test_long_interval("block", UINT64_MAX, WEIR_FULL_DROP_NEWEST);
  test_long_interval("drop oldest", 0, WEIR_FULL_DROP_OLDEST);
  return finish();
}
