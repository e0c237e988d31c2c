/*
 * explorer.h: runs the model's threads in every order that matters, under a weak memory model, and stops at the first
 * execution that breaks an invariant. README.md says what that covers.
 *
 * A model's threads are coroutines on one thread of the system. Everything that can go more than one way is a choice:
 * which thread goes on, which store a load reads from, whether a signal comes now. An execution is the list of its
 * choices, so it can be repeated. Executions are walked depth first; one that comes to a state which was seen before
 * ends there.
 */
#ifndef WEIR_MODELS_EXPLORER_H
#define WEIR_MODELS_EXPLORER_H

#include <stdint.h>

enum { MAX_THREADS = 4, MAX_PLACES = 48, STACK_BYTES = 256 << 10 };

/* What a broken twin does wrong. All of it happens in the seam: the code under test is the same. */
typedef enum twin_change {
  TWIN_SOUND,          /* nothing: the model itself */
  TWIN_RELAX_STORE,    /* stores to the place lose their order, updates their release half */
  TWIN_RELAX_LOAD,     /* loads of the place lose their order, updates their acquire half */
  TWIN_SPLIT_UPDATE,   /* updates of the place read any store that a load may read: no longer atomic */
  TWIN_DELAY_STORE,    /* stores of `value` to the place take effect `count` atomic operations late */
  TWIN_SKIP_UPDATE,    /* updates of the place do not happen */
  TWIN_SKIP_BARRIER,   /* membarrier does nothing */
  TWIN_SKIP_SYNC       /* nor does a sync */
} twin_change;

/* What is stored where, as far as models and traces tell it apart. */
typedef enum place_kind {
  PLACE_OTHER,
  PLACE_TAIL,         /* a lane's tail, in the ring */
  PLACE_HEAD,         /* a lane's head, in the ring */
  PLACE_TAKEN,        /* a lane's owner */
  PLACE_BUSY,
  PLACE_TAIL_POINTER, /* where a lane's producer finds its tail */
  PLACE_ASLEEP,
  PLACE_BELL,
  PLACE_STATE,
  PLACE_VISITORS,
  PLACE_UNLANED,      /* the counters of refusals without a lane */
  PLACE_CONTROL,     /* the rest of a lane's control page */
  PLACE_RECORD,       /* bytes of a lane */
  PLACE_BLOCK,        /* bytes of a segment */
  PLACE_END,          /* the log's end, as the drainer publishes it */
  PLACE_DRAINED,      /* how far a lane is drained */
  PLACE_REQUESTED,    /* requests to drain that were made */
  PLACE_ANSWERED,     /* up to which they are done */
  PLACE_WAIT_COUNT,   /* waits for the disk */
  PLACE_STALE,        /* the log has grown since its files were touched */
  PLACE_DELIVERED,    /* how far all is delivered */
  PLACE_REMOVABLE,    /* what is to be delivered before there is something to remove */
  PLACE_BATCHED,      /* segments that became batches, on their way to the sealer */
  PLACE_USED,         /* bytes below the limit that are used */
  PLACE_BATCH_ROOM,   /* bytes below the limit that batches in the making have */
  PLACE_ROLL,         /* up to which segment a sync has failed */
  PLACE_FAILED,       /* up to which requests to drain have failed */
  PLACE_PREFAULT_STOP, /* the prefaulter is to end */
  PLACE_PREFAULT_BELL
} place_kind;

enum { ANY_VALUE = -1 };

typedef struct twin {
  const char *name;
  const char *label; /* of a barrier table: lane.c, sealer.c, retention.h, byte_limit.h */
  twin_change change;
  place_kind place;
  int64_t value;  /* of the stores that TWIN_DELAY_STORE delays; ANY_VALUE: all */
  uint32_t count;
} twin;

typedef struct model {
  const char *name;
  const char *labels;
  const char *proves;
  void (*set_up)(void);                  /* once, before the first execution: what it builds in the arena is restored */
  void (*threads[MAX_THREADS])(void);    /* in order; null after the last */
  void (*at_end)(void);                  /* after each execution: no thread can go on */
  void (*signal)(void);                  /* runs once, between any two accesses of the first thread; or null */
  void (*before_store)(void);            /* before each store to what survives a kill; or null */
  void (*done)(void);                    /* once, after the last execution, if none failed; or null */
  int sleeps_run_out;                    /* one sleep of each thread may end with nothing done by others */
  int naps_run_out;                      /* a wait in a futex with a timeout is over at once */
  uint32_t switches;                     /* at most so many from a thread that could go on; 0: without a bound */
  int long_form;                         /* not part of the short form */
  const twin *twins;                     /* the last has a null name */
} model;

