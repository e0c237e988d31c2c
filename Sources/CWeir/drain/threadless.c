/*
 * threadless.c: the work of a log without threads: what the drainer, the sealer and the preparer do in other logs, one
 * after the other, on the thread of a caller.
 *
 * What it keeps true: one caller at a time has the work (callers_work), and the mutex under which it is handed on
 * orders all that one did before what the next one does. So the drainer, the sealer and the preparer see what they see
 * where each has a thread of its own, and the orders between them hold by the order of the program. Those between them
 * and the captures are the same as ever.
 *
 * A pass that lacks a segment ends, and lets go of its lane; the full segments are sealed, older ones removed if the
 * byte limit asks for it, the next segment is made, and the next pass goes on. It goes on to the goal only: captures at
 * the same time would otherwise keep a caller draining for ever.
 */
#include "drain/threadless.h"

#include "capture/callers.h"
#include "drain/preparer.h"
#include "seal/sealer.h"
#include "system/invariant.h"

void threadless_work(drainer *drainer) {
  drain_goal goal;
  drainer_wake(drainer);
  drainer_set_goal(drainer, &goal);
  for (;;) {
    uint64_t moved;
    drain_result result = drainer_pass(drainer, &goal, &moved);
    sealer_work(drainer->sealer); /* also before a segment is made: only sealed segments make room */
    if (result == DRAIN_COMPLETE) return;
    if (drainer->stall_error != 0) {
      INVARIANT(drainer->stalled_for >= goal.requested); /* the failure is no older than who asked: each was told */
      return;
    }
    preparer_work(drainer->preparer);
  }
}

void threadless_end(drainer *drainer) {
  callers_keep_work(drainer->intake);
  drainer_stop(drainer);
  threadless_work(drainer);
}
