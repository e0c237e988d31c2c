/* drainer.h: the drainer, a thread that moves what was captured from the lanes into segments. See drainer.c. */
#ifndef WEIR_DRAINER_H
#define WEIR_DRAINER_H

#include "system/names.h"

#include "capture/clock.h"
#include "capture/intake.h"
#include "drain/prefaulter.h"
#include "drain/preparer.h"
#include "seal/sealer.h"
#include "segment/segment.h"

/* A function of the host that the drainer calls. */
typedef struct host_call {
  void (*call)(void *context); /* null: none is set; the drainer first reads it without the lock */
  void *context;
} host_call;

typedef struct drainer {
  struct intake *intake;
  struct sealer *sealer;
  struct preparer *preparer;
  struct prefaulter *prefaulter;
  pthread_t thread;
  int runs;                /* the thread does */
  uint32_t stopping;       /* atomic */
  segment *active;         /* as the sealer's */
  uint64_t next_offset;
  uint64_t segment_number; /* of `active`, from 1 */
  segment_end previous;    /* the segment before `active` */
  int sampled_due;         /* a new segment has begun: write the gap records for SAMPLED */
  int stall_error;         /* negative errno of what stopped the pass; 0: it waits for a segment */
  uint64_t seal_below;     /* atomic: weir_seal orders a seal of an active segment that begins below this offset. Stored
                              before the drain request that follows, so D3 orders the store */
  uint64_t stalled_for;    /* drain requests after this one came after the failed try, and do not fail */
  uint32_t shorter;        /* how often the nap between two passes was halved: see pace_naps */
  uint64_t most_moved;     /* bytes of a lane in one pass, since the last nap */
  int can_flush_lines;     /* the processor has clflushopt */
  event_clock clock;
  weir_counters counters;  /* read with relaxed atomics */
  pthread_mutex_t host_lock; /* held while on_drained or on_refused runs; guards both */
  host_call on_drained;
  host_call on_refused;
} drainer;

void drainer_make(drainer *drainer, sealer *sealer, preparer *preparer, prefaulter *prefaulter); /* in zeros */
void drainer_free(drainer *drainer);
int drainer_begin(drainer *drainer, segment *fresh); /* makes it the active segment. 0 or a negative errno */
int drainer_start(drainer *drainer); /* 0 or a negative errno. Starts no thread in a log without threads */
void drainer_stop(drainer *drainer); /* the thread, once everything captured is drained, or can't be */
void drainer_end(drainer *drainer);  /* after drainer_stop: the last segment goes to the sealer, if that has anything */
void drainer_abandon(drainer *drainer); /* lets go of the active segment, which stays as it is */

typedef enum drain_result { DRAIN_COMPLETE, DRAIN_STALLED } drain_result;

/* What several passes go on to: each lane up to where it was at one moment. Without it a pass takes what it finds. */
typedef struct drain_goal {
  uint64_t requested; /* the drain requests that this serves */
  uint32_t lanes;
  uint64_t tails[WEIR_MAX_LANES];
} drain_goal;

/* Drains every lane up to the goal, or without one to its tail now; then writes the gap records that are due. */
drain_result drainer_drain(drainer *drainer, const drain_goal *goal, uint64_t *moved);

/* A pass: drains, calls the host, answers who asked for a drain before, or before the goal was set. */
drain_result drainer_pass(drainer *drainer, const drain_goal *goal, uint64_t *moved);
void drainer_set_goal(const drainer *drainer, drain_goal *goal);
void drainer_wake(drainer *drainer); /* before passes: counts, and looks at the clocks */

#endif
