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
 * label store                                     load                               what it guarantees
 * F1    record.epoch (relaxed, then signal        waiter: record.epoch (acquire),    a table that a thread may still read
 *       fence, or an exchange, seq_cst), then     after membarrier, after the new    is not released
 *       the table is read                         table and epoch were stored
 * F2    record.epoch = 0 (release)                waiter: record.epoch (acquire)     all that advice did is seen by
 *                                                                                    whoever detached it
 * F3    firing_epoch + 1 (seq_cst), after the     reader: firing_epoch (acquire)     who announces the new epoch reads
 *       new table                                                                    the new table
 */
#ifndef WEIR_FIRING_H
#define WEIR_FIRING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Advice that runs on this thread: the innermost of a list on its stack. */
typedef struct weir_running {
  const void *hook;
  const struct weir_running *outer;
} weir_running;

enum { WEIR_OVERRIDES = 32, WEIR_SPARES = 8, WEIR_SPARE_BYTES = 256 };

/* A call of an override that is in progress on this thread: what it calls through super is the same call. */
typedef struct weir_override {
  const void *join_point;
  const void *instance;
  const void *implementer; /* the class whose override it is */
} weir_override;

/* A thread's record. Taken at its first firing, given back when it ends, never freed. */
typedef struct weir_firing {
  uint64_t epoch;              /* in which the thread began to fire; 0: it does not */
  uint32_t depth;              /* firings inside of one another */
  uint32_t taken;              /* a thread has it */
  uint32_t pending;            /* something was detached in here: to be released when the outermost firing ends */
  uint32_t override_count;     /* of `overrides` */
  uint32_t spare_count;        /* of `spares` */
  const weir_running *running;
  struct weir_firing *next;
  void *spares[WEIR_SPARES];   /* memory for the states of calls */
  weir_override overrides[WEIR_OVERRIDES];
} weir_firing;

extern __thread weir_firing *weir_this_firing __attribute__((tls_model("initial-exec")));
extern uint64_t weir_firing_epoch;
extern uint32_t weir_firing_fenced;

/* To be called once before the first hook is attached: finds out whether membarrier works. Any number of times. */
void weir_firing_prepare(void);

/* This thread's record, taken now; null if there is no memory for it. */
weir_firing *weir_firing_join(void);

/* Begins to fire: what is read from here on stays until weir_firing_end. Null: no memory; nothing may be read. */
static inline weir_firing *weir_firing_begin(void) {
  weir_firing *firing = weir_this_firing;
  if (__builtin_expect(!firing, 0) && !(firing = weir_firing_join())) return NULL;
  if (firing->depth++ == 0) {
    uint64_t epoch = __atomic_load_n(&weir_firing_epoch, __ATOMIC_ACQUIRE); /* F3 */
    if (__builtin_expect(__atomic_load_n(&weir_firing_fenced, __ATOMIC_RELAXED) != 0, 0)) {
      __atomic_exchange_n(&firing->epoch, epoch, __ATOMIC_SEQ_CST); /* F1 */
    } else {
      __atomic_store_n(&firing->epoch, epoch, __ATOMIC_RELAXED); /* F1 */
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
  }
  return firing;
}

static inline void weir_firing_end(weir_firing *firing) {
  if (--firing->depth == 0) __atomic_store_n(&firing->epoch, 0, __ATOMIC_RELEASE); /* F2 */
}

/*
 * If this thread fires now, something was detached in there, and is to be released when the outermost firing ends: 1.
 * Else 0.
 */
static inline int weir_firing_postpone(void) {
  weir_firing *firing = weir_this_firing;
  if (!firing || firing->depth == 0) return 0;
  firing->pending = 1;
  return 1;
}

/* Begins a new epoch, and answers it. To be called after the new table was stored. */
uint64_t weir_firing_retire(void);

/* Whether no thread fires any more that began before this epoch. This thread's own firing counts too. */
int weir_firing_passed(uint64_t epoch);

/* Waits until that is so; this thread's own firing does not count. */
void weir_firing_wait(uint64_t epoch);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t weir_firing_clock(void);

/* Notes a call of an override. 0: too many of them are inside of one another, and it is not noted. */
static inline int weir_override_begin(weir_firing *firing, weir_override call) {
  if (firing->override_count >= WEIR_OVERRIDES) return 0;
  firing->overrides[firing->override_count++] = call;
  return 1;
}

static inline void weir_override_end(void) { weir_this_firing->override_count--; }

/* Whether this call came through super: the innermost override in progress on the instance is another class's. */
static inline int weir_override_encloses(const weir_firing *firing, weir_override call) {
  for (uint32_t index = firing->override_count; index-- > 0;) {
    const weir_override *outer = &firing->overrides[index];
    if (outer->join_point != call.join_point || outer->instance != call.instance) continue;
    return outer->implementer != call.implementer;
  }
  return 0;
}

void *weir_call_take_slow(size_t size);
void weir_call_give_slow(void *memory);

/*
 * Memory for the state of a call, from its beginning to its end, which may come on another thread. From what this
 * thread has at hand, up to WEIR_SPARE_BYTES and the alignment of malloc. Null: there is none.
 */
static inline void *weir_call_take(size_t size, size_t alignment) {
  weir_firing *firing = weir_this_firing;
  if (alignment > 16) return NULL;
  if (size > WEIR_SPARE_BYTES || firing->spare_count == 0) return weir_call_take_slow(size);
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
