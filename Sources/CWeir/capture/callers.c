/* callers.c: see callers.h. */
#include "capture/callers.h"

#include "capture/lane.h"
#include "system/error.h"

int callers_enter(intake *intake) {
  if (lane_log_state(intake) != STATE_OPEN) return 0;
  pthread_mutex_lock(&intake->callers.lock);
  int open = lane_log_state(intake) == STATE_OPEN;
  if (open) intake->callers.count++;
  pthread_mutex_unlock(&intake->callers.lock);
  return open;
}

int callers_enter_counters(intake *intake) {
  if (lane_log_state(intake) == STATE_DETACHED) return 0;
  pthread_mutex_lock(&intake->callers.lock);
  int there = !intake->counters_kept;
  if (there) intake->callers.count++;
  pthread_mutex_unlock(&intake->callers.lock);
  return there;
}

void callers_leave(intake *intake) {
  pthread_mutex_lock(&intake->callers.lock);
  intake->callers.count--;
  pthread_cond_broadcast(&intake->callers.settled);
  pthread_mutex_unlock(&intake->callers.lock);
}

void callers_await(intake *intake) {
  callers *callers = &intake->callers;
  while (callers->count > 0) pthread_cond_wait(&callers->settled, &callers->lock);
}

weir_status callers_closed(const intake *intake, weir_error *error) {
  const char *reason = lane_log_state(intake) == STATE_DETACHED
                           ? "belongs to the process that opened it, not to its fork" : "is closed";
  return fail(error, WEIR_ERROR_CLOSED, 0, intake->held->path, "the log %s %s", intake->held->path, reason);
}
