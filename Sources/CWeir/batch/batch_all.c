/*
 * batch_all.c: weir_batch_directory: every sealed raw segment of a log that nobody has open, on as many threads as
 * asked for, the calling one among them.
 */
#include <errno.h>
#include <stdlib.h>

#include "batch/batch.h"
#include "directory/directory.h"
#include "directory/log_lock.h"
#include "directory/log_start.h"
#include "directory/segment_list.h"
#include "segment/identity.h"
#include "system/error.h"
#include "system/system.h"
#include "system/thread.h"

/* What the threads share. */
typedef struct batching {
  int directory;
  uint64_t log_id;
  raw_list list;
  pthread_mutex_t mutex; /* guards all below */
  uint64_t next;         /* index of the next segment of the list */
  uint32_t stopping;     /* atomic */
  int error;             /* the first one */
  uint64_t failed_base;  /* base of the segment that it is about */
  weir_batching sums;
  int (*report)(void *context, const weir_batching *so_far);
  void *context;
} batching;

/* Under the mutex. */
static void settle(batching *all, const batch_job *job, batch_result result) {
  weir_batching *sums = &all->sums;
  int failed = result == BATCH_FAILED || result == BATCH_UNSURE;
  if (failed && all->error == 0) {
    all->error = job->error;
    all->failed_base = job->base;
  }
  sums->failed += (uint64_t)failed;
  sums->unbatched += result == BATCH_DAMAGED;
  sums->done += result == BATCH_DONE;
  sums->input += result == BATCH_DONE ? job->input : 0;
  sums->output += result == BATCH_DONE ? job->output : 0;
  int stop = result == BATCH_UNSURE; /* a later sync of the directory may succeed, and would prove nothing */
  if (all->report && all->report(all->context, sums) != 0) stop = 1;
  if (stop) __atomic_store_n(&all->stopping, 1, __ATOMIC_RELAXED);
}

static void *work_on(void *argument) {
  batching *all = (batching *)argument;
  batch_work work = {0};
  pthread_mutex_lock(&all->mutex);
  while (!all->stopping && all->next < all->list.count) {
    batch_job job = {.directory = all->directory, .log_id = all->log_id, .base = all->list.bases[all->next++]};
    pthread_mutex_unlock(&all->mutex);
    batch_result result = batch_write(&job, &work);
    pthread_mutex_lock(&all->mutex);
    settle(all, &job, result);
  }
  pthread_mutex_unlock(&all->mutex);
  batch_work_free(&work);
  return NULL;
}

static void work_on_threads(batching *all, uint32_t threads) {
  pthread_t others[WEIR_MAX_BATCH_THREADS];
  uint32_t started = 0;
  if (threads > all->list.count) threads = (uint32_t)all->list.count;
  /* If a thread can't be started, the others do its part. */
  while (started + 1 < threads && thread_start(&others[started], work_on, all, "weir-batch") == 0) started++;
  work_on(all);
  while (started > 0) pthread_join(others[--started], NULL);
}

/* Removes temporary files that an earlier call or a writer left. Under the lock nobody else is making one. */
static int remove_temporary(void *context, const char *name) {
  const int *directory = (const int *)context;
  return batch_is_temporary(name) ? batch_remove_temporary(*directory, name) : 0;
}

/* Lists the raw segments, without leftovers of retention. 0 or a negative errno. */
static int prepare(batching *all) {
  log_start_slot start;
  int error = sys_list(all->directory, remove_temporary, &all->directory);
  if (error == 0) error = identity_find(all->directory, &all->log_id);
  if (error == 0) error = segment_list_raw(all->directory, UINT64_MAX, &all->list);
  if (error != 0) return error;
  uint64_t from = log_start_read(all->directory, all->log_id, &start) == 1 ? start.first_offset : 0;
  while (all->next < all->list.count && all->list.bases[all->next] < from) all->next++;
  all->sums.segments = all->list.count - all->next;
  return 0;
}

/* Takes the lock of a log that is there. */
static weir_status take_lock(log_lock *lock, const char *path, weir_error *error) {
  int directory;
  weir_status status = directory_open_read(path, &directory, error); /* an error of its own where there is no log */
  if (status != WEIR_OK) return status;
  sys_close(directory);
  if (log_lock_make(lock, path) != 0) {
    log_lock_free(lock);
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, path, "out of memory to open %s", path);
  }
  status = log_lock_take(lock, 0, error);
  if (status == WEIR_OK) return WEIR_OK;
  log_lock_let_go(lock);
  log_lock_free(lock);
  return status;
}

weir_status weir_batch_directory(const char *directory, uint32_t threads,
                                 int (*report)(void *context, const weir_batching *so_far), void *context,
                                 weir_batching *batching_out, weir_error *error) {
  weir_batching ignored;
  if (!batching_out) batching_out = &ignored;
  *batching_out = (weir_batching){0};
  if (threads < 1 || threads > WEIR_MAX_BATCH_THREADS) {
    return fail(error, WEIR_ERROR_INVALID, 0, directory, "%u threads were asked for; it must be 1 to %u", threads,
                (unsigned)WEIR_MAX_BATCH_THREADS);
  }
  log_lock lock;
  weir_status status = take_lock(&lock, directory, error);
  if (status != WEIR_OK) return status;
  batching all = {.directory = lock.directory, .report = report, .context = context};
  pthread_mutex_init(&all.mutex, NULL);
  int result = prepare(&all);
  char name[64] = "";
  if (result == 0) {
    work_on_threads(&all, threads);
    result = all.error;
    segment_list_raw_name(name, all.failed_base, 0);
  }
  free(all.list.bases);
  pthread_mutex_destroy(&all.mutex);
  *batching_out = all.sums;
  if (result != 0) status = fail_system(error, result, "make batch segments in", lock.path, *name ? name : NULL);
  log_lock_let_go(&lock);
  log_lock_free(&lock);
  return status;
}
