/* support.c: pinning, the clock around a burst, and the barrier that makes bursts overlap. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "capture_subjects.h"

int support_cpus(int32_t *cpus, int room) {
  cpu_set_t set;
  int count = 0;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && count < room; cpu++) {
    if (CPU_ISSET(cpu, &set)) cpus[count++] = cpu;
  }
  return count;
}

int support_pin(const int32_t *cpus, int count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < count; i++) CPU_SET(cpus[i], &set);
  return sched_setaffinity(0, sizeof set, &set);
}

uint64_t support_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void spin_barrier_wait(spin_barrier *barrier) {
  uint32_t phase = __atomic_load_n(&barrier->phase, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&barrier->waiting, 1, __ATOMIC_ACQ_REL) == barrier->threads) {
    __atomic_store_n(&barrier->waiting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&barrier->phase, phase + 1, __ATOMIC_RELEASE);
    return;
  }
  /* On a machine with fewer CPUs than threads the one that is waited for must get its turn. */
  for (uint32_t spins = 0; __atomic_load_n(&barrier->phase, __ATOMIC_ACQUIRE) == phase; spins++) {
    if (spins > 100000) sched_yield();
  }
}
