/* callers.c: see callers.h. */
#include "capture/callers.h"

#include "capture/lane.h"
#include "system/error.h"
#include "system/thread.h"

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

void callers_work(intake *intake, uint64_t deadline) {
  callers *callers = &intake->callers;
  if (!intake->work) return;
  pthread_mutex_lock(&callers->lock);
  while (callers->working && lane_log_state(intake) == STATE_OPEN) {
    if (thread_wait(&callers->settled, &callers->lock, deadline)) break;
  }
  int mine = !callers->working && lane_log_state(intake) == STATE_OPEN;
  if (mine) callers->working = 1;
  pthread_mutex_unlock(&callers->lock);
  if (!mine) return;
  intake->work(intake->drainer);
  pthread_mutex_lock(&callers->lock);
  callers->working = 0;
  pthread_cond_broadcast(&callers->settled);
  pthread_mutex_unlock(&callers->lock);
}

void callers_keep_work(intake *intake) {
  callers *callers = &intake->callers;
  pthread_mutex_lock(&callers->lock);
  while (callers->working) pthread_cond_wait(&callers->settled, &callers->lock);
  callers->working = 1;
  pthread_mutex_unlock(&callers->lock);
}

weir_status callers_closed(const intake *intake, weir_error *error) {
  const char *reason = lane_log_state(intake) == STATE_DETACHED
                           ? "belongs to the process that opened it, not to its fork" : "is closed";
  return fail(error, WEIR_ERROR_CLOSED, 0, intake->held->path, "the log %s %s", intake->held->path, reason);
}
