/*
 * replay.h: what every program of the crash-replay harness shares: its options, rounds in parallel, progress, and what
 * happens at a failure. A program does one round at a time, all of whose choices follow from a seed:
 *
 *     --rounds N    rounds to do: as many as the program says
 *     --seconds N   no further round is begun after so long: unlimited
 *     --seed N      of everything random; WEIR_SEED=N does the same. Printed at the start
 *     --first N     the first round to do: 0
 *     --repeat N    how often to do each round: 1
 *     --only NAME   only the cases or sweeps whose name holds this
 *     --jobs N      rounds at a time, each in a process of its own: one for each processor
 *     --keep DIR    where the evidence of a failure goes: .build/crash-artifacts
 *
 * Round r of a seed makes the same choices whatever else runs, so `--seed S --first r --rounds 1` repeats it; a program
 * prints that command when a round fails (where moments matter, with --repeat). A round that crashes or hangs is a
 * failure like any other.
 */
#ifndef WEIR_REPLAY_H
#define WEIR_REPLAY_H

#include <stdint.h>

enum { REPLAY_COUNTERS = 40, REPLAY_ROUND_SECONDS = 900 };

typedef struct replay {
  const char *program; /* as it was called */
  uint64_t seed;
  uint64_t rounds;
  uint64_t seconds; /* 0: unlimited */
  uint64_t first;
  uint64_t repeat;
  int by_chance;       /* set by the program: the same choices come out differently each time, as moments do */
  uint32_t jobs;
  const char *only; /* null: all */
  const char *keep;
  uint64_t round;   /* the one being done */
  char folder[256]; /* scratch of the round, in memory if there is room: empty when it begins, removed after it */
  char disk[256];   /* the same on a disk, if TMPDIR or /tmp is on one: slower, and what fsync takes its time for */
  struct replay_shared *shared;
} replay;

/* The options; `rounds` is the default of --rounds. Ends the program at --help or a wrong option. */
replay replay_start(int argc, char **argv, uint64_t rounds);

/* Whether --only lets a case or sweep of this name run. */
int replay_wants(const replay *replay, const char *name);

/*
 * Does the rounds: calls `round` for each with a seed of its own, in processes. A round answers by calling replay_fail
 * or not. Prints progress, and the counters at the end. Answers main's exit status.
 */
int replay_run(replay *replay, void (*round)(struct replay *, uint64_t seed));

/*
 * Says what is wrong with this round, copies the round's folder to the evidence, and prints the command that repeats
 * the round. The first failure ends the program once the rounds in progress are done.
 */
void replay_fail(replay *replay, const char *format, ...) __attribute__((format(printf, 2, 3)));
int replay_failed(const replay *replay); /* this round or another */

/* Adds to one of the counters that are printed at the end, by name; of all jobs together. */
void replay_count(replay *replay, const char *name, uint64_t by);
uint64_t replay_counted(const replay *replay, const char *name);

/* A random number (splitmix64) from a state that the caller keeps. */
uint64_t replay_random(uint64_t *state);
uint64_t replay_below(uint64_t *state, uint64_t limit);
uint64_t replay_mix(uint64_t a, uint64_t b); /* a seed made of two numbers */

/* Copies a folder with everything in it; `to` is made. 0, or -1 with a message. */
int replay_copy(const char *from, const char *to);

#endif
