/* batcher.c: see batcher.h. */
#define _GNU_SOURCE
#include "batch/batcher.h"

#include <errno.h>
#include <stdlib.h>

#include "directory/segment_list.h"
#include "system/error.h"
#include "system/system.h"
#include "system/thread.h"

enum { LEAST_PAUSE_NS = 1000000000 };
#define MOST_PAUSE_NS (UINT64_C(60) * LEAST_PAUSE_NS)

static void count(uint64_t *counter, uint64_t by) { __atomic_fetch_add(counter, by, __ATOMIC_RELAXED); }

/* ---- The queue --------------------------------------------------------------------------------------------------- */

/* Puts a segment at the end. Under the mutex. */
static void queue(batcher *batcher, batched_segment *segment) {
  segment->next = NULL;
  if (batcher->last) batcher->last->next = segment;
  else batcher->first = segment;
  batcher->last = segment;
  pthread_cond_signal(&batcher->wakes);
}

/* Puts a segment back at the front. Under the mutex. */
static void put_back(batcher *batcher, batched_segment *segment) {
  segment->next = batcher->first;
  batcher->first = segment;
  if (!batcher->last) batcher->last = segment;
}

static batched_segment *take(batcher *batcher) {
  batched_segment *taken = batcher->first;
  if (!taken) return NULL;
  batcher->first = taken->next;
  if (!batcher->first) batcher->last = NULL;
  return taken;
}

/* Null: there is no memory, and the segment stays raw until the next opening. */
static batched_segment *make_entry(batcher *batcher, uint64_t base) {
  batched_segment *made = (batched_segment *)calloc(1, sizeof *made);
  if (!made) {
    count(&batcher->failures, 1);
    return NULL;
  }
  made->base = base;
  count(&batcher->waiting, 1);
  return made;
}

void batcher_add(batcher *batcher, uint64_t base) {
  if (!batcher) return;
  batched_segment *segment = make_entry(batcher, base);
  if (!segment) return;
  pthread_mutex_lock(&batcher->mutex);
  queue(batcher, segment);
  pthread_mutex_unlock(&batcher->mutex);
}

/* Pauses after a failure, because the next segment would fail for the same reason. Under the mutex. */
static void pause_for(batcher *batcher, int error) {
  uint64_t pause = batcher->pause_ns;
  batcher->not_before = sys_monotonic_ns() + pause;
  batcher->pause_ns = pause < MOST_PAUSE_NS / 2 ? pause * 2 : MOST_PAUSE_NS;
  count(&batcher->failures, 1);
  __atomic_store_n(&batcher->status, status_of(error), __ATOMIC_RELAXED);
}

/* Puts the raw segments of earlier openings, which are older, at the front of the queue. Frees the mutex meanwhile. */
static void list_earlier(batcher *batcher) {
  raw_list list;
  batcher->listed = 1;
  pthread_mutex_unlock(&batcher->mutex);
  int error = segment_list_raw(batcher->directory, batcher->first_offset, &list);
  batched_segment *first = NULL, **last = &first;
  for (uint64_t i = 0; error == 0 && i < list.count; i++) {
    batched_segment *segment = make_entry(batcher, list.bases[i]);
    if (!segment) break;
    *last = segment;
    last = &segment->next;
  }
  free(list.bases);
  pthread_mutex_lock(&batcher->mutex);
  if (error != 0) {
    batcher->listed = 0;
    pause_for(batcher, error);
  } else if (first) {
    *last = batcher->first;
    batcher->first = first;
    if (!batcher->last) for (batcher->last = first; batcher->last->next;) batcher->last = batcher->last->next;
    pthread_cond_broadcast(&batcher->wakes);
  }
}

/* ---- One segment ------------------------------------------------------------------------------------------------- */

static void set_job(batcher *batcher, uint64_t thread, batch_job *job) {
  pthread_mutex_lock(&batcher->names);
  batcher->job[thread] = job;
  pthread_mutex_unlock(&batcher->names);
}

static int drop(batcher *batcher, uint64_t base) {
  int uncounted = 0;
  pthread_mutex_lock(&batcher->names);
  for (uint32_t i = 0; i < batcher->threads; i++) {
    batch_job *job = batcher->job[i];
    if (!job || job->base != base) continue;
    job->dropped = 1;
    uncounted |= job->uncounted;
  }
  return uncounted;
}

static void dropped(batcher *batcher) { pthread_mutex_unlock(&batcher->names); }

static int found_no_room(const batch_job *job, batch_result result) {
  return result == BATCH_FAILED && job->error == -BYTE_LIMIT_REACHED;
}

/*
 * Wakes a thread whose segment waits for room, because the room of this one is free. Call before `settle`: a segment
 * that found no room meanwhile must not wait for a thread that has ended. Under the mutex.
 */
static void end_work(batcher *batcher, int had_room) {
  batcher->working--;
  if (had_room) batcher->rooms_given++;
  if (!batcher->waits_for_room) return;
  batcher->waits_for_room = 0;
  pthread_cond_broadcast(&batcher->wakes);
}

/*
 * Queues the segment of a failed job again, gives the segment of a done job to retention. `given` is the number of rooms
 * that had been given back when the job began. Under the mutex.
 */
