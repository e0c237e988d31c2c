/* prefaulter.h: the thread that populates the ring's pages ahead of the producers. See prefaulter.c. */
#ifndef WEIR_PREFAULTER_H
#define WEIR_PREFAULTER_H

#include "system/names.h"

#include "capture/intake.h"

typedef struct prefaulter {
  struct intake *intake;
  pthread_t thread;
  int runs;
  uint32_t bell;   /* futex: rung to wake it */
  uint32_t asleep; /* it sleeps until woken */
  uint32_t seen;   /* intake.lanes_used at its last look */
  uint32_t stopping;
} prefaulter;

int prefaulter_start(prefaulter *prefaulter); /* not in a log without threads. 0 or a negative errno */
void prefaulter_wake(prefaulter *prefaulter); /* something is being captured. A load; a system call if it sleeps */
void prefaulter_stop(prefaulter *prefaulter);

#endif
