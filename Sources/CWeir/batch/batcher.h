/*
 * batcher.h: the threads of an open log that make batch segments of sealed ones. The sealer hands them each segment
 * that is sealed; one of the threads lists what earlier openings left raw, so that the opening need not. The threads
 * share one queue, the oldest segment first. Only a close waits for them, until each has ended the segment that it is
 * at.
 *
 * Segments are removed while they work: see batch_names in retention.h.
 *
 * label store                               load                              what it guarantees
 * B3    done, input, output, unbatched,     weir_count: waiting (acquire),    where nothing waits, all that was done is
 *       status, then waiting - 1 (release)  then the others                   counted
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
  struct retention *retention;
  uint64_t first_offset; /* segments below it are of earlier openings */
  sys_file home;         /* the file that `directory` is a descriptor of */
  uint32_t threads;      /* how many are wanted */
  uint32_t running;      /* how many were started */
  pthread_t thread[WEIR_MAX_BATCH_THREADS];

  /* Guarded by `mutex`. */
  pthread_mutex_t mutex;
  pthread_cond_t wakes;
  batched_segment *first, *last; /* the segments that wait */
  int listed;         /* segments of earlier openings are in the queue, or a thread is about to put them there */
  int broken;         /* a sync of the directory failed: no more batches are made */
  uint32_t working;    /* threads that are at a segment */
  uint64_t rooms_given; /* how often a thread that had room below the limit has ended */
  int waits_for_room;  /* the next segment waits for one of them, which has the room below the limit that it needs */
  uint64_t not_before; /* monotonic: after a failure no segment is tried before this time */
  uint64_t pause_ns;   /* how long the pause after the next failure is */
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

/* Asks the threads to end; waits until they have. Segments in the queue stay raw. Null: nothing to do. */
void batcher_ask_to_stop(batcher *batcher);
void batcher_stop(batcher *batcher);

void batcher_free(batcher *batcher);

/* Adds a segment whose sealed name is on the disk. On the sealer's thread. Null: nothing to do. */
void batcher_add(batcher *batcher, uint64_t base);

#endif
