/*
 * log.h: an open log, shared by the files of the writing side. One room a file:
 *
 *     log.c      opening and closing          types.c    type definitions
 *     lane.c     claiming and giving back     clock.c    ticks and calibration
 *     room.c     a full lane                  fork.c     the child of a fork
 *     ring.c     the ring file                locator.c  where it lies
 *     segment.c  one segment file
 *     drain.c    lanes to segments            supply.c   the preparer and the sealer
 *     populate.c the ring's pages
 *     recover.c  what a dead writer left
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <pthread.h>

#include "locator.h"
#include "record.h"
#include "ring.h"
#include "segment.h"

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
  uint64_t closed_tail; /* UINT64_MAX: what `tail` points to once the log is closed or detached */
} __attribute__((aligned(128))) lane;

typedef enum log_state { STATE_OPEN, STATE_CLOSED, STATE_DETACHED } log_state;

/* A type as the drainer sees it: its entry in the ring's type region, and the segment that has it already. */
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

enum { MAX_TYPES = 8192, NAMED_SLOTS = 2 * MAX_TYPES, MAX_DEFINITION_BYTES = 32768, MAX_READY_SEGMENTS = 3 };
enum { MAX_WAITING_BYTES = 256 << 20, LEAST_WAITING_SEGMENTS = 4, MAX_WAITING_SEGMENTS = 64 };

/* What comes next and what is done: segments on their way to and from the drainer. Guarded by `mutex`. */
typedef struct supply {
  pthread_mutex_t mutex;
  pthread_cond_t preparer_wakes;
  pthread_cond_t sealer_wakes;
  pthread_cond_t sealed;     /* a segment was retired, or could not be */
  segment *ready;            /* prepared, not begun, oldest first */
  uint32_t ready_count;
  uint32_t depth;            /* how many to keep ready: one, until the drainer once had to wait */
  int wanted;
  int hungry;                /* the drainer waits for one: ring its bell */
  segment *first_done;       /* full, waiting for the sealer, oldest first */
  segment *last_done;
  uint64_t queued;           /* segments ever given to the sealer */
  uint64_t retired;          /* of them, those that it is done with */
  int prepare_error;         /* negative errno of the last preparation, 0 */
  int needed;                /* the drainer had none when it asked: a failure is one to tell of */
  int seal_error;            /* negative errno of the first sealing that failed: what it held may not be on the disk */
  int stopping;
  int running;
  pthread_t preparer;
  pthread_t sealer;
  uint64_t next_prepared;    /* numbers the files */
} supply;

/* The thread that populates the ring's pages ahead of the producers. */
typedef struct populator {
  pthread_t thread;
  int runs;
  uint32_t bell;   /* futex: rung to wake it */
  uint32_t asleep; /* it sleeps until woken */
  uint32_t stopping;
} populator;

typedef struct event_log {
  weir_log producer; /* first: a weir_log * is an event_log * */
  char *path;
  int directory;
  int lock;
  weir_options options;
  uint32_t state;      /* log_state */
  uint32_t references; /* the handle, and every thread that knows a lane of this log */
  struct event_log *next;    /* all logs of the process, for fork */

  /* The ring. */
  uint8_t *ring;
  uint64_t ring_bytes;
  int ring_inherited; /* by the child of the fork in progress */
  ring_header *header; /* = ring */
  char ring_path[sizeof((ring_locator *)0)->path]; /* the option ring_directory; empty: beside the segments */
  int ring_elsewhere;  /* a locator says where */
  int ring_in_memory;  /* it has no disk behind it */
  int ended_well;      /* all that was captured before the close is in synced segments */
  lane *lanes;
  uint32_t lane_count;
  uint32_t owned_lanes; /* the first ones; the rest are spare */
  int membarrier;       /* works on this kernel */
  int can_flush_lines;  /* the processor has clflushopt */
  uint64_t loose_dropped[WEIR_DROP_REASONS]; /* refusals after the ring was closed, or in a fork */
  uint64_t kept_overwritten; /* events evicted, once counters_kept */
  int counters_kept;         /* the ring's counters are in the two above. Guarded by wait_lock */
  uint32_t visitors; /* captures without a lane that touch the ring's header */
  uint32_t visitors_gone; /* the closer's: there were none at some moment after the close */

  /* Types: written under types_lock; what is defined does not change but for defined_in, the drainer's. */
  pthread_mutex_t types_lock;
  type_entry types[MAX_TYPES];
  named_type *named[NAMED_SLOTS];

  /* The drainer's own. */
  pthread_t drainer;
  int drainer_runs;
  segment *active;
  uint64_t next_offset;
  uint64_t segment_number; /* of `active`, from 1 */
  segment_end previous;    /* the segment before `active` */
  calibration calibration;
  uint64_t calibrate_at;   /* monotonic time of the next calibration */
  uint64_t clock_start_ticks;
  uint64_t clock_start_ns;
  supply supply;
  populator populator;

  /* Between the drainer and those who wait for it. */
  uint32_t bell;           /* futex: rung to wake the drainer */
  uint32_t napping;        /* the drainer waits for its interval to pass; a lane that fills up ends that */
  uint32_t stopping;
  pthread_mutex_t wait_lock;
  pthread_cond_t wait_done;
  uint32_t waiters;        /* callers that use the open log; close waits for them. Guarded by wait_lock */
  pthread_mutex_t close_lock;
  uint64_t drains_requested; /* atomics; done follows requested */
  uint64_t drains_done;
  uint64_t drains_failed;    /* the last request that a failing pass of the drainer knew of */
  int stall_error;         /* the drainer's: negative errno of what stopped its pass; 0: it waits for a segment */
  int32_t storage;         /* atomic: a weir_status, why the log cannot grow */
  int storage_errno;
  weir_counters counters;  /* the drainer's; read with relaxed atomics */
} event_log;

