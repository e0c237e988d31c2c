/*
 * sweeps.h: what step_replay.c steps through: each sweep is a small program that prepares a log, marks the part to be
 * swept, and goes through it. The log is as small as the options allow, so that its files can be looked at after every
 * instruction.
 */
#ifndef WEIR_REPLAY_SWEEPS_H
#define WEIR_REPLAY_SWEEPS_H

#include "swept.h"

/* Where the ring is: of what was there before, and of what is swept. */
typedef enum sweep_ring { RING_BESIDE, RING_APART, RING_MOVES_AWAY, RING_MOVES_BACK } sweep_ring;

typedef struct sweep {
  const char *name;
  void (*shape)(victim_plan *plan);                      /* changes the smallest plan; may be null */
  void (*prepare)(const victim_plan *plan, report *report); /* makes the log that is there before; may be null */
  void (*run)(swept *swept);
  int calls_only;        /* from system call to system call: nothing is stored into mapped files but by captures */
  uint64_t quantum;      /* instructions until another thread may go on, at most; 0: until one waits */
  uint64_t instructions; /* fewer than these mean that it did not go through what it should */
  uint64_t stores;       /* likewise: instructions after which the files had changed */
  uint64_t calls;
  sweep_ring ring;
} sweep;

extern const sweep sweeps[];
extern const uint32_t sweep_count;

/*
 * The smallest plan there is: one lane and a spare one of a few hundred bytes, drained only when asked for. `before`:
 * of the log that is there before.
 */
victim_plan sweep_plan(const sweep *sweep, const char *directory, const char *ring_directory, uint64_t seed,
                       int before);

#endif
