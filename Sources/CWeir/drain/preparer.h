/*
 * preparer.h: the preparer, a thread that makes the segments that come next. See preparer.c.
 */
#ifndef WEIR_PREPARER_H
#define WEIR_PREPARER_H

#include "system/names.h"

#include "capture/intake.h"
#include "seal/sealer.h"
#include "segment/segment.h"
#include "system/thread.h"

enum { MAX_READY_SEGMENTS = 3, FIRST_SEGMENT_BYTES = 1 << 20 };
/* How many full segments may wait to be synced. */
enum { MAX_WAITING_BYTES = 256 << 20, LEAST_WAITING_SEGMENTS = 4, MAX_WAITING_SEGMENTS = 64 };

/* Guarded by the worker's mutex, but for what is atomic or the drainer's. */
typedef struct preparer {
  struct intake *intake;
  struct sealer *sealer;
  int started;               /* segments are made by the thread, or by preparer_work */
  struct worker worker;
  segment *ready;            /* prepared, not begun, oldest first */
  uint32_t ready_count;
  uint32_t depth;            /* how many to keep ready: 1 at first, 1 more each time the drainer had to wait */
  int wanted;
  int drainer_waits;         /* the drainer waits for a segment: ring its bell */
  int prepare_error;         /* negative errno of the last preparation if it was urgent and failed, else 0 */
  int needed;                /* no segment was ready when the drainer asked: report a failure */
  uint64_t prepared_for;     /* requests.made when the last preparation began */
  uint64_t synced;           /* the sealer's passes when the last preparation began */
  uint64_t failed_for;       /* the drainer's: after a try without a segment, that of the preparation that failed */
  uint64_t next_prepared;    /* atomic: numbers the files */
  uint64_t last_bytes;       /* the size of the last segment that was made; 0: none was made yet */
} preparer;

void preparer_make(preparer *preparer, sealer *sealer); /* in memory that is zeros; preparer_free undoes it */
void preparer_free(preparer *preparer);
int preparer_start(preparer *preparer); /* 0 or a negative errno. Starts no thread in a log without threads */
void preparer_work(preparer *preparer); /* without threads: makes the segment that a pass of the drainer lacked */

/* The next segment, or null: not ready (0) or a negative errno. */
segment *preparer_take(preparer *preparer, int *error);
void preparer_want(preparer *preparer);
void preparer_stop(preparer *preparer);

#endif