/* ---- ring.c: making and mapping, see also ring.h ---- */
weir_status ring_create(event_log *log, uint64_t base_offset, weir_error *error);
weir_status ring_attach(event_log *log, int fd, weir_error *error); /* maps an existing ring, header checked */
void ring_detach(event_log *log);
int ring_is_drained(const event_log *log); /* the log has all that it holds, counts of refusals included */
weir_status ring_retire(event_log *log, weir_error *error); /* removes a drained ring that lies elsewhere */
lane_view ring_lane_view(const event_log *log, uint32_t number);

/* ---- lane.c ---- */
void lane_ring_bell(event_log *log);
void lane_close_all(event_log *log);    /* no capture begins any more; returns when none is in progress */
int lanes_quiet(event_log *log);        /* after lane_close_all: no capture is in progress that began before it */
void lane_settle_eviction(lane_control *control, uint64_t head); /* counts what `head` shows to have been evicted */
uint64_t lane_evicted(const lane_control *control); /* events evicted so far, those not counted yet included */
log_state lane_log_state(const event_log *log);
void lane_forget(event_log *log);       /* the calling thread's lane in a closed log; others keep theirs to their end */
void log_unreference(event_log *log);
void log_register(event_log *log);      /* known to fork */
void log_unregister(event_log *log);    /* and lets go of the lock and the directory. Again: nothing happens */
void log_hold_forks(void);              /* no fork until log_allow_forks: a child closes only noted descriptors */
void log_allow_forks(void);

/* ---- types.c ---- */
void types_load(event_log *log); /* the type table from the ring's region */

/* ---- clock.c ---- */
uint32_t clock_resolve(uint32_t wanted);
void clock_start(event_log *log);
int clock_measure(event_log *log, uint32_t clock); /* sets the log's calibration; 0 if the counter stepped back */
calibration_slot clock_slot(const calibration *value, uint32_t sequence);
void clock_calibrate(event_log *log); /* measures, and persists in the ring */

/* ---- drain.c ---- */
typedef enum drain_result { DRAIN_COMPLETE, DRAIN_STALLED } drain_result;
drain_result drain_all(event_log *log, uint64_t *moved); /* every lane up to its tail now, then the due gap records */
int drain_begin_segment(event_log *log, segment *fresh, uint32_t flags); /* header and name; 0 or negative errno */
void drain_seal_active(event_log *log);
void *drain_main(void *log);

/* ---- supply.c ---- */
int start_thread(pthread_t *thread, void *(*main)(void *), void *argument, const char *name); /* 0 or negative errno */
weir_status supply_start(event_log *log, weir_error *error);
segment *supply_take(event_log *log, int *error); /* the next segment, or null: not ready (0) or a negative errno */
void supply_want(event_log *log);
/* Makes `next` the active segment (null: none); the one before goes to the sealer, or is retired in place if that does
 * not run. 0 or negative errno. */
int supply_change(event_log *log, segment *next);
int supply_settle(event_log *log, uint64_t deadline_ns); /* waits for the sealer. 0, -ETIMEDOUT, the sealer's error */
void supply_poison(event_log *log, int error); /* a sync failed: durability is never claimed again */
void supply_stop(event_log *log);

/* ---- populate.c ---- */
int populator_start(event_log *log); /* where there is something to populate. 0 or negative errno */
void populator_wake(event_log *log); /* something is being captured. A load; a system call only if it sleeps */
void populator_stop(event_log *log);

/* ---- recover.c ---- */
weir_status recover(event_log *log, weir_recovery *report, uint64_t *next_offset, weir_error *error);

#endif
