/*
 * log.h: the struct of an open log, shared by the parts of the writing side. CoreLayers.md lists the parts; each part
 * has a header with its functions.
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

/*
 * One lane: first the fields that producers see, then those that only the log uses. Its memory outlives the ring's
 * mapping.
 */
typedef struct lane {
  weir_lane producer; /* first: a weir_lane * is a lane * */
  uint32_t taken;     /* compare-and-swapped by claimers and borrowers */
  uint32_t quiet;     /* the closer's: at some moment after the close no capture was in progress */
  /*
   * The fields from here on are the drainer's, on cache lines of their own: each drainer read of a line that captures
   * write would cost the next capture a cache miss, 0.1 to 0.3 us.
   */
  lane_control *control __attribute__((aligned(128)));
  uint32_t number;
  uint64_t drained;      /* the drainer's: the position up to which the log's blocks account for this lane */
  uint64_t records;     /* the drainer's: how many records come before `drained`, or RECORDS_UNKNOWN */
  uint64_t durable;     /* every record before this position is on the disk, or was lost */
  lane_loss loss[LANE_LOSSES]; /* the latest losses, circular. Guarded by the sealer's mutex, like the next two */
  uint32_t losses;      /* number of losses since the opening */
  uint64_t losses_known_from; /* losses at earlier positions are no longer known */
  uint64_t closed_tail; /* UINT64_MAX: what `tail` points to once the log is closed or detached */
} __attribute__((aligned(128))) lane;

/*
 * The result of a completed recovery for the ring that it found: everything in the ring is in synced segments, or
 * nothing in it can be recovered. Without this result no ring is replaced: see ring_create.
 */
typedef struct spent_ring {
  int certain;      /* recovery completed: the ring may be replaced */
  uint64_t opening; /* of the ring that recovery drained; 0: no ring is left */
} spent_ring;

typedef enum log_state { STATE_OPEN, STATE_CLOSED, STATE_DETACHED } log_state;

/*
 * The drainer's view of a type or context: its entry in the ring's type region, and the segment that has its
 * definition.
 */
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
 * The most bytes of the type region that contexts may use, so that types keep the rest however many users log in. An
 * entry has at least 40 bytes. So contexts run out of bytes before they have half of the numbers, and types and
 * contexts together run out of bytes before they run out of numbers.
 */
enum { MAX_CONTEXTS_BYTES = WEIR_TYPES_BYTES / 2 };
static_assert(MAX_CONTEXTS_BYTES / (sizeof(definition_header) + 8) <= MAX_TYPES / 2, "numbers of contexts");
static_assert(WEIR_TYPES_BYTES / (sizeof(definition_header) + 8) <= MAX_TYPES - WEIR_TYPE_FIRST, "numbers");
/* The most bytes of damaged stretches that may wait to be copied to quarantine/. */
enum { MAX_DAMAGED_BYTES = 4 << 20 };
enum { MAX_WAITING_BYTES = 256 << 20, LEAST_WAITING_SEGMENTS = 4, MAX_WAITING_SEGMENTS = 64 };

/* Prepared segments on their way to the drainer. Guarded by `mutex`. */
typedef struct preparer {
  pthread_mutex_t mutex;
  pthread_cond_t wakes;
  segment *ready;            /* prepared, not begun, oldest first */
  uint32_t ready_count;
  uint32_t depth;            /* how many to keep ready: 1 at first, 1 more each time the drainer had to wait */
  int wanted;
  int drainer_waits;         /* the drainer waits for a segment: ring its bell */
  int prepare_error;         /* negative errno of the last preparation if it was urgent and failed, else 0 */
  int needed;                /* no segment was ready when the drainer asked: report a failure */
  uint64_t prepared_for;     /* drains_requested when the last preparation began */
  int stopping;
  int running;
  pthread_t thread;
  uint64_t next_prepared;    /* atomic: numbers the files */
} preparer;

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

struct event_log;

/* A wait for the disk. On the caller's stack; allocated if `announce` is set. */
typedef struct sync_wait {
  uint32_t lane;     /* of the awaited event; NOTICE_LANE: everything captured before */
  uint64_t position;
  uint64_t drain;    /* the drain request that brings the event into the log */
  uint64_t pass;     /* the sealer's pass that serves this wait, once begun */
  sync_result result;
  int error;         /* negative errno */
  void (*announce)(const struct event_log *log, struct sync_wait *wait); /* called once the wait is settled; frees it */
  void (*notify)(void *context, weir_status status, const weir_error *error);
  void *context;
  struct sync_wait *next;
} sync_wait;

/*
 * Full segments on their way to the disk, and the waits for it. Guarded by `mutex`; the counts are also read without
 * it.
 */
typedef struct sealer {
  pthread_mutex_t mutex;
  pthread_cond_t wakes;
  pthread_cond_t settled;    /* a wait is over */
  segment *first_done;       /* full segments, oldest first */
  segment *last_done;
  segment *stuck;            /* segments that could not be finished and are tried again */
  uint64_t queued;           /* segments ever given to the sealer */
  uint64_t finished;         /* segments that the sealer has finished */
  int stuck_error;           /* atomic: negative errno of the last attempt to finish `stuck`; 0: none is stuck */
  int broken;                /* negative errno: nothing more is reported as durable; 0: all is well */
  uint64_t retry_at;         /* monotonic */
  damaged_stretch *damaged;  /* bytes on their way to quarantine/, oldest first */
  uint64_t damaged_bytes;    /* all of `damaged` together: at most MAX_DAMAGED_BYTES */
  uint64_t copy_at;          /* monotonic: no copy before this time, because the last one failed */
  sync_wait *waits;
  uint64_t wait_count;       /* atomic */
  uint64_t passes;           /* atomic: syncs of everything in the log, begun so far */
  int fresh;                 /* atomic: with a sync interval, the log has grown since the last pass */
  uint64_t fresh_since;      /* monotonic */
  int stale;                 /* atomic: the log has grown since its files were touched */
  uint64_t stale_since;      /* monotonic */
  int stopping;
  int running;
  pthread_t thread;
} sealer;

