/*
 * supply.c: the preparer, a thread that makes, allocates and populates the next segments, so that the drainer does not
 * wait for that. It still waits for the disk where it renames the segment that it begins, and where it stores to a page
 * that is being written back. Without the preparer (in recovery) all of it happens in place.
 */
#define _GNU_SOURCE
#include "drain/supply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/bell.h"
#include "capture/detach.h"
#include "drain/populator.h"
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
static void put_ready(supply *supply, segment *made) {
  INVARIANT(supply->ready_count < MAX_READY_SEGMENTS && made->at == 0);
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
  supply *supply = &log->supply;
  uint64_t passes = 0;
  pthread_mutex_lock(&supply->mutex);
  for (;;) {
    while (!supply->stopping && (!supply->wanted || supply->ready_count >= supply->depth)) {
      pthread_cond_wait(&supply->preparer_wakes, &supply->mutex);
    }
    if (supply->stopping) break;
    uint64_t number = __atomic_fetch_add(&supply->next_prepared, 1, __ATOMIC_RELAXED);
    int urgent = supply->ready_count == 0;
    pthread_mutex_unlock(&supply->mutex);
    uint64_t requested = __atomic_load_n(&log->drains_requested, __ATOMIC_ACQUIRE);
    uint64_t synced = __atomic_load_n(&log->sealer.passes, __ATOMIC_RELAXED);
    int error = 0, write_ahead = log->options.sync_interval_ns != 0 || synced != passes;
    segment *made = prepare(log, number, urgent, write_ahead, &error);
    passes = synced;
    pthread_mutex_lock(&supply->mutex);
    if (made) put_ready(supply, made);
    /* Of a try ahead of its time nobody is told, who needs one by now either: at the byte limit nothing goes for it. */
    supply->prepare_error = urgent ? error : 0;
    supply->prepared_for = requested;
    /* After a failure the drainer asks again when it retries. */
    supply->wanted = made && supply->ready_count < supply->depth;
    int hungry = supply->hungry;
    supply->hungry = 0;
    if (!hungry) continue;
    pthread_mutex_unlock(&supply->mutex);
    bell_ring(log);
    pthread_mutex_lock(&supply->mutex);
  }
  pthread_mutex_unlock(&supply->mutex);
  return NULL;
}

void supply_make(event_log *log) {
  pthread_mutex_init(&log->supply.mutex, NULL);
  pthread_cond_init(&log->supply.preparer_wakes, NULL);
}

void supply_free(event_log *log) {
  pthread_mutex_destroy(&log->supply.mutex);
  pthread_cond_destroy(&log->supply.preparer_wakes);
}

weir_status supply_start(event_log *log, weir_error *error) {
  supply *supply = &log->supply;
  int result = sealer_start(log);
  if (result == 0) {
    supply->depth = 1;
    result = thread_start(&supply->preparer, prepare_main, log, "weir-prepare");
    supply->running = result == 0;
    if (result == 0) result = populator_start(log);
    if (result != 0) {
      supply_stop(log);
      sealer_stop(log);
    }
  }
  if (result != 0) return fail_system(error, result, "start the threads of", log->held.path, NULL);
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
    return make(log, supply->next_prepared++, 1, error);
  }
  pthread_mutex_lock(&supply->mutex);
  segment *taken = NULL;
  /* A bound on what waits for a slow disk: beyond it the lanes fill, and captures say so. */
  *error = sealer_trouble(log);
  if (sealer_waiting(log) < (*error == 0 ? waiting_limit(log) : LEAST_WAITING_SEGMENTS)) {
    *error = 0;
    taken = take_ready(supply);
    if (!taken) {
      *error = take_failure(supply);
      log->stalled_for = supply->prepared_for;
      supply->hungry = 1;
      if (supply->depth < MAX_READY_SEGMENTS) supply->depth++;
    }
  }
  pthread_mutex_unlock(&supply->mutex);
  if (!taken && *error == 0) supply_want(log);
  return taken;
}

void supply_stop(event_log *log) {
  supply *supply = &log->supply;
  populator_stop(log);
  if (supply->running) {
    pthread_mutex_lock(&supply->mutex);
    supply->stopping = 1;
    pthread_cond_broadcast(&supply->preparer_wakes);
    pthread_mutex_unlock(&supply->mutex);
    pthread_join(supply->preparer, NULL);
    supply->running = 0;
  }
  for (segment *left; (left = take_ready(supply));) byte_limit_give(log->retention, segment_discard(left));
}