typedef struct verdict {
  uint64_t executions;
  uint64_t states;
  int failed;
  int incomplete;     /* the bound on executions was reached */
  char message[400];
  uint32_t choices;   /* of the execution that failed */
  uint8_t *path;
} verdict;

/*
 * Explores all executions, at most `limit`, up to the first failure. With `print`, one execution is then run again and
 * printed access by access: the given path, or where there is none the last one.
 */
verdict explore(const model *model, const twin *twin, uint64_t limit, int print, const uint8_t *path, uint32_t choices);

extern const model *exploring;
extern const twin *exploring_twin;
extern int tracing;

/* ---- under_test_litmus.c: tests of the explorer itself ---- */
uint32_t litmus_count(void);
const char *litmus_name(uint32_t number);
model litmus_model(uint32_t number);
uint64_t litmus_missing(uint32_t number);   /* outcomes that the last exploration should have had, as bits */
uint64_t litmus_forbidden(uint32_t number); /* outcomes that it should not have had */

/* ---- For models ---- */

/* The invariant is broken: ends the execution. Only while one is running, or in at_end. */
void broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* One of `count` ways to go on. */
uint32_t choose(uint32_t count);

/* Whether a thread was still waiting in a futex when the execution ended. */
int ended_asleep(int thread);

/* ---- For the seam ---- */

enum { NO_THREAD = -1 };
extern int current;         /* the thread that runs, or NO_THREAD: set-up and checks, which do not count as accesses */
int is_new_ground(void);    /* whether this part of the execution was not run before */
void scheduling_point(void);
void remember(uint64_t what); /* folds what a thread learned into its part of the state */
void wait_for_store(void);    /* or, if no other thread can go on, for nothing */
int give_up_waiting(void);    /* whether, from now on, it waits for nothing; which is a choice */
int wake_early(void);         /* whether, this once, a sleep is over before another thread did anything; a choice */
void stored_something(void);
void sleep_on(const uint32_t *word);
void wake_sleepers(const uint32_t *word);
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define told(...) (tracing ? tell(__VA_ARGS__) : (void)0) /* a line of the trace, if there is one */

/* ---- memory.c: what a thread may read, see there ---- */

enum { RELAXED = 0, CONSUME = 1, ACQUIRE = 2, RELEASE = 3, ACQUIRE_RELEASE = 4, SEQUENTIAL = 5 };
typedef enum access { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE } access;

extern uint8_t *const arena; /* the shared memory: all that more than one thread may reach */
enum { ARENA_BYTES = 2 << 20 };
static inline int in_arena(const volatile void *address) {
  return (uint64_t)((const volatile uint8_t *)address - arena) < ARENA_BYTES;
}

void memory_forget_contention(void);
void memory_begin(void);                                  /* of an execution */
int memory_found_contention(void);                        /* a place is shared that was not known to be: start again */
int memory_is_contended(const volatile void *address, int writes);
void memory_check_race(const volatile void *address, uint64_t bytes, access access);
uint64_t memory_load(const volatile void *address, uint64_t bytes, int order);
void memory_store(volatile void *address, uint64_t bytes, uint64_t value, int order);

/* An atomic update: `update` answers whether it stores, and what. Answers the value read. */
typedef int (*updater)(uint64_t old, uint64_t operand, uint64_t expected, uint64_t *value);
uint64_t memory_update(volatile void *address, uint64_t bytes, updater update, uint64_t operand, uint64_t expected,
                       int order, int split);
void memory_fence(int thread); /* sequentially consistent */
int memory_is_known(const volatile void *address, uint64_t bytes); /* what others wrote there comes before now */
void memory_hash(uint64_t hash[2]);

static inline void mix(uint64_t hash[2], uint64_t value) {
  hash[0] = (hash[0] ^ value) * UINT64_C(0x9e3779b97f4a7c15);
  hash[0] ^= hash[0] >> 29;
  hash[1] = (hash[1] + value) * UINT64_C(0xd6e8feb86659fd93);
  hash[1] ^= hash[1] >> 32;
}

#endif
