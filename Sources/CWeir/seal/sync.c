/* sync.c: waiting until the disk has what was captured. See weir.h; the sealer does the work. */
#include <errno.h>
#include <stdlib.h>

#include "capture/callers.h"
#include "capture/lane.h"
#include "seal/sealer.h"
#include "system/error.h"
#include "system/system.h"

/* The status and the error that the caller of a wait gets. */
static weir_status status_of_wait(const intake *intake, const sync_wait *wait, weir_error *error) {
  switch (wait->result) {
    case SYNC_PENDING: /* not after it was settled */
    case SYNC_DURABLE: return WEIR_OK;
    case SYNC_LOST:
      return fail(error, WEIR_ERROR_LOST, 0, intake->held->path,
                  "the event will not be durable in %s: it was overwritten by later ones, or damaged in memory, before "
                  "it was in the log", intake->held->path);
    case SYNC_UNKNOWN:
      return fail(error, WEIR_ERROR_LOST, 0, intake->held->path,
                  "whether the event was overwritten before it was in the log %s is not known any more: wait for an "
                  "event soon after its capture", intake->held->path);
    case SYNC_NOT_DRAINED:
      return log_lock_fail(intake->held, wait->error, "write events (they stay in the ring) to", error);
    case SYNC_TIMEOUT:
      return fail(error, WEIR_ERROR_TIMEOUT, 0, intake->held->path,
                  "the disk did not sync %s within the time given; ask again later", intake->held->path);
    case SYNC_CLOSED: return callers_closed(intake, error);
    case SYNC_FAILED: break;
  }
  return log_lock_fail(intake->held, wait->error, "sync", error);
}

static void notify_and_free(const intake *intake, sync_wait *wait) {
  weir_error error = {0};
  weir_status status = status_of_wait(intake, wait, &error);
  lane_begin_host_call();
  wait->notify(wait->context, status, status == WEIR_OK ? NULL : &error);
  lane_end_host_call();
  free(wait);
}

/*
 * Begins to wait for an event. OK: `wait` is settled, or will be. In a closed log only durable events are known,
 * because its ring is gone.
 */
static weir_status wait_for_event(intake *intake, weir_id id, sync_wait *wait, int *settled, weir_error *error) {
  wait->lane = (uint32_t)(id.sequence >> 48);
  wait->position = (id.sequence & 0xffffffffffff) << 3;
  int known = id.opening == intake->producer.opening && wait->lane < lanes_in_play(intake);
  int open = callers_enter(intake);
  if (known && open) {
    const lane_control *control = intake->lanes[wait->lane].control;
    known = wait->position < __atomic_load_n(&control->tail, __ATOMIC_RELAXED);
  }
  if (known) *settled = sealer_add(intake->sealer, wait);
  if (open) callers_leave(intake);
  if (known) return WEIR_OK;
  return fail(error, WEIR_ERROR_INVALID, 0, intake->held->path,
              "the id %016llx%016llx is of no event that this opening of %s captured; give the id of an accepted "
              "capture", (unsigned long long)id.opening, (unsigned long long)id.sequence, intake->held->path);
}

static void await(intake *intake, sync_wait *wait, uint64_t deadline) {
  callers_work(intake, deadline); /* settles it, if nobody did meanwhile */
  sealer_await(intake->sealer, wait, deadline);
}

weir_status weir_durable(weir_log *producer, weir_id id, uint64_t timeout_ns, weir_error *error) {
  intake *intake = intake_of(producer);
  if (lane_log_state(intake) == STATE_DETACHED) return callers_closed(intake, error);
  sync_wait wait = {0};
  int settled;
  weir_status status = wait_for_event(intake, id, &wait, &settled, error);
  if (status != WEIR_OK) return status;
  if (!settled) await(intake, &wait, sys_deadline(timeout_ns));
  return status_of_wait(intake, &wait, error);
}

weir_status weir_durable_notify(weir_log *producer, weir_id id,
                                void (*notify)(void *context, weir_status status, const weir_error *error),
                                void *context, weir_error *error) {
  intake *intake = intake_of(producer);
  if (lane_log_state(intake) == STATE_DETACHED) return callers_closed(intake, error);
  if (!notify) {
    return fail(error, WEIR_ERROR_INVALID, 0, intake->held->path,
                "there is no function to tell when an event of %s is durable", intake->held->path);
  }
  sync_wait *wait = (sync_wait *)calloc(1, sizeof *wait);
  if (!wait) {
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, intake->held->path, "out of memory to wait for %s",
                intake->held->path);
  }
  wait->announce = notify_and_free;
  wait->notify = notify;
  wait->context = context;
  int settled;
  weir_status status = wait_for_event(intake, id, wait, &settled, error);
  if (status != WEIR_OK) free(wait);
  else if (settled) notify_and_free(intake, wait);
  return status;
}

weir_status weir_sync(weir_log *producer, uint64_t timeout_ns, uint64_t *next_offset, weir_error *error) {
  intake *intake = intake_of(producer);
  if (!callers_enter(intake)) return callers_closed(intake, error);
  sync_wait wait = {.lane = NOTICE_LANE};
  sealer_add(intake->sealer, &wait);
  await(intake, &wait, sys_deadline(timeout_ns));
  if (next_offset) *next_offset = weir_durable_offset(producer);
  callers_leave(intake);
  return status_of_wait(intake, &wait, error);
}

uint64_t weir_durable_offset(const weir_log *log) {
  const intake *intake = (const struct intake *)log;
  return __atomic_load_n(&intake->sealer->durable_offset, __ATOMIC_ACQUIRE); /* D2 */
}
