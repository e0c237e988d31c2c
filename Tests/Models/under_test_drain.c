/* under_test_drain.c: drain.c itself, and the door to what is static in it. Compiled like the sources under test. */
#include "drain/drain.c" /* in Sources/CWeir */

#include "under_test.h"

void sleep_once(event_log *log) { sleep_deep(log); }

int begin_next_segment(event_log *log) { return roll(log); }

int full_drain(event_log *log) {
  uint64_t moved;
  return drain_all(log, &moved) == DRAIN_COMPLETE;
}