static void settle(batcher *batcher, batched_segment *segment, const batch_job *job, batch_result result,
                   uint64_t given) {
  int is_given = batcher->rooms_given != given; /* it may be after the job looked for room */
  if (found_no_room(job, result) && (is_given || batcher->working > 0)) {
    put_back(batcher, segment); /* no failure: tried again, at once or when a thread ends */
    if (!is_given) batcher->waits_for_room = 1;
    return;
  }
  if (result == BATCH_FAILED) { /* to the end of the queue: other segments may be readable */
    queue(batcher, segment);
    pause_for(batcher, job->error);
    return;
  }
  if (result == BATCH_UNSURE) {
    batcher->broken = 1;
    pause_for(batcher, job->error);
  }
  if (result == BATCH_DAMAGED) count(&batcher->unbatched, 1);
  if (result == BATCH_DONE) {
    batcher->pause_ns = LEAST_PAUSE_NS;
    __atomic_store_n(&batcher->status, WEIR_OK, __ATOMIC_RELAXED);
    count(&batcher->done, 1);
    count(&batcher->input, job->input);
    count(&batcher->output, job->output);
  }
  __atomic_fetch_sub(&batcher->waiting, 1, __ATOMIC_RELEASE); /* B3 */
  if (result != BATCH_DONE) {
    free(segment);
    return;
  }
  segment->bytes = job->allocated;
  retention_batched(batcher->retention, segment);
}

static void serve(batcher *batcher, uint64_t thread, batched_segment *segment, batch_work *work) {
  batch_job job = {.directory = batcher->directory,
                   .log_id = batcher->log_id,
                   .base = segment->base,
                   .retention = batcher->retention,
                   .stopping = &batcher->stopping,
                   .names = &batcher->names};
  uint64_t given = batcher->rooms_given;
  batcher->working++;
  pthread_mutex_unlock(&batcher->mutex);
  set_job(batcher, thread, &job);
  batch_result result = BATCH_FAILED;
  if (sys_is_file(batcher->directory, &batcher->home)) result = batch_write(&job, work);
  else job.error = -DESCRIPTOR_LOST; /* the host closed it, and may have opened another directory as that number */
  set_job(batcher, thread, NULL);
  pthread_mutex_lock(&batcher->mutex);
  end_work(batcher, !found_no_room(&job, result));
  settle(batcher, segment, &job, result, given);
}

/* ---- The threads ------------------------------------------------------------------------------------------------- */

/* Sleeps until there may be something to do. Frees the thread's buffers meanwhile. */
static void sleep_until_due(batcher *batcher, batch_work *work) {
  int idle = batcher->broken || batcher->waits_for_room || (!batcher->first && batcher->listed);
  uint64_t until = idle ? UINT64_MAX : batcher->not_before;
  batch_work_free(work);
  thread_wait(&batcher->wakes, &batcher->mutex, until);
}

typedef struct start {
  struct batcher *batcher;
  uint64_t thread;
} start;

static void *batcher_main(void *argument) {
  start start = *(struct start *)argument;
  batcher *batcher = start.batcher;
  batch_work work = {0};
  free(argument);
  sys_be_nice();
  pthread_mutex_lock(&batcher->mutex);
  while (!batcher->stopping) {
    int paused = batcher->not_before != 0 && sys_monotonic_ns() < batcher->not_before;
    int idle = batcher->broken || batcher->waits_for_room || (batcher->listed && !batcher->first);
    if (idle || paused) sleep_until_due(batcher, &work);
    else if (!batcher->listed) list_earlier(batcher);
    else serve(batcher, start.thread, take(batcher), &work);
  }
  pthread_mutex_unlock(&batcher->mutex);
  batch_work_free(&work);
  return NULL;
}

batcher *batcher_make(const log_lock *held, retention *retention, uint32_t threads, uint64_t first_offset) {
  batcher *made = (batcher *)calloc(1, sizeof *made);
  if (!made) return NULL;
  made->directory = held->directory;
  made->log_id = held->log_id;
  made->home = held->home;
  made->retention = retention;
  made->first_offset = first_offset;
  made->threads = threads;
  made->pause_ns = LEAST_PAUSE_NS;
  pthread_mutex_init(&made->mutex, NULL);
  pthread_mutex_init(&made->names, NULL);
  thread_condition_make(&made->wakes);
  if (retention) retention->batch_names = (batch_names){made, drop, dropped};
  return made;
}

int batcher_start(batcher *batcher) {
  for (uint32_t i = 0; batcher && i < batcher->threads; i++) {
    start *start = (struct start *)malloc(sizeof *start);
    int error = start ? 0 : -ENOMEM;
    if (error == 0) {
      *start = (struct start){.batcher = batcher, .thread = i};
      error = thread_start(&batcher->thread[i], batcher_main, start, "weir-batch");
      if (error != 0) free(start);
    }
    if (error != 0) {
      batcher_stop(batcher);
      return error;
    }
    batcher->running++;
  }
  return 0;
}

void batcher_ask_to_stop(batcher *batcher) {
  if (!batcher) return;
  pthread_mutex_lock(&batcher->mutex);
  __atomic_store_n(&batcher->stopping, 1, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&batcher->wakes);
  pthread_mutex_unlock(&batcher->mutex);
}

void batcher_stop(batcher *batcher) {
  batcher_ask_to_stop(batcher);
  for (; batcher && batcher->running > 0; batcher->running--) {
    pthread_join(batcher->thread[batcher->running - 1], NULL);
  }
}

void batcher_free(batcher *batcher) {
  if (!batcher) return;
  for (batched_segment *left; (left = take(batcher));) free(left);
  free(batcher);
}
