/*
 * sealer.h: the sealer, a thread that brings full segments to the disk, and serves those who wait for it. See sealer.c
 * for the orders. In a log without threads: see drain/threadless.h.
 */
#ifndef WEIR_SEALER_H
#define WEIR_SEALER_H

#include "system/names.h"

#include "capture/intake.h"
#include "directory/quarantine.h"
#include "seal/finish.h"
#include "segment/segment.h"
#include "system/thread.h"

typedef enum sync_result {
  SYNC_PENDING,
  SYNC_DURABLE,
  SYNC_LOST,        /* the event was overwritten or damaged before it was drained */
  SYNC_UNKNOWN,     /* it may have been lost: losses that long ago are no longer known */
  SYNC_NOT_DRAINED, /* the log can't grow */
  SYNC_FAILED,      /* the disk failed */
  SYNC_TIMEOUT,
  SYNC_CLOSED
} sync_result;

/* A wait for the disk. On the caller's stack; allocated if `announce` is set. */
typedef struct sync_wait {
  uint32_t lane;     /* of the awaited event; NOTICE_LANE: everything captured before */
  uint64_t position;
  uint64_t drain;    /* the drain request that brings the event into the log */
  uint64_t pass;     /* the sealer's pass that serves this wait, once begun */
  sync_result result;
  int error;         /* negative errno */
  void (*announce)(const intake *intake, struct sync_wait *wait); /* called once the wait is settled; frees it */
  void (*notify)(void *context, weir_status status, const weir_error *error);
  void *context;
  struct sync_wait *next;
} sync_wait;

/* The most bytes of damaged stretches that may wait to be copied to quarantine/. */
enum { MAX_DAMAGED_BYTES = 4 << 20 };

/* Guarded by the worker's mutex, but for what is atomic or the drainer's. */
typedef struct sealer {
  struct intake *intake;
  struct finisher finisher;
  int serves;                /* from sealer_start to sealer_stop: waits are taken */
  struct worker worker;             /* `settled`: a wait is over, or older segments were removed */
  segment *active;           /* the one that the drainer fills; null: none. Only the drainer changes it */
  segment *first_done;       /* full segments, oldest first */
  segment *last_done;
  segment *stuck;            /* segments that could not be finished and are tried again */
  uint64_t queued;           /* atomic: segments ever given to the sealer */
  uint64_t finished;         /* atomic: segments that the sealer has finished */
  int stuck_error;           /* atomic: negative errno of the last attempt to finish `stuck`; 0: none is stuck */
  int broken;                /* negative errno: nothing more is reported as durable; 0: all is well */
  uint64_t retry_at;         /* monotonic */
  damaged_stretch *damaged;  /* bytes on their way to quarantine/, oldest first */
  uint64_t damaged_bytes;    /* all of `damaged` together: at most MAX_DAMAGED_BYTES */
  uint64_t unkept_bytes;     /* atomic: bytes of damaged stretches that are not in quarantine/: no room, or a failure */
  uint64_t copy_at;          /* monotonic: no copy before this time, because the last one failed */
  sync_wait *waits;
  uint64_t wait_count;       /* atomic */
  uint64_t passes;           /* atomic: syncs of everything in the log, begun so far */
  int fresh;                 /* atomic: with a sync interval, the log has grown since the last pass */
  uint64_t fresh_since;      /* monotonic */
  int stale;                 /* atomic: the log has grown since its files were touched */
  uint64_t touched_at;       /* monotonic; 0: the files were not touched yet */
  uint64_t next_offset;      /* atomic: the log's end, as the drainer publishes it */
  uint64_t durable_offset;   /* atomic: every event with a lower offset is on the disk */
  uint64_t roll_wanted;      /* atomic: segments up to this number take no more blocks: a sync of their file failed */
  uint64_t lost;             /* atomic: events that were in the log, and that the disk lost */
} sealer;

void sealer_make(sealer *sealer, intake *intake); /* in memory that is zeros; sealer_free undoes it */
void sealer_free(sealer *sealer);
int sealer_start(sealer *sealer); /* 0 or negative errno. Starts no thread in a log without threads */
void sealer_work(sealer *sealer); /* without threads: does all that is due, on the calling thread */
int sealer_stop(sealer *sealer);  /* finishes what is left, as it can. 0, or negative errno of what it could not */
void sealer_change(sealer *sealer, segment *next); /* makes `next` the active segment; the one before is queued */
uint64_t sealer_waiting(const sealer *sealer); /* full segments that are not on the disk yet */
int sealer_trouble(const sealer *sealer);      /* negative errno of the disk while it takes none, 0 */
void sealer_expect(sealer *sealer);            /* the log has grown: its files' times are to follow, and the disk */
void sealer_drained(sealer *sealer);           /* a drain request is done with, one way or the other */
void sealer_quarantine(sealer *sealer, const damaged_lane *lane); /* before it is drained */
void sealer_lose(sealer *sealer, lane *lane, uint64_t from, uint64_t to); /* before `drained` moves past it */
int sealer_add(sealer *sealer, sync_wait *wait);  /* 1 if it is settled at once */
sync_result sealer_await(sealer *sealer, sync_wait *wait, uint64_t deadline_ns); /* not of one with `announce` */

#endif
