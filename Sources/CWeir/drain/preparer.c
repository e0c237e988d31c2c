/*
 * preparer.c: the preparer, a thread that makes, allocates and populates the next segments, so that the drainer does
 * not wait for that. It still waits for the disk where it renames the segment that it begins, and where it stores to a
 * page that is being written back. Without the preparer (in recovery) all of it happens in place.
 */
#define _GNU_SOURCE
#include "drain/preparer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/bell.h"
#include "capture/detach.h"
#include "drain/prefaulter.h"
#include "limits/byte_limit.h"
#include "limits/claim.h"
#include "limits/retention.h"
#include "seal/sealer.h"
#include "system/error.h"
#include "system/invariant.h"
#include "system/sigbus.h"
#include "system/system.h"
#include "system/thread.h"

/* Under the mutex, like take_ready. */
static void put_ready(preparer *preparer, segment *made) {
  INVARIANT(preparer->ready_count < MAX_READY_SEGMENTS && made->at == 0);
  segment **last = &preparer->ready;
  while (*last) last = &(*last)->next;
  made->next = NULL;
  *last = made;
  preparer->ready_count++;
}

static segment *take_ready(preparer *preparer) {
  segment *taken = preparer->ready;
  if (!taken) return NULL;
  preparer->ready = taken->next;
  taken->next = NULL;
  preparer->ready_count--;
  return taken;
}

/* Makes a segment, below the byte limit. */
static segment *make(event_log *log, uint64_t number, int urgent, int *error) {
  uint64_t bytes = log->options.segment_bytes;
  *error = claim_bytes(log, bytes, urgent);
  if (*error != 0) return NULL;
  segment *made = segment_prepare(log->held.directory, number, bytes, error);
  if (!made) {
    byte_limit_give(log->retention, bytes);
    return NULL;
  }
  made->taken = bytes;
  sigbus_watch(made->map, made->capacity, detach_page_lost, log);
  return made;
}

/*
 * Makes a segment. Of a log that somebody waits for on the disk also writes it ahead: its pages are dirty from being
 * populated, so the first sync, with somebody waiting, would have to write and convert them all (2,750 us against 30).
 */
static segment *prepare(event_log *log, uint64_t number, int urgent, int write_ahead, int *error) {
  *error = log_lock_check(&log->held);
  segment *made = *error == 0 ? make(log, number, urgent, error) : NULL;
  if (made && (*error = log_lock_check(&log->held)) != 0) { /* it is in another directory, perhaps */
    byte_limit_give(log->retention, segment_discard(made));
    return NULL;
  }
  if (!made || !write_ahead) return made;
  *error = sys_sync_data(made->fd);
  if (*error == 0) return made;
  byte_limit_give(log->retention, segment_discard(made));
  return NULL;
}

static void *prepare_main(void *argument) {
  event_log *log = argument;
  preparer *preparer = &log->preparer;
  uint64_t passes = 0;
  pthread_mutex_lock(&preparer->mutex);
  for (;;) {
    while (!preparer->stopping && (!preparer->wanted || preparer->ready_count >= preparer->depth)) {
      pthread_cond_wait(&preparer->wakes, &preparer->mutex);
    }
    if (preparer->stopping) break;
    uint64_t number = __atomic_fetch_add(&preparer->next_prepared, 1, __ATOMIC_RELAXED);
    int urgent = preparer->ready_count == 0;
    pthread_mutex_unlock(&preparer->mutex);
    uint64_t requested = __atomic_load_n(&log->drains_requested, __ATOMIC_ACQUIRE);
    uint64_t synced = __atomic_load_n(&log->sealer.passes, __ATOMIC_RELAXED);
    int error = 0, write_ahead = log->options.sync_interval_ns != 0 || synced != passes;
    segment *made = prepare(log, number, urgent, write_ahead, &error);
    passes = synced;
    pthread_mutex_lock(&preparer->mutex);
    if (made) put_ready(preparer, made);
    /* Of a try ahead of its time nobody is told, who needs one by now either: at the byte limit nothing goes for it. */
    preparer->prepare_error = urgent ? error : 0;
    preparer->prepared_for = requested;
    /* After a failure the drainer asks again when it retries. */
    preparer->wanted = made && preparer->ready_count < preparer->depth;
    int drainer_waits = preparer->drainer_waits;
    preparer->drainer_waits = 0;
    if (!drainer_waits) continue;
    pthread_mutex_unlock(&preparer->mutex);
    bell_ring(log);
    pthread_mutex_lock(&preparer->mutex);
  }
  pthread_mutex_unlock(&preparer->mutex);
  return NULL;
}

