/* callers.c: see callers.h. */
#include "capture/callers.h"

#include "capture/lane.h"
#include "system/error.h"

int callers_enter(event_log *log) {
  if (lane_log_state(log) != STATE_OPEN) return 0;
  pthread_mutex_lock(&log->wait_lock);
  int open = lane_log_state(log) == STATE_OPEN;
  if (open) log->waiters++;
  pthread_mutex_unlock(&log->wait_lock);
  return open;
}

int callers_enter_counters(event_log *log) {
  if (lane_log_state(log) == STATE_DETACHED) return 0;
  pthread_mutex_lock(&log->wait_lock);
  int there = !log->counters_kept;
  if (there) log->waiters++;
  pthread_mutex_unlock(&log->wait_lock);
  return there;
}

void callers_leave(event_log *log) {
  pthread_mutex_lock(&log->wait_lock);
  log->waiters--;
  pthread_cond_broadcast(&log->wait_done);
  pthread_mutex_unlock(&log->wait_lock);
}

weir_status callers_closed(const event_log *log, weir_error *error) {
  return fail(error, WEIR_ERROR_CLOSED, 0, log->held.path,
              "the log %s is closed, or belongs to the process this one was forked from", log->held.path);
}
