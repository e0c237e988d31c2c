/*
 * preparer.c: the preparer, a thread that makes, allocates and populates the next segments, so that the drainer does
 * not wait for that. The drainer still waits for the disk when it renames the segment that it begins, and when it
 * stores to a page that is being written back. Until preparer_start segments are made when they are taken. A log
 * without threads has them made when a pass of the drainer ended for want of one (preparer_work), not ahead.
 */
#include "drain/preparer.h"

#include "capture/bell.h"
#include "capture/detach.h"
#include "limits/byte_limit.h"
#include "limits/claim.h"
#include "limits/retention.h"
#include "seal/sealer.h"
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

/*
 * How large the next segment is: the first one FIRST_SEGMENT_BYTES, each further one twice the one before, up to the
 * option segment_bytes. So a log takes little before it has much.
 */
static uint64_t next_bytes(const preparer *preparer) {
  const weir_options *options = preparer->intake->options;
  uint64_t least = LEAST_SEGMENT_BYTES(record_size(options->max_event_bytes)), bytes = 2 * preparer->last_bytes;
  if (bytes == 0) bytes = FIRST_SEGMENT_BYTES < least ? least : (uint64_t)FIRST_SEGMENT_BYTES;
  return bytes < options->segment_bytes ? bytes : options->segment_bytes;
}

/* Makes a segment, below the byte limit. */
static segment *make(preparer *preparer, uint64_t number, int urgent, int *error) {
  intake *intake = preparer->intake;
  uint64_t bytes = next_bytes(preparer);
  *error = claim_bytes(intake->retention, bytes, urgent);
  if (*error != 0) return NULL;
  segment *made = segment_prepare(intake->held->directory, number, bytes, error);
  if (!made) {
    byte_limit_give(intake->retention, bytes);
    return NULL;
  }
  made->taken = preparer->last_bytes = bytes;
  sigbus_watch(made->map, made->capacity, detach_page_lost, intake);
  return made;
}

/*
 * Makes a segment. With `write_ahead`, for a log with waits for the disk, also syncs it: its pages are dirty from being
 * populated, so the first sync that somebody waits for would have to write and convert all of them (2,750 us against
 * 30).
 */
static segment *prepare(preparer *preparer, uint64_t number, int urgent, int write_ahead, int *error) {
  intake *intake = preparer->intake;
  *error = log_lock_check(intake->held);
  segment *made = *error == 0 ? make(preparer, number, urgent, error) : NULL;
  if (made && (*error = log_lock_check(intake->held)) != 0) { /* the segment may lie in another directory */
    byte_limit_give(intake->retention, segment_discard(made));
    return NULL;
  }
  if (!made || !write_ahead) return made;
  *error = sys_sync_data(made->fd);
  if (*error == 0) return made;
  byte_limit_give(intake->retention, segment_discard(made));
  return NULL;
}

static int is_due(const preparer *preparer) { return preparer->wanted && preparer->ready_count < preparer->depth; }

/* Makes a segment ready, or notes why it can't. Under the mutex, which is free meanwhile. */
static void prepare_next(preparer *preparer) {
  intake *intake = preparer->intake;
  uint64_t number = __atomic_fetch_add(&preparer->next_prepared, 1, __ATOMIC_RELAXED);
  int urgent = preparer->ready_count == 0;
  pthread_mutex_unlock(&preparer->worker.mutex);
  uint64_t requested = __atomic_load_n(&intake->requests.made, __ATOMIC_RELAXED);
  uint64_t synced = __atomic_load_n(&preparer->sealer->passes, __ATOMIC_RELAXED);
  int error = 0, write_ahead = intake->options->sync_interval_ns != 0 || synced != preparer->synced;
  segment *made = prepare(preparer, number, urgent, write_ahead, &error);
  pthread_mutex_lock(&preparer->worker.mutex);
  preparer->synced = synced;
  if (made) put_ready(preparer, made);
  /* A failed try ahead of its time is not reported: at the byte limit, no older segment was removed for it. */
  preparer->prepare_error = urgent ? error : 0;
  preparer->prepared_for = requested;
  /* After a failure no segment is wanted until the drainer retries, and asks again. */
  preparer->wanted = made && preparer->ready_count < preparer->depth;
}