void preparer_make(event_log *log) {
  pthread_mutex_init(&log->preparer.mutex, NULL);
  pthread_cond_init(&log->preparer.wakes, NULL);
}

void preparer_free(event_log *log) {
  pthread_mutex_destroy(&log->preparer.mutex);
  pthread_cond_destroy(&log->preparer.wakes);
}

weir_status preparer_start(event_log *log, weir_error *error) {
  preparer *preparer = &log->preparer;
  int result = sealer_start(log);
  if (result == 0) {
    preparer->depth = 1;
    result = thread_start(&preparer->thread, prepare_main, log, "weir-prepare");
    preparer->running = result == 0;
    if (result == 0) result = prefaulter_start(log);
    if (result != 0) {
      preparer_stop(log);
      sealer_stop(log);
    }
  }
  if (result != 0) return fail_system(error, result, "start the threads of", log->held.path, NULL);
  return WEIR_OK;
}

void preparer_want(event_log *log) {
  preparer *preparer = &log->preparer;
  if (!preparer->running) return;
  prefaulter_wake(log);
  pthread_mutex_lock(&preparer->mutex);
  if (preparer->ready_count < preparer->depth && !preparer->wanted) {
    preparer->wanted = 1;
    pthread_cond_signal(&preparer->wakes);
  }
  pthread_mutex_unlock(&preparer->mutex);
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
static int take_failure(preparer *preparer) {
  if (preparer->wanted) {
    preparer->needed = 1;
    return 0;
  }
  int error = preparer->needed ? preparer->prepare_error : 0;
  preparer->needed = error == 0;
  preparer->prepare_error = 0;
  return error;
}

segment *preparer_take(event_log *log, int *error) {
  preparer *preparer = &log->preparer;
  *error = 0;
  if (!preparer->running) {
    return make(log, preparer->next_prepared++, 1, error);
  }
  pthread_mutex_lock(&preparer->mutex);
  segment *taken = NULL;
  /* A bound on what waits for a slow disk: beyond it the lanes fill, and captures say so. */
  *error = sealer_trouble(log);
  if (sealer_waiting(log) < (*error == 0 ? waiting_limit(log) : LEAST_WAITING_SEGMENTS)) {
    *error = 0;
    taken = take_ready(preparer);
    if (!taken) {
      *error = take_failure(preparer);
      log->stalled_for = preparer->prepared_for;
      preparer->drainer_waits = 1;
      if (preparer->depth < MAX_READY_SEGMENTS) preparer->depth++;
    }
  }
  pthread_mutex_unlock(&preparer->mutex);
  if (!taken && *error == 0) preparer_want(log);
  return taken;
}

void preparer_stop(event_log *log) {
  preparer *preparer = &log->preparer;
  prefaulter_stop(log);
  if (preparer->running) {
    pthread_mutex_lock(&preparer->mutex);
    preparer->stopping = 1;
    pthread_cond_broadcast(&preparer->wakes);
    pthread_mutex_unlock(&preparer->mutex);
    pthread_join(preparer->thread, NULL);
    preparer->running = 0;
  }
  for (segment *left; (left = take_ready(preparer));) byte_limit_give(log->retention, segment_discard(left));
}
