/*
 * weir_firing.h: what a thread announces while it fires hooks, so that whoever detaches one knows when it is gone.
 *
 * For Weir's Swift part, into which it is inlined; no interface for programs.
 *
 * A call that has listeners reads a table of hooks that any other thread may replace at the same moment. To fire takes
 * no lock and no atomic read-modify-write: a thread stores, into a record of its own, in which epoch it began, then
 * reads the table. Whoever replaced the table begins a new epoch and waits until no record has an earlier one. It is
 * what liburcu calls the memb flavour of read-copy-update (Desnoyers, McKenney et al., User-Level Implementations of
 * Read-Copy Update, IEEE TPDS 2012): the barrier between the store and the read is paid by the one who waits, with
 * membarrier(2). Where the kernel refuses that, `weir_firing_fenced` is set and readers pay for it themselves.
 *
 * In short: the reader stores its epoch, then reads the table. Whoever replaces the table stores it, passes a barrier
 * on every thread, then reads the epochs. So either the reader reads the new table, or its epoch is seen and waited
 * for. In the fenced form all four accesses are sequentially consistent. Every other step is a release that an acquire
 * reads.
 *
 * label store                                  load                               what it guarantees
 * F1    record.epoch (release, then signal     waiter: record.epoch (seq_cst),    a table that a thread may still read
 *       fence; fenced: exchange, seq_cst),     after the barrier, after the new   is not released
 *       then the table is read (seq_cst)       table (seq_cst) and epoch
 * F2    record.epoch = 0 (release), or the     waiter: record.epoch (seq_cst)     all that advice did is seen by
 *       next F1 store                                                             whoever detached it
 * F3    firing_epoch + 1 (seq_cst), after the  reader: firing_epoch (acquire)     who announces the new epoch reads
 *       new table                                                                 the new table
 * F4    record.pending = 1 (seq_cst), then     reader: record.pending (seq_cst)   who is asked to clear up after its
 *       barrier, then record.epoch is read     after record.epoch = 0 (F2, or     firing does, or had ended it before
 *                                              an exchange if fenced)             and the asker does
 * F5    record.taken = 0 (release), after the  joiner: record.taken, by           the next thread finds a record that
 *       rest of it                             compare-and-swap (acquire)         nobody uses
 * F6    records, by compare-and-swap           waiter: records (seq_cst), after   a thread that fires has a record that
 *       (seq_cst), after the record's fields   the barrier                        the waiter looks at
 *
 * Not for signal handlers: the first firing of a thread allocates, and advice may.
 */
#ifndef WEIR_FIRING_H
#define WEIR_FIRING_H

#include <stddef.h>
#include <stdint.h>

#include "weir_capture.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Advice that runs on this thread: the innermost of a list on its stack. */
typedef struct weir_running {
  const void *hook;
  const struct weir_running *outer;
} weir_running;

enum { WEIR_SPARES = 8, WEIR_SPARE_BYTES = 256, WEIR_SPARE_ALIGNMENT = 16 };

/*
 * A call of an override that is in progress on this thread: what it calls through super is the same call. The innermost
 * of a list, in memory of weir_call_take.
 */
typedef struct weir_override {
  const void *join_point;
  const void *instance;    /* the object, or the class of a class method */
  const void *implementer; /* the class whose override it is */
  const struct weir_override *outer;
} weir_override;

/* A thread's record. Taken at its first firing, given back when it ends, never freed. */
typedef struct weir_firing {
  uint64_t epoch;    /* in which the thread began to fire; 0: it does not */
  uint32_t depth;    /* firings inside of one another */
  uint32_t taken;    /* a thread has it */
  uint32_t pending;  /* something is to be released when the outermost firing ends; other threads set it, too */
  uint32_t spare_count; /* of `spares` */
  const weir_running *running;
  const weir_override *override;
  struct weir_firing *next;
  void *spares[WEIR_SPARES]; /* memory for the states of calls */
} weir_firing;

extern WEIR_THREAD_LOCAL weir_firing *weir_this_firing;
extern uint64_t weir_firing_epoch;
extern uint32_t weir_firing_fenced;

/* To be called once before the first hook is attached: finds out whether membarrier works. Any number of times. */
void weir_firing_prepare(void);

/* This thread's record, taken now; null if there is no memory for it. */
weir_firing *weir_firing_join(void);

static inline int weir_firing_is_fenced(void) {
  return __builtin_expect(__atomic_load_n(&weir_firing_fenced, __ATOMIC_RELAXED) != 0, 0);
}