void preparer_work(preparer *preparer) {
  pthread_mutex_lock(&preparer->worker.mutex);
  if (is_due(preparer)) prepare_next(preparer);
  pthread_mutex_unlock(&preparer->worker.mutex);
}

static void *prepare_main(void *argument) {
  preparer *preparer = (struct preparer *)argument;
  intake *intake = preparer->intake;
  pthread_mutex_lock(&preparer->worker.mutex);
  for (;;) {
    while (!preparer->worker.stopping && !is_due(preparer)) {
      pthread_cond_wait(&preparer->worker.wakes, &preparer->worker.mutex);
    }
    if (preparer->worker.stopping) break;
    prepare_next(preparer);
    int drainer_waits = preparer->drainer_waits;
    preparer->drainer_waits = 0;
    if (!drainer_waits) continue;
    pthread_mutex_unlock(&preparer->worker.mutex);
    bell_ring(intake);
    pthread_mutex_lock(&preparer->worker.mutex);
  }
  pthread_mutex_unlock(&preparer->worker.mutex);
  return NULL;
}

void preparer_make(preparer *preparer, sealer *sealer) {
  preparer->intake = sealer->intake;
  preparer->sealer = sealer;
  preparer->depth = 1;
  worker_make(&preparer->worker);
}

void preparer_free(preparer *preparer) { worker_free(&preparer->worker); }

int preparer_start(preparer *preparer) {
  int threadless = (int)preparer->intake->options->threadless;
  int error = threadless ? 0 : worker_start(&preparer->worker, prepare_main, preparer, "weir-prepare");
  preparer->started = error == 0;
  return error;
}

void preparer_want(preparer *preparer) {
  if (!preparer->started) return;
  pthread_mutex_lock(&preparer->worker.mutex);
  if (preparer->ready_count < preparer->depth && !preparer->wanted) {
    preparer->wanted = 1;
    pthread_cond_signal(&preparer->worker.wakes);
  }
  pthread_mutex_unlock(&preparer->worker.mutex);
}

/* How many full segments may wait to be synced: what they hold is what a recovery would have to scan. */
static uint64_t waiting_limit(const preparer *preparer) {
  uint64_t count = MAX_WAITING_BYTES / preparer->intake->options->segment_bytes;
  if (count < LEAST_WAITING_SEGMENTS) return LEAST_WAITING_SEGMENTS;
  return count < MAX_WAITING_SEGMENTS ? count : (uint32_t)MAX_WAITING_SEGMENTS;
}

/*
 * The reason why there is no segment although the drainer needed one. 0: a segment is to be made now. A try that was
 * made ahead of its time says nothing, because the disk may have been freed since. Each failure is reported once, so
 * that whoever asks again makes the preparer try again. Under the mutex.
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

segment *preparer_take(preparer *preparer, int *error) {
  *error = 0;
  preparer->failed_for = UINT64_MAX;
  if (!preparer->started) return make(preparer, preparer->next_prepared++, 1, error);
  pthread_mutex_lock(&preparer->worker.mutex);
  segment *taken = NULL;
  /* A bound on the segments that wait for a slow disk: beyond it the lanes fill, and captures are refused. */
  *error = sealer_trouble(preparer->sealer);
  if (sealer_waiting(preparer->sealer) < (*error == 0 ? waiting_limit(preparer) : (uint32_t)LEAST_WAITING_SEGMENTS)) {
    *error = 0;
    taken = take_ready(preparer);
    if (!taken) {
      *error = take_failure(preparer);
      preparer->failed_for = preparer->prepared_for;
      preparer->drainer_waits = 1;
      if (preparer->depth < MAX_READY_SEGMENTS) preparer->depth++;
    }
  }
  pthread_mutex_unlock(&preparer->worker.mutex);
  if (!taken && *error == 0) preparer_want(preparer);
  return taken;
}

void preparer_stop(preparer *preparer) {
  worker_stop(&preparer->worker);
  preparer->started = 0;
  for (segment *left; (left = take_ready(preparer));) {
    byte_limit_give(preparer->intake->retention, segment_discard(left));
  }
}
