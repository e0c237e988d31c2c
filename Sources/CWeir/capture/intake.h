/*
 * intake.h: the producers' side of an open log: lanes, types, the mapped ring, and those who use the log. The drainer
 * and the sealer work on it, too; a comment says where a field is theirs.
 */
#ifndef WEIR_INTAKE_H
#define WEIR_INTAKE_H

#include "system/names.h"

#include <pthread.h>

#include "directory/locator.h"
#include "directory/log_lock.h"
#include "format/record.h"
#include "limits/retention.h"
#include "system/system.h"

/* A stretch of a lane whose events are not in the log: overwritten, or damaged. */
typedef struct lane_loss {
  uint64_t from, to;
} lane_loss;

enum { LANE_LOSSES = 32 };

/* Who has a lane. */
typedef enum holder { HELD_BY_NONE = 0, HELD_BY_THREAD, HELD_BY_PREFAULTER } holder;

/*
 * One lane: first the fields that producers see, then those that only the log uses. Its memory outlives the ring's
 * mapping.
 */
typedef struct lane {
  weir_lane producer; /* first: a weir_lane * is a lane * */
  uint32_t taken;     /* a `holder`; compare-and-swapped by who takes the lane */
  uint32_t yields;    /* the producer's: how often refused captures yielded while the head was at `refused_at` */
  uint64_t refused_at;
  uint32_t quiet;     /* the closer's: at some moment after the close no capture was in progress */
  /*
   * The fields from here on are the drainer's, on cache lines of their own: each drainer read of a line that captures
   * write would cost the next capture a cache miss, 0.1 to 0.3 us.
   */
  lane_control *control __attribute__((aligned(128)));
  uint32_t number;
  uint64_t drained;      /* the drainer's: the position up to which the log's blocks account for this lane */
  uint64_t records;     /* the drainer's: how many records come before `drained`, or RECORDS_UNKNOWN */
  uint64_t passed;      /* atomic: of an overflow lane: the last tail up to which a pass drained it, and lower lanes */
  uint64_t durable;     /* every record before this position is on the disk, or was lost */
  lane_loss loss[LANE_LOSSES]; /* the latest losses, circular. Guarded by the sealer's mutex, like the next two */
  uint32_t losses;      /* number of losses since the opening */
  uint64_t losses_known_from; /* losses at earlier positions are no longer known */
  uint64_t closed_tail; /* UINT64_MAX: what `tail` points to once the log is closed or detached */
  uint32_t ready;       /* atomic: it has its blocks and its first pages, see lane_pages.h */
  uint64_t stay_until;  /* its producer's: monotonic: when to look for an overflow lane again, after there was none */
  uint32_t used;        /* atomic: it was taken; before that its `own_tail` is null */
} __attribute__((aligned(128))) lane;

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

enum { NAMED_SLOTS = 2 * MAX_TYPES };
/*
 * The most bytes of the type region that contexts may use, so that types keep the rest however many users log in. An
 * entry has at least 40 bytes. So contexts run out of bytes before they have half of the numbers, and types and
 * contexts together run out of bytes before they run out of numbers.
 */
enum { MAX_CONTEXTS_BYTES = WEIR_TYPES_BYTES / 2 };
static_assert(MAX_CONTEXTS_BYTES / (sizeof(definition_header) + 8) <= MAX_TYPES / 2, "numbers of contexts");
static_assert(WEIR_TYPES_BYTES / (sizeof(definition_header) + 8) <= MAX_TYPES - WEIR_TYPE_FIRST, "numbers");
/*
 * Types and contexts: written under `lock`. A definition never changes, except defined_in, which is the drainer's.
 */
typedef struct type_table {
  pthread_mutex_t lock;
  uint32_t contexts;       /* number of different contexts so far: they have the numbers from MAX_TYPES - contexts on */
  uint32_t contexts_bytes; /* of their definitions in the ring */
  type_entry entries[MAX_TYPES];
  named_type *named[NAMED_SLOTS];
} type_table;

/* The ring's file, mapped. */
typedef struct mapped_ring {
  int fd;         /* for blocks of lanes; -1: none */
  sys_file file;  /* which it is of */
  int whole;      /* the opening allocated all of it, because the file system can't allocate parts */
  uint8_t *bytes; /* null: not mapped, or not any more */
  uint64_t size;
  int inherited;  /* the child of the fork in progress inherits the mapping */
  ring_header *header; /* at the start of `bytes` */
  char path[sizeof((ring_locator *)0)->path]; /* the option ring_directory; empty: beside the segments */
  int elsewhere;  /* the ring is not in the log's directory: a locator says where */
  int in_memory;  /* the ring is on a file system in memory */
} mapped_ring;

/* Who uses the open log, other than by a capture; close waits for them. */
typedef struct callers {
  pthread_mutex_t lock;
  pthread_cond_t settled; /* one has left, or a drain request is done with, or nobody has the work any more */
  uint32_t count;         /* guarded by `lock`, as the next one */
  int working;            /* a caller has the work of a log without threads */
} callers;