/* Begins to fire: what is read from here on stays until weir_firing_end. Null: no memory; nothing may be read. */
static inline weir_firing *weir_firing_begin(void) {
  weir_firing *firing = weir_this_firing;
  if (__builtin_expect(!firing, 0) && !(firing = weir_firing_join())) return NULL;
  if (firing->depth++ == 0) {
    uint64_t epoch = __atomic_load_n(&weir_firing_epoch, __ATOMIC_ACQUIRE); /* F3 */
    if (weir_firing_is_fenced()) {
      __atomic_exchange_n(&firing->epoch, epoch, __ATOMIC_SEQ_CST); /* F1 */
    } else {
      __atomic_store_n(&firing->epoch, epoch, __ATOMIC_RELEASE); /* F1 */
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
  }
  return firing;
}

/* Ends what weir_firing_begin began. 1: this was the outermost, and something may be released now. */
static inline int weir_firing_end(weir_firing *firing) {
  if (--firing->depth != 0) return 0;
  if (weir_firing_is_fenced()) {
    __atomic_exchange_n(&firing->epoch, 0, __ATOMIC_SEQ_CST); /* F2 */
  } else {
    __atomic_store_n(&firing->epoch, 0, __ATOMIC_RELEASE); /* F2 */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  if (__builtin_expect(__atomic_load_n(&firing->pending, __ATOMIC_SEQ_CST) == 0, 1)) return 0; /* F4 */
  /* A thread that sets `pending` has first put the object into the registry: the caller finds it there. */
  __atomic_store_n(&firing->pending, 0, __ATOMIC_RELAXED);
  return 1;
}

/*
 * 1 if this thread is firing: what was retired is to be released when its outermost firing ends. 0 if it is not.
 */
static inline int weir_firing_postpone(void) {
  weir_firing *firing = weir_this_firing;
  if (!firing || firing->depth == 0) return 0;
  __atomic_store_n(&firing->pending, 1, __ATOMIC_RELAXED);
  return 1;
}

/* Begins a new epoch, and answers it. To be called after the new table was stored. Costs an atomic addition. */
uint64_t weir_firing_retire(void);

/*
 * Answers an epoch: no thread, the calling one included, still reads what was retired in that epoch or before. With
 * `ask`, weir_firing_end answers 1 on each thread that holds a later epoch back (F4), which then looks again. Put what
 * is to be released where that thread finds it before this call.
 */
uint64_t weir_firing_reach(int ask);

/* Waits until no other thread fires that began before this epoch. */
void weir_firing_wait(uint64_t epoch);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t weir_firing_clock(void);

/* Notes a call of an override, until weir_override_end on the same thread. */
static inline void weir_override_begin(weir_firing *firing, weir_override *call) {
  call->outer = firing->override;
  firing->override = call;
}

static inline void weir_override_end(const weir_override *call) { weir_this_firing->override = call->outer; }

/* Whether this call came through super: the innermost override in progress on the instance is another class's. */
static inline int weir_override_encloses(
    const weir_firing *firing, const void *join_point, const void *instance, const void *implementer) {
  for (const weir_override *outer = firing->override; outer; outer = outer->outer) {
    if (outer->join_point == join_point && outer->instance == instance) return outer->implementer != implementer;
  }
  return 0;
}

void *weir_call_take_slow(size_t size, size_t alignment);
void weir_call_give_slow(void *memory);

/*
 * Memory for the state of a call, from its beginning to its end, which may come on another thread. From what this
 * thread has at hand if it is no larger than WEIR_SPARE_BYTES and aligned no more than WEIR_SPARE_ALIGNMENT. Null:
 * there is none. The thread must have a record.
 */
static inline void *weir_call_take(size_t size, size_t alignment) {
  weir_firing *firing = weir_this_firing;
  if (size > WEIR_SPARE_BYTES || alignment > WEIR_SPARE_ALIGNMENT || firing->spare_count == 0) {
    return weir_call_take_slow(size, alignment);
  }
  return firing->spares[--firing->spare_count];
}

static inline void weir_call_give(void *memory, size_t size) {
  weir_firing *firing = weir_this_firing;
  if (size > WEIR_SPARE_BYTES || !firing || firing->spare_count == WEIR_SPARES) weir_call_give_slow(memory);
  else firing->spares[firing->spare_count++] = memory;
}

/*
 * The join points that are declared in the section weir_join_points of this executable or library: functions that make
 * themselves known to `list`. Those of libraries that are loaded besides are not among them.
 */
typedef void (*weir_join_point_record)(void *list);
size_t weir_join_point_count(void);
weir_join_point_record weir_join_point_at(size_t index);

#ifdef __cplusplus
}
#endif

#endif