/* The thread that populates the ring's pages ahead of the producers. */
typedef struct prefaulter {
  pthread_t thread;
  int runs;
  uint32_t bell;   /* futex: rung to wake it */
  uint32_t asleep; /* it sleeps until woken */
  uint32_t stopping;
} prefaulter;

/* A function of the host that the drainer calls. */
typedef struct host_call {
  void (*call)(void *context); /* null: none is set; the drainer first reads it without the lock */
  void *context;
} host_call;

typedef struct event_log {
  weir_log producer; /* first: a weir_log * is an event_log * */
  log_lock held; /* the directory, locked */
  weir_options options;
  uint32_t state;      /* log_state */
  uint32_t references; /* 1 for the handle, 1 for each thread that has a lane of this log */
  void (*release)(struct event_log *log); /* frees the log when `references` is 0 */
  struct event_log *next;    /* all logs of the process, for fork */

  /* The ring. */
  uint8_t *ring;
  uint64_t ring_bytes;
  int ring_inherited; /* the child of the fork in progress inherits the mapping */
  ring_header *header; /* at the start of `ring` */
  char ring_path[sizeof((ring_locator *)0)->path]; /* the option ring_directory; empty: beside the segments */
  int ring_elsewhere;  /* the ring is not in the log's directory: a locator says where */
  int ring_in_memory;  /* the ring is on a file system in memory */
  int ended_well;      /* all that was captured before the close is in synced segments */
  lane *lanes;
  uint32_t lane_count;
  uint32_t owned_lanes; /* the first ones; the rest are spare */
  int membarrier;       /* works on this kernel */
  int can_flush_lines;  /* the processor has clflushopt */
  uint64_t dropped_after_close[WEIR_DROP_REASONS]; /* refusals without a ring: also in a fork, after a lost page */
  uint32_t refused; /* atomic: captures were refused since the drainer last told the host */
  uint64_t kept_overwritten; /* events evicted, once counters_kept */
  int counters_kept;         /* the ring's counters are in the two before. Guarded by wait_lock */
  uint32_t unlaned_users; /* captures without a lane that touch the ring's header */
  uint32_t unlaned_users_gone; /* the closer's: at some moment after the close there were no unlaned_users */

  spent_ring spent;            /* set by this opening's recovery */
  uint64_t start_offset;       /* retention removed all lower offsets before this opening */
  struct retention *retention; /* null: the log has no bounds */
  struct batcher *batcher;     /* null: sealed segments stay raw */
  void (*named_segment)(struct batcher *batcher, uint64_t base); /* tells the batcher that a segment was sealed */
  int mapping_lost;            /* atomic: a mapped file was cut short, see detach.h */

  /*
   * Types and contexts: written under types_lock. A definition never changes, except defined_in, which is the
   * drainer's.
   */
  pthread_mutex_t types_lock;
  uint32_t contexts;       /* number of different contexts so far: they have the numbers from MAX_TYPES - contexts on */
  uint32_t contexts_bytes; /* of their definitions in the ring */
  type_entry types[MAX_TYPES];
  named_type *named[NAMED_SLOTS];

  /* The drainer's own. */
  pthread_t drainer;
  int drainer_runs;
  segment *active;
  uint64_t next_offset;
  uint64_t segment_number; /* of `active`, from 1 */
  segment_end previous;    /* the segment before `active` */
  int sampled_due;         /* a new segment has begun: write the gap records for SAMPLED */
  uint64_t unkept_bytes;   /* atomic: bytes of damaged stretches that are not in quarantine/: no room, or a failure */
  calibration calibration;
  uint64_t calibrate_at;   /* monotonic time of the next calibration */
  uint64_t clock_start_ticks;
  uint64_t clock_start_ns;
  int64_t time_offset;     /* this process's monotonic clock less the machine's */
  preparer preparer;
  sealer sealer;
  uint64_t roll_wanted;    /* atomic: segments up to this number take no more blocks: a sync of their file failed */
  uint64_t durable_offset; /* atomic: every event with a lower offset is on the disk */
  prefaulter prefaulter;

  /* Between the drainer and those who wait for it. */
  uint32_t bell;           /* futex: rung to wake the drainer */
  uint32_t napping;        /* the drainer waits for its interval to pass; a lane that gets half full ends the wait */
  uint32_t stopping;
  pthread_mutex_t wait_lock;
  pthread_cond_t wait_done;
  uint32_t waiters;        /* callers that use the open log; close waits for them. Guarded by wait_lock */
  pthread_mutex_t close_lock;
  pthread_mutex_t host_lock; /* held while on_drained or on_refused runs; guards both */
  host_call on_drained;
  host_call on_refused;
  uint64_t drains_requested; /* atomic, like the next two. drains_done follows it */
  uint64_t drains_done;
  uint64_t drains_failed;    /* requests up to this one that are not done have failed */
  int stall_error;         /* the drainer's: negative errno of what stopped its pass; 0: it waits for a segment */
  uint64_t stalled_for;    /* the drainer's: drain requests after this one came after the failed try, and do not fail */
  int32_t storage;         /* atomic: a weir_status, why the log cannot grow */
  int storage_errno;
  weir_counters counters;  /* the drainer's; read with relaxed atomics */
} event_log;

#endif
