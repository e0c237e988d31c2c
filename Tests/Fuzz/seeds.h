/*
 * seeds.h: the logs that all mutations begin with: the one that Tests/C/log_fixture.h builds by hand, as a whole and in
 * parts and with batch segments; the golden logs; and logs made at the call whose ring lies in another directory, in
 * use and closed.
 */
#ifndef WEIR_FUZZ_SEEDS_H
#define WEIR_FUZZ_SEEDS_H

#include "archive.h"

enum { MAX_SEEDS = 16 };

typedef struct seed {
  const char *name;
  archive archive;
} seed;

/* `golden` is the folder of the golden logs. Answers how many there are. */
uint32_t seeds_make(seed seeds[MAX_SEEDS], const char *golden);

#endif
