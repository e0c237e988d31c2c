/*
 * log.h: the struct of an open log, shared by the parts of the writing side. CoreLayers.md says which they are; each has
 * a header with its functions.
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include "system/names.h"

#include <pthread.h>

#include "directory/locator.h"
#include "directory/log_lock.h"
#include "directory/quarantine.h"
#include "format/record.h"
#include "segment/segment.h"

/* A stretch of a lane whose events are not in the log: overwritten, or damaged. */
typedef struct lane_loss {
  uint64_t from, to;
} lane_loss;

enum { LANE_LOSSES = 32 };

/* One lane: what producers see first, then what only the log knows. In memory that outlives the mapping. */
typedef struct lane {
  weir_lane producer; /* first: a weir_lane * is a lane * */
  uint32_t taken;     /* compare-and-swapped by claimers and borrowers */
  uint32_t quiet;     /* the closer's: no capture was in progress at some moment after the close */
  /* From here on what the drainer reads and writes, away from what captures do: each look that it took at a line of
   * theirs would cost the next capture a cache miss, 0.1 to 0.3 us. */
  lane_control *control __attribute__((aligned(128)));
  uint32_t number;
  uint64_t handed;      /* the drainer's: the position up to which the log's blocks account for this lane */
  uint64_t records;     /* the drainer's: how many records come before `handed`, or RECORDS_UNKNOWN */
  uint64_t durable;     /* the position up to which the disk has it, as far as it was not lost */
  lane_loss loss[LANE_LOSSES]; /* the latest, in a circle. Guarded by the sealer's mutex, like the next two */
  uint32_t losses;      /* so many, since the opening */
  uint64_t losses_known_from; /* of earlier positions nothing is known */
  uint64_t closed_tail; /* UINT64_MAX: what `tail` points to once the log is closed or detached */
} __attribute__((aligned(128))) lane;

/*
 * What a recovery that came to its end says of the ring that it found: all that it held is in segments that are synced,
 * or there is nothing to be had of it. Without this word no ring is replaced: see ring_create.
 */
typedef struct spent_ring {
  int certain;      /* a recovery came to its end */
  uint64_t opening; /* of the ring that it drained; 0: none is left */
} spent_ring;

typedef enum log_state { STATE_OPEN, STATE_CLOSED, STATE_DETACHED } log_state;

/* A type or context as the drainer sees it: its entry in the ring's type region, and the segment that has it. */
typedef struct type_entry {
  uint32_t at;
  uint32_t bytes;
  uint64_t defined_in; /* segment number; 0: none */
} type_entry;

/* A type found by owner and key. Immutable once published. */
typedef struct named_type {
  uint64_t owner;
  uint32_t type;
  uint32_t key_bytes;
  char key[];
} named_type;

enum { NAMED_SLOTS = 2 * MAX_TYPES, MAX_READY_SEGMENTS = 3 };
/*
 * What contexts may take of the type region, so that types have the rest, whoever logs in. An entry is of 40 bytes at
 * least: with the bytes not half of the numbers are used up, nor are all of them by types and contexts together.
 */
enum { MAX_CONTEXTS_BYTES = WEIR_TYPES_BYTES / 2 };
static_assert(MAX_CONTEXTS_BYTES / (sizeof(definition_header) + 8) <= MAX_TYPES / 2, "numbers of contexts");
static_assert(WEIR_TYPES_BYTES / (sizeof(definition_header) + 8) <= MAX_TYPES - WEIR_TYPE_FIRST, "numbers");
/* Of damaged stretches that wait to be copied to quarantine/. */
enum { MAX_DAMAGED_BYTES = 4 << 20 };
enum { MAX_WAITING_BYTES = 256 << 20, LEAST_WAITING_SEGMENTS = 4, MAX_WAITING_SEGMENTS = 64 };

/* What comes next: segments on their way to the drainer. Guarded by `mutex`. */
typedef struct supply {
  pthread_mutex_t mutex;
  pthread_cond_t preparer_wakes;
  segment *ready;            /* prepared, not begun, oldest first */
  uint32_t ready_count;
  uint32_t depth;            /* how many to keep ready: one, until the drainer once had to wait */
  int wanted;
  int hungry;                /* the drainer waits for one: ring its bell */
  int prepare_error;         /* negative errno of the last preparation, 0 */
  int needed;                /* the drainer had none when it asked: a failure is one to tell of */
  uint64_t prepared_for;     /* the drains that were requested before the last preparation began */
  int stopping;
  int running;
  pthread_t preparer;
  uint64_t next_prepared;    /* atomic: numbers the files */
} supply;

