/*
 * warm.h: a thread that reads the segments that recovery is about to scan, into nothing, so that the scan finds them in
 * the processor's cache. The kernel copies pages of 4 KiB, which lie anywhere in memory, at half the rate at which one
 * thread can sum them; two threads fetch twice as much. It decides nothing: without it recovery does the same, slower.
 *
 * Only where there are several segments and much in them; then one thread for as long as the scan takes, 256 KiB.
 */
#ifndef WEIR_WARM_H
#define WEIR_WARM_H

#include <pthread.h>

#include "directory.h"

typedef struct warmer {
  int directory;
  const segment_name *names;
  uint64_t count;
  uint64_t scanned; /* the index of the segment that is being scanned; atomic */
  int runs;
  pthread_t thread;
} warmer;

/* Starts if it is worth it. What it is given has to last until warmer_stop. */
void warmer_start(warmer *warmer, int directory, const segment_name *names, uint64_t count);
void warmer_follow(warmer *warmer, uint64_t scanned);
void warmer_stop(warmer *warmer);

#endif
