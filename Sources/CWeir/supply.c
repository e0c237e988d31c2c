/*
 * supply.c: the two helper threads that keep the drainer from ever waiting for the disk. The preparer makes, allocates
 * and populates the next segment; the sealer syncs, renames and unmaps the full ones. Without threads (in recovery)
 * both happen in place.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "log.h"
#include "system.h"

/* Under the mutex, like take_ready. */
static void put_ready(supply *supply, segment *made) {
  segment **last = &supply->ready;
  while (*last) last = &(*last)->next;
  made->next = NULL;
  *last = made;
  supply->ready_count++;
}

static segment *take_ready(supply *supply) {
  segment *taken = supply->ready;
  if (!taken) return NULL;
  supply->ready = taken->next;
  taken->next = NULL;
  supply->ready_count--;
  return taken;
}

static void *prepare_main(void *argument) {
  event_log *log = argument;
  supply *supply = &log->supply;
  pthread_mutex_lock(&supply->mutex);
  for (;;) {
    while (!supply->stopping && (!supply->wanted || supply->ready_count >= supply->depth)) {
      pthread_cond_wait(&supply->preparer_wakes, &supply->mutex);
    }
    if (supply->stopping) break;
    uint64_t number = supply->next_prepared++;
    pthread_mutex_unlock(&supply->mutex);
    int error = 0;
    segment *made = segment_prepare(log->directory, number, log->options.segment_bytes, &error);
    pthread_mutex_lock(&supply->mutex);
    if (made) put_ready(supply, made);
    supply->prepare_error = error;
    /* After a failure the drainer asks again when it retries. */
    supply->wanted = made && supply->ready_count < supply->depth;
    int hungry = supply->hungry;
    supply->hungry = 0;
    if (!hungry) continue;
    pthread_mutex_unlock(&supply->mutex);
    lane_ring_bell(log);
    pthread_mutex_lock(&supply->mutex);
  }
  pthread_mutex_unlock(&supply->mutex);
  return NULL;
}

/* The oldest full segments, as many as are retired in one go: not more, for a weir_sync may wait for the first. */
static segment *take_done(supply *supply, uint64_t *count) {
  enum { MOST = 8 };
  segment *first = supply->first_done, *last = first;
  *count = first != NULL;
  if (!first) return NULL;
  for (; last->next && *count < MOST; last = last->next) ++*count;
  supply->first_done = last->next;
  if (!supply->first_done) supply->last_done = NULL;
  last->next = NULL;
  return first;
}

static void *seal_main(void *argument) {
  supply *supply = &((event_log *)argument)->supply;
  pthread_mutex_lock(&supply->mutex);
  for (;;) {
    while (!supply->stopping && !supply->first_done) pthread_cond_wait(&supply->sealer_wakes, &supply->mutex);
    uint64_t count;
    segment *done = take_done(supply, &count);
    if (!done) break; /* stopping, and nothing is left to seal */
    pthread_mutex_unlock(&supply->mutex);
    int error = segment_retire(done);
    pthread_mutex_lock(&supply->mutex);
    if (error != 0 && supply->seal_error == 0) supply->seal_error = error;
    supply->retired += count;
    pthread_cond_broadcast(&supply->sealed);
  }
  pthread_mutex_unlock(&supply->mutex);
  return NULL;
}

/* A thread that never takes one of the host's signals. */
int start_thread(pthread_t *thread, void *(*main)(void *), void *argument, const char *name) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(thread, NULL, main, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error == 0) pthread_setname_np(*thread, name);
  return error == EAGAIN ? -ENOMEM : -error; /* no more threads: nothing that another writer could end */
}

static void tell_to_stop(supply *supply) {
  pthread_mutex_lock(&supply->mutex);
  supply->stopping = 1;
  pthread_cond_broadcast(&supply->preparer_wakes);
  pthread_cond_broadcast(&supply->sealer_wakes);
  pthread_mutex_unlock(&supply->mutex);
}

static void end_thread(supply *supply, pthread_t thread) {
  tell_to_stop(supply);
  pthread_join(thread, NULL);
}

weir_status supply_start(event_log *log, weir_error *error) {
  supply *supply = &log->supply;
  int result = start_thread(&supply->preparer, prepare_main, log, "weir-prepare");
  if (result == 0) {
    result = start_thread(&supply->sealer, seal_main, log, "weir-seal");
    if (result == 0) {
      supply->running = 1;
      supply->depth = 1;
      result = populator_start(log);
      if (result != 0) supply_stop(log);
    } else {
      end_thread(supply, supply->preparer);
    }
  }
  if (result != 0) return fail_system(error, result, "start the threads of", log->path, NULL);
  return WEIR_OK;
}

