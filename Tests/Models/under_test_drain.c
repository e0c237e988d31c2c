/* under_test_drain.c: drainer.c itself, and the door to what is static in it. Compiled like the sources under test. */
#include "drain/drainer.c" /* in Sources/CWeir */

#include "seal/finish.h"
#include "under_test.h"

void sleep_once(event_log *log) { sleep_deep(&log->drainer); }

void pass_once(event_log *log) {
  uint64_t moved;
  drainer_pass(&log->drainer, NULL, &moved);
}

int begin_next_segment(event_log *log) {
  sealer *sealer = &log->sealer;
  if (!roll(&log->drainer)) return 0;
  /* The models have no sealer. */
  const finisher finisher = {.next_prepared = &log->preparer.next_prepared,
                             .sync_failed = ring_sync_failed(&log->intake)};
  segment *full = sealer->first_done;
  sealer->first_done = sealer->last_done = NULL;
  sealer->finished++;
  return finish_segments(&finisher, full).error == 0;
}

int full_drain(event_log *log) {
  uint64_t moved;
  return drainer_drain(&log->drainer, NULL, &moved) == DRAIN_COMPLETE;
}
