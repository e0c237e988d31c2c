/*
 * stress.h: what the files of the stress executable share.
 *
 *     stress.c      options, rounds, the table at the end
 *     plan.c        what one round does, drawn from its seed
 *     producers.c   threads that capture, and their tallies
 *     bystanders.c  threads that do everything else that may overlap with captures
 *     judge.c       what the log must hold afterwards, held against the tallies
 *
 * A round opens one to three logs in one process, runs its threads, closes, and judges each log: every capture that was
 * attempted has exactly one fate, and the log, its counters and its gap records tell the same story as the callers.
 *
 * A producer is a line of captures that never overlaps with itself but by nesting: one thread, or threads that follow
 * each other. Each event carries its producer's number and the number of the event among those that were accepted.
 */
#ifndef WEIR_TESTS_STRESS_H
#define WEIR_TESTS_STRESS_H

#define CHECKS_ARE_SHARED
#include "check.h"

#include <pthread.h>

enum { MAX_LOGS = 3, MAX_PRODUCERS = 40, FULL_POLICIES = 4 };

/* The policies for a full lane that the table names, each a combination of options. */
typedef enum full_choice { DROP_NEWEST, BLOCK_A_WHILE, BLOCK_FOR_EVER, DROP_OLDEST } full_choice;
extern const char *const full_names[FULL_POLICIES];

/* splitmix64 of a thread's own: check.h's generator is one for the process. */
static inline uint64_t draw(uint64_t *state, uint64_t limit) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (z ^ z >> 31) % limit;
}

/* ---- One round --------------------------------------------------------------------------------------------------- */

typedef struct plan {
  uint64_t seed;
  uint32_t full;            /* full_choice */
  uint32_t log_count;
  weir_options options;     /* of every log of the round */
  uint32_t steady;          /* producers that are one thread */
  uint32_t passing;         /* producers that are threads of a few captures, one after the other */
  uint64_t run_ns;          /* how long the producers capture, */
  uint64_t most_attempts;   /* and after how many captures a steady producer ends, */
  uint64_t most_passing;    /* or a passing one */
  uint32_t odd_in;          /* one capture in so many is nested, cancelled, refused, too large or of no type */
  uint32_t filler;          /* largest filler of an ordinary event */
  uint64_t pause_ns;        /* now and then between two captures; 0: never */
  int forks, closes;        /* whether processes fork, whether a log is closed half-way */
  uint64_t bystander_pause_ns;
  uint32_t waits_in;        /* a steady producer waits for the disk after one of so many captures; 0: never */
} plan;

/* What the callers were told. */
typedef struct tally {
  uint64_t attempted;
  uint64_t accepted;
  uint64_t cancelled;
  uint64_t refused[WEIR_DROP_REASONS];
} tally;

typedef struct stressed_log {
  weir_log *log;
  char *directory;
  uint32_t type;
} stressed_log;

typedef struct round round_t;

typedef struct producer {
  round_t *round;
  uint32_t number;
  uint64_t random;
  uint64_t attempts, most; /* captures so far, and at which it ends */
  tally tallies[MAX_LOGS];
  weir_id last[MAX_LOGS];      /* the last event that each log accepted */
  pthread_t thread;
} producer;

struct round {
  plan plan;
  stressed_log logs[MAX_LOGS];
  producer producers[MAX_PRODUCERS];
  uint32_t producer_count;
  uint64_t threads;           /* started to capture, in all */
  uint64_t children;          /* forked */
  uint64_t asked, told;       /* who asked to be told of the disk, and was */
  int64_t began_ns, ended_ns; /* wall clock */
  int stop;                   /* atomic: producers end */
  int stop_bystanders;        /* atomic */
};

/* Sums over rounds, for the table. */
typedef struct figures {
  uint64_t rounds, threads, children, capture_ns;
  tally sum;
  uint64_t overwritten, delivered;
} figures;

/* ---- plan.c ---- */
plan plan_of(uint64_t seed, uint32_t full);      /* small and varied: everything wraps, fills and runs out */
plan soak_plan_of(uint64_t seed, uint32_t full); /* ordinary sizes, flat out */

/* ---- producers.c ---- */
void producers_prepare(void);       /* once, before the first log is opened: thread keys */
void producers_prepare_late(void);  /* once, after: keys whose destructors run after Weir's */
void producers_start(round_t *round);
void producers_join(round_t *round);
uint8_t stress_filler(uint64_t producer, uint64_t number, uint64_t index);

/* ---- bystanders.c ---- */
typedef struct bystanders bystanders;
bystanders *bystanders_start(round_t *round);
void bystanders_join(bystanders *all);
void close_log(weir_log *log); /* again until nothing is half-way */

/* ---- judge.c ---- */
void judge(round_t *round, uint32_t index, const weir_counters *counters, figures *figures);
tally tally_of(const round_t *round, uint32_t index);

#endif