typedef enum sync_result {
  SYNC_PENDING,
  SYNC_DURABLE,
  SYNC_LOST,        /* the event was overwritten or damaged before it was drained */
  SYNC_UNKNOWN,     /* it may have been: that is too long ago */
  SYNC_NOT_DRAINED, /* the log can't grow */
  SYNC_FAILED,      /* the disk failed */
  SYNC_TIMEOUT,
  SYNC_CLOSED
} sync_result;

struct event_log;

/* Somebody who waits for the disk. On the caller's stack, or, with `announce`, allocated. */
typedef struct sync_wait {
  uint32_t lane;     /* of the event that is waited for; NOTICE_LANE: all that was captured before */
  uint64_t position;
  uint64_t drain;    /* the drain request that brings it into the log */
  uint64_t pass;     /* the pass of the sealer that serves it, once begun */
  sync_result result;
  int error;         /* negative errno */
  void (*announce)(const struct event_log *log, struct sync_wait *wait); /* told once it is settled, and frees it */
  void (*notify)(void *context, weir_status status, const weir_error *error);
  void *context;
  struct sync_wait *next;
} sync_wait;

/* From the drainer to the disk. Guarded by `mutex`; the counts are read without it, too. */
typedef struct sealer {
  pthread_mutex_t mutex;
  pthread_cond_t wakes;
  pthread_cond_t settled;    /* a wait is over */
  segment *first_done;       /* full, oldest first */
  segment *last_done;
  segment *stuck;            /* could not be finished, and are tried again */
  uint64_t queued;           /* segments ever given to the sealer */
  uint64_t finished;         /* of them, those that it is done with */
  int stuck_error;           /* atomic: negative errno of the last attempt at the stuck ones, 0 without any */
  int broken;                /* negative errno: nothing can be vouched for any more */
  uint64_t retry_at;         /* monotonic */
  damaged_stretch *damaged;  /* bytes on their way to quarantine/, oldest first */
  uint64_t damaged_bytes;    /* of them all: at most MAX_DAMAGED_BYTES */
  uint64_t copy_at;          /* monotonic: not before, because the last try failed */
  sync_wait *waits;
  uint64_t wait_count;       /* atomic */
  uint64_t passes;           /* atomic: syncs of all that the log holds, begun so far */
  int fresh;                 /* atomic: with a sync interval, the log has grown since the last pass */
  uint64_t fresh_since;      /* monotonic */
  int stale;                 /* atomic: the log has grown since its files were touched */
  uint64_t stale_since;      /* monotonic */
  int stopping;
  int running;
  pthread_t thread;
} sealer;

/* The thread that populates the ring's pages ahead of the producers. */
typedef struct populator {
  pthread_t thread;
  int runs;
  uint32_t bell;   /* futex: rung to wake it */
  uint32_t asleep; /* it sleeps until woken */
  uint32_t stopping;
} populator;

/* A function of the host's, which the drainer calls. */
typedef struct host_call {
  void (*call)(void *context); /* null: nobody is told; the drainer looks at it without the lock first */
  void *context;
} host_call;

