/*
 * counting.h: counts what a thread does while it is told to: allocations and locks by taking the place of the C
 * library's functions, system calls by marks that strace shows.
 *
 * A program that links counting.c has its own malloc, free, pthread_mutex_lock and so on, which count and then do what
 * the library's do. Shared libraries of the process, Swift's run-time library among them, get these too.
 */
#ifndef COUNTING_H
#define COUNTING_H

#include <stdint.h>

typedef struct counting {
  uint64_t allocations; /* malloc, calloc, realloc, memalign, aligned_alloc, posix_memalign */
  uint64_t frees;       /* free of something */
  uint64_t locks;       /* pthread mutexes, read-write locks, spin locks, condition variables, semaphores */
} counting;

/* From here on the calling thread is counted, as `subject`. Marks the place in the trace of its system calls. */
void counting_begin(const char *subject);

/* Up to here. Adds what was counted to `sum`. */
void counting_end(const char *subject, counting *sum);

/* One line for the checker: what `subject` did in `captures` captures. */
void counting_report(const char *subject, uint64_t captures, const counting *sum);

/* Does one of everything that is counted, to show that it is. */
void counting_sin(void);

#endif
