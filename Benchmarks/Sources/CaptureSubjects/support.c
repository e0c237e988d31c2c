/* support.c: pinning, clocks, what the process used, and the barrier that makes bursts overlap. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>
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

void support_usage(uint64_t *processor_ns, uint64_t *sleeps) {
  struct timespec used = {0, 0};
  struct rusage usage = {.ru_nvcsw = 0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  getrusage(RUSAGE_SELF, &usage);
  *processor_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
  *sleeps = (uint64_t)usage.ru_nvcsw;
}

double support_ns_a_tick(void) {
  struct timespec pause = {0, 50000000};
  uint64_t start = support_now_ns(), ticks = support_ticks();
  nanosleep(&pause, NULL);
  uint64_t end = support_now_ns(), last = support_ticks();
  return (double)(end - start) / (double)(last - ticks);
}

void spin_barrier_wait(spin_barrier *barrier) {
  uint32_t phase = __atomic_load_n(&barrier->phase, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&barrier->waiting, 1, __ATOMIC_ACQ_REL) == barrier->threads) {
    __atomic_store_n(&barrier->waiting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&barrier->phase, phase + 1, __ATOMIC_RELEASE);
    return;
  }
  /* With fewer processors than threads the one that is waited for must get its turn. */
  for (uint32_t spins = 0; __atomic_load_n(&barrier->phase, __ATOMIC_ACQUIRE) == phase; spins++) {
    if (spins >= barrier->spins) sched_yield();
  }
}
