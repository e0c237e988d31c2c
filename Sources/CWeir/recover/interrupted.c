/*
 * interrupted.c: whether what an earlier recovery found was reported to nobody. So it is if the ring is still that
 * recovery's, or half made, or of an opening that captured nothing and was not closed: that opening may have failed, or
 * been killed, before it could report. If it did report, everything is reported twice: better than never.
 */
#include "recover/interrupted.h"

#include <errno.h>

#include "system/error.h"
#include "system/system.h"

/* Whether the ring's opening captured or refused anything. */
static int was_used(const orphan *orphan) {
  uint64_t any = 0;
  for (uint32_t i = 0; i < orphan->header.lane_count; i++) {
    const lane_control *control = &orphan->controls[i];
    any |= control->tail;
    for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) any |= control->dropped[reason - 1];
  }
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) any |= orphan->header.unlaned_dropped[reason];
  return any != 0;
}

static int is_unreported(const recovery *recovery) {
  const orphan *orphan = recovery->orphan;
  if (recovery->closed || recovery->made.closed) return 0;
  if (!orphan) return recovery->made.there;
  if (recovery->found.opening == orphan->header.opening) return 1;
  /* After a power cut an unused ring proves nothing: the cut may have taken all that was captured. */
  return !orphan->rebooted && !was_used(orphan);
}

weir_status interrupted_take(recovery *recovery) {
  const log_lock *held = recovery->held;
  unreported *found = &recovery->found;
  int result = unreported_read(held, found);
  if (result == -ENOTSUP) return fail_newer(recovery->error, recovery->held->path, RECOVERY_NAME);
  recovery->interrupted = result == 1 && is_unreported(recovery);
  if (result >= 0 && !recovery->interrupted) {
    *found = (unreported){0};
    result = unreported_remove(held);
  }
  if (result < 0) return fail_system(recovery->error, result, "read", held->path, RECOVERY_NAME);
  recovery->counted_to = found->counted_to;
  found->opening = recovery->orphan ? recovery->orphan->header.opening : 0;
  if (found->flags & UNREPORTED_TAIL) recovery->report->rebooted = recovery->report->unknown_tail = 1;
  return WEIR_OK;
}
