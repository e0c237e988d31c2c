/*
 * weir_clocks.h: the machine's clocks, for Weir's Swift part, into which it is inlined; no interface for programs.
 *
 * Here and not in Swift, because `timespec` belongs to whichever module of the toolchain has included its header first:
 * with the upcoming feature MemberImportVisibility its members compile in one build and not in another.
 */
#ifndef WEIR_CLOCKS_H
#define WEIR_CLOCKS_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a clock shows (CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME), in nanoseconds. 50 ns, no system call. */
static inline int64_t weir_clock_read(clockid_t clock) {
  struct timespec time;
  return clock_gettime(clock, &time) == 0 ? (int64_t)time.tv_sec * 1000000000 + time.tv_nsec : 0;
}

/* pthread_cond_timedwait until a moment of the condition's clock, in nanoseconds; never later than in 68 years, which
 * some systems can not tell. */
static inline int weir_cond_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline_ns) {
  uint64_t seconds = deadline_ns / 1000000000;
  struct timespec time = {(time_t)(seconds < INT32_MAX ? seconds : INT32_MAX), (long)(deadline_ns % 1000000000)};
  return pthread_cond_timedwait(condition, mutex, &time);
}

#ifdef __cplusplus
}
#endif

#endif