/* Requests that everything captured before be drained. Atomic. */
typedef struct drain_requests {
  uint64_t made;   /* how many there were */
  uint64_t done;   /* up to which all is drained; follows `made` */
  uint64_t failed; /* requests up to this one that are not done have failed */
} drain_requests;

typedef struct intake {
  weir_log producer; /* first: a weir_log * is an intake * */
  const log_lock *held; /* the directory, locked */
  const weir_options *options;
  struct retention *retention; /* null: the log has no bounds */
  struct sealer *sealer;             /* who makes events durable */
  struct drainer *drainer;           /* who drains */
  void (*work)(struct drainer *drainer); /* of a log without threads: does its work. Null: threads do */
  uint32_t state;      /* log_state */
  uint32_t references; /* 1 for the handle, 1 for each thread that has a lane of this log */
  void (*release)(struct intake *intake); /* frees the log when `references` is 0 */
  struct intake *next; /* all logs of the process, for fork */

  mapped_ring ring;
  lane *lanes;
  uint32_t lane_count;
  uint32_t owned_lanes;    /* the first ones; then come the spare ones, */
  uint32_t first_overflow; /* and the overflow lanes from this number on: see overflow_lanes.c */
  uint32_t lanes_in_play;  /* atomic: later lanes have no control page yet: nobody may look at them */
  int membarrier;       /* atomic: works on this kernel; the prefaulter may find out after the opening */
  int mapping_lost;     /* atomic: a mapped file was cut short, see detach.h */
  type_table types;
  struct callers callers;
  drain_requests requests;

  uint64_t dropped_after_close[WEIR_DROP_REASONS]; /* refusals without a ring: also in a fork, after a lost page */
  uint32_t refused; /* atomic: captures were refused since the drainer last reported to the host */
  uint64_t kept_overwritten; /* events evicted, once counters_kept */
  int counters_kept;         /* the ring's counters are in the two before. Guarded by callers.lock */
  uint32_t unlaned_users; /* captures without a lane that touch the ring's header */
  uint32_t unlaned_users_gone; /* the closer's: at some moment after the close there were no unlaned_users */

  /* The drainer's, for captures and callers to see. */
  uint32_t bell;    /* futex: rung to wake the drainer */
  uint32_t napping; /* it waits for its interval to pass; a lane that gets half full ends the wait */
  uint32_t lanes_used; /* atomic: how many lanes are `used`, without overflow lanes */
  uint32_t overflow_ready; /* atomic: how many overflow lanes are `ready` */
  uint64_t seen_end, seen_at; /* atomic: the end of the log at a look of overflow_lanes_watch, since when; 0: never */
  uint32_t *tender;        /* atomic: the bell of the prefaulter; null: it does not run */
  uint64_t retry_at;   /* atomic: when to try again to give a lane its blocks, see lane_pages.h */
  int32_t storage;  /* atomic: a weir_status, why the log cannot grow */
  int storage_errno;
} intake;

/* How many lanes have a control page. */
static inline uint32_t lanes_in_play(const intake *intake) {
  return __atomic_load_n(&intake->lanes_in_play, __ATOMIC_ACQUIRE); /* L11 */
}
static inline int lane_overflows(const intake *intake, const lane *lane) {
  return lane->number >= intake->first_overflow;
}

/* Whether the log can't grow: what is full stays full. */
static inline int intake_is_stuck(const intake *intake) {
  return __atomic_load_n(&intake->storage, __ATOMIC_ACQUIRE) != WEIR_OK; /* E1 */
}

/* Taking a lane that nobody has, and giving it back: who has it is its only producer. */
static inline uint32_t lane_holder(const lane *lane) { return __atomic_load_n(&lane->taken, __ATOMIC_RELAXED); }
static inline int lane_is_taken(const lane *lane) { return lane_holder(lane) != HELD_BY_NONE; }
static inline int lane_is_ready(const lane *lane) { return __atomic_load_n(&lane->ready, __ATOMIC_RELAXED) != 0; }
static inline int lane_try_take(lane *lane, holder holder) {
  uint32_t expected = HELD_BY_NONE;
  return !lane_is_taken(lane) &&
         __atomic_compare_exchange_n(&lane->taken, &expected, holder, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); /* L5 */
}
static inline void lane_give_back(lane *lane) {
  __atomic_store_n(&lane->taken, HELD_BY_NONE, __ATOMIC_RELEASE); /* L5 */
}

/* In memory that is zeros. 0 or -ENOMEM; to be freed either way. `ring_directory`: of the options, or null. */
int intake_make(intake *intake, const log_lock *held, const weir_options *options, const char *ring_directory);
void intake_free_locks(intake *intake);
void intake_free(intake *intake); /* all but the locks, and what others own */

#endif
