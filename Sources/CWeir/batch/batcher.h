/*
 * batcher.h: the threads of an open log that make batch segments of sealed ones. The sealer tells them of each segment
 * it has sealed; one of them lists what earlier openings left raw, so that the opening need not. They share one queue,
 * the oldest first. Nobody waits for them but a close, for what is being written right now.
 *
 * Segments are removed while they work: see batch_names in retention.h.
 */
#ifndef WEIR_BATCHER_H
#define WEIR_BATCHER_H

#include "system/names.h"

#include "batch/batch.h"
#include "directory/log_lock.h"
#include "limits/retention.h"
#include "system/system.h"

typedef struct batcher {
  int directory; /* the log's */
  uint64_t log_id;
  retention *retention;
  uint64_t first_offset; /* segments below it are of earlier openings */
  sys_file home;         /* which that is of */
  uint32_t threads;      /* wanted, */
  uint32_t running;      /* and started */
  pthread_t thread[WEIR_MAX_BATCH_THREADS];

  /* Guarded by `mutex`. */
  pthread_mutex_t mutex;
  pthread_cond_t wakes;
  batched_segment *first, *last; /* what waits */
  int listed;         /* what earlier openings left is in the queue, or somebody is about to put it there */
  int broken;         /* the directory can't be synced: nothing more is done */
  uint32_t working;    /* threads that are at a segment */
  int crowded;         /* they have the room below the limit that the next segment needs: it waits for one of them */
  uint64_t not_before; /* monotonic: after a failure nothing is tried until then */
  uint64_t pause_ns;   /* how long that is to be the next time */
  uint32_t stopping;  /* atomic */

  /* Held while names of segments change. Guards `job`. */
  pthread_mutex_t names;
  batch_job *job[WEIR_MAX_BATCH_THREADS]; /* in work, by thread; null: none */

  /* Atomic: for weir_count. */
  uint64_t done, input, output, waiting, unbatched, failures;
  int32_t status; /* a weir_status */
} batcher;

/*
 * Makes a batcher of so many threads, which batcher_start starts, for a log of this retention, null for none. Events
 * from `first_offset` on are of this opening. Null: there is no memory.
 */
batcher *batcher_make(const log_lock *held, retention *retention, uint32_t threads, uint64_t first_offset);

/* Once the log is recovered. 0 or a negative errno. */
int batcher_start(batcher *batcher);

/* Asks the threads to end; then waits until they have. What waits in the queue stays raw. Null: nothing to do. */
void batcher_ask_to_stop(batcher *batcher);
void batcher_stop(batcher *batcher);

void batcher_free(batcher *batcher);

/* A segment has its sealed name, on the disk. On the sealer's thread. Null: nothing to do, here and below. */
void batcher_add(batcher *batcher, uint64_t base);

#endif