typedef struct event_log {
  weir_log producer; /* first: a weir_log * is an event_log * */
  log_lock held; /* the directory, locked */
  weir_options options;
  uint32_t state;      /* log_state */
  uint32_t references; /* the handle, and every thread that knows a lane of this log */
  void (*release)(struct event_log *log); /* frees it, once the last of them is gone */
  struct event_log *next;    /* all logs of the process, for fork */

  /* The ring. */
  uint8_t *ring;
  uint64_t ring_bytes;
  int ring_inherited; /* by the child of the fork in progress */
  ring_header *header; /* = ring */
  const uint8_t *definitions; /* what `at` in types counts from: the ring's type region, or in recovery a copy of it */
  char ring_path[sizeof((ring_locator *)0)->path]; /* the option ring_directory; empty: beside the segments */
  int ring_elsewhere;  /* a locator says where */
  int ring_in_memory;  /* it has no disk behind it */
  int rebooted;        /* in recovery: the ring is of another boot, and what its words say is not believed */
  int after_cut;       /* in recovery: its segments come after offsets that were left out */
  const struct handover *handover; /* in recovery: the log's word */
  int ended_well;      /* all that was captured before the close is in synced segments */
  lane *lanes;
  uint32_t lane_count;
  uint32_t owned_lanes; /* the first ones; the rest are spare */
  int membarrier;       /* works on this kernel */
  int can_flush_lines;  /* the processor has clflushopt */
  uint64_t loose_dropped[WEIR_DROP_REASONS]; /* refusals after the ring was closed, or in a fork */
  uint32_t refused; /* atomic: captures were refused since the drainer last told of it */
  uint64_t kept_overwritten; /* events evicted, once counters_kept */
  int counters_kept;         /* the ring's counters are in the two above. Guarded by wait_lock */
  uint32_t visitors; /* captures without a lane that touch the ring's header */
  uint32_t visitors_gone; /* the closer's: there were none at some moment after the close */

  spent_ring spent;            /* by this opening's recovery */
  uint64_t start_offset;       /* retention removed what is below it, before this opening */
  struct retention *retention; /* null: the log has no bounds */
  struct batcher *batcher;     /* null: sealed segments stay raw */
  void (*named_segment)(struct batcher *batcher, uint64_t base); /* tells the batcher of one that was sealed */
  int mapping_lost;            /* atomic: a mapped file was cut short, see detach.h */

  /* Types and contexts: written under types_lock; what is defined does not change but for defined_in, the drainer's. */
  pthread_mutex_t types_lock;
  uint32_t contexts;       /* different ones set so far: the numbers from MAX_TYPES - contexts on */
  uint32_t contexts_bytes; /* that their definitions take in the ring */
  type_entry types[MAX_TYPES];
  named_type *named[NAMED_SLOTS];

  /* The drainer's own. */
  pthread_t drainer;
  int drainer_runs;
  segment *active;
  uint64_t next_offset;
  uint64_t segment_number; /* of `active`, from 1 */
  segment_end previous;    /* the segment before `active` */
  int sampled_due;         /* a segment has begun: what was sampled out before is to be told of */
  uint64_t unkept_bytes;   /* atomic: of damaged stretches, not in quarantine/ for want of room or because it failed */
  uint64_t missing;        /* events that the holes it wrote stand for */
  calibration calibration;
  uint64_t calibrate_at;   /* monotonic time of the next calibration */
  uint64_t clock_start_ticks;
  uint64_t clock_start_ns;
  int64_t time_offset;     /* of this process's monotonic clock to the machine's */
  supply supply;
  sealer sealer;
  uint64_t roll_wanted;    /* atomic: the segment of this number takes no more blocks, its file can't be synced */
  uint64_t durable_offset; /* atomic: the disk has every event with an offset below */
  populator populator;

  /* Between the drainer and those who wait for it. */
  uint32_t bell;           /* futex: rung to wake the drainer */
  uint32_t napping;        /* the drainer waits for its interval to pass; a lane that fills up ends that */
  uint32_t stopping;
  pthread_mutex_t wait_lock;
  pthread_cond_t wait_done;
  uint32_t waiters;        /* callers that use the open log; close waits for them. Guarded by wait_lock */
  pthread_mutex_t close_lock;
  pthread_mutex_t host_lock; /* held while one of the two runs; guards both */
  host_call on_drained;
  host_call on_refused;
  uint64_t drains_requested; /* atomics; done follows requested */
  uint64_t drains_done;
  uint64_t drains_failed;    /* the last request that a failing pass of the drainer knew of */
  int stall_error;         /* the drainer's: negative errno of what stopped its pass; 0: it waits for a segment */
  uint64_t stalled_for;    /* the drainer's: later requests came after the try that failed, which says nothing of them */
  int32_t storage;         /* atomic: a weir_status, why the log cannot grow */
  int storage_errno;
  weir_counters counters;  /* the drainer's; read with relaxed atomics */
} event_log;

#endif