void supply_want(event_log *log) {
  supply *supply = &log->supply;
  if (!supply->running) return;
  populator_wake(log);
  pthread_mutex_lock(&supply->mutex);
  if (supply->ready_count < supply->depth && !supply->wanted) {
    supply->wanted = 1;
    pthread_cond_signal(&supply->preparer_wakes);
  }
  pthread_mutex_unlock(&supply->mutex);
}

/* How many full segments may wait to be synced: what they hold is what a recovery would have to scan. */
static uint64_t waiting_limit(const event_log *log) {
  uint64_t count = MAX_WAITING_BYTES / log->options.segment_bytes;
  if (count < LEAST_WAITING_SEGMENTS) return LEAST_WAITING_SEGMENTS;
  return count < MAX_WAITING_SEGMENTS ? count : MAX_WAITING_SEGMENTS;
}

/*
 * Why there is no segment although the drainer needed one, or 0: then one is to be made now. A try that was made ahead
 * of time says nothing, for the disk may have been freed since; and each failure is told of once, so that whoever asks
 * again has the disk asked again. Under the mutex.
 */
static int take_failure(supply *supply) {
  if (supply->wanted) {
    supply->needed = 1;
    return 0;
  }
  int error = supply->needed ? supply->prepare_error : 0;
  supply->needed = error == 0;
  supply->prepare_error = 0;
  return error;
}

segment *supply_take(event_log *log, int *error) {
  supply *supply = &log->supply;
  *error = 0;
  if (!supply->running) {
    return segment_prepare(log->directory, supply->next_prepared++, log->options.segment_bytes, error);
  }
  pthread_mutex_lock(&supply->mutex);
  segment *taken = NULL;
  /* A bound on what waits for a slow disk: beyond it the lanes fill, and captures say so. */
  if (supply->queued - supply->retired < waiting_limit(log)) {
    taken = take_ready(supply);
    if (!taken) {
      *error = take_failure(supply);
      supply->hungry = 1;
      if (supply->depth < MAX_READY_SEGMENTS) supply->depth++;
    }
  }
  pthread_mutex_unlock(&supply->mutex);
  if (!taken && *error == 0) supply_want(log);
  return taken;
}

/* Puts a full segment at the end of the sealer's queue. Under the mutex. */
static void queue(supply *supply, segment *done) {
  done->next = NULL;
  if (supply->last_done) supply->last_done->next = done;
  else supply->first_done = done;
  supply->last_done = done;
  supply->queued++;
  pthread_cond_signal(&supply->sealer_wakes);
}

int supply_change(event_log *log, segment *next) {
  supply *supply = &log->supply;
  /* In one step: a weir_sync that sees the new one as the active one must find the old one in the queue. */
  pthread_mutex_lock(&supply->mutex);
  segment *done = log->active;
  log->active = next;
  if (done && supply->running) queue(supply, done);
  pthread_mutex_unlock(&supply->mutex);
  return done && !supply->running ? segment_retire(done) : 0;
}

int supply_settle(event_log *log, uint64_t deadline_ns) {
  supply *supply = &log->supply;
  struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000), .tv_nsec = (long)(deadline_ns % 1000000000)};
  int result = 0;
  pthread_mutex_lock(&supply->mutex);
  uint64_t wanted = supply->queued; /* not what comes later: under load the queue may never be empty */
  while (supply->retired < wanted && supply->seal_error == 0 && result == 0) {
    if (deadline_ns == UINT64_MAX) pthread_cond_wait(&supply->sealed, &supply->mutex);
    else if (pthread_cond_clockwait(&supply->sealed, &supply->mutex, CLOCK_MONOTONIC, &until) != 0) result = -ETIMEDOUT;
  }
  if (supply->seal_error != 0) result = supply->seal_error;
  pthread_mutex_unlock(&supply->mutex);
  return result;
}

void supply_poison(event_log *log, int error) {
  pthread_mutex_lock(&log->supply.mutex);
  if (log->supply.seal_error == 0) log->supply.seal_error = error;
  pthread_cond_broadcast(&log->supply.sealed);
  pthread_mutex_unlock(&log->supply.mutex);
}

void supply_stop(event_log *log) {
  supply *supply = &log->supply;
  populator_stop(log);
  if (supply->running) {
    end_thread(supply, supply->preparer);
    end_thread(supply, supply->sealer);
    supply->running = 0;
  }
  for (segment *left; (left = take_ready(supply));) segment_discard(left);
}
