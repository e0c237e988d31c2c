/* firing.c: the threads that fire hooks, and the wait until none of them can be in one that was detached. */
#define _GNU_SOURCE
#include "weir_firing.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "system.h"

__thread weir_firing *weir_this_firing;
uint64_t weir_firing_epoch = 1;
uint32_t weir_firing_fenced;

static weir_firing *records; /* all there ever were: pushed, never removed */
static pthread_key_t thread_key;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void give_back(weir_firing *firing) {
  firing->depth = firing->pending = firing->override_count = 0;
  firing->running = NULL;
  __atomic_store_n(&firing->epoch, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&firing->taken, 0, __ATOMIC_RELEASE);
}

static void end_thread(void *record) {
  weir_firing *firing = record;
  while (firing->spare_count) free(firing->spares[--firing->spare_count]);
  weir_this_firing = NULL;
  give_back(record);
}

/* In a child of a fork the other threads are not there to end what they fired. */
static void forget_other_threads(void) {
  for (weir_firing *firing = records; firing; firing = firing->next) {
    if (firing != weir_this_firing) give_back(firing);
  }
}

static void prepare(void) {
#if defined(__SANITIZE_THREAD__)
  weir_firing_fenced = 1; /* ThreadSanitizer knows nothing of membarrier */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  weir_firing_fenced = 1;
#endif
#endif
  if (sys_membarrier_register() != 0) weir_firing_fenced = 1;
  if (pthread_key_create(&thread_key, end_thread) != 0) abort();
  pthread_atfork(NULL, NULL, forget_other_threads);
}

void weir_firing_prepare(void) { pthread_once(&prepared, prepare); }

weir_firing *weir_firing_join(void) {
  weir_firing_prepare();
  weir_firing *firing = __atomic_load_n(&records, __ATOMIC_ACQUIRE);
  for (; firing; firing = firing->next) {
    uint32_t is_taken = 0;
    if (__atomic_compare_exchange_n(&firing->taken, &is_taken, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) break;
  }
  if (!firing) {
    firing = calloc(1, sizeof *firing);
    if (!firing) return NULL;
    firing->taken = 1;
    firing->next = __atomic_load_n(&records, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&records, &firing->next, firing, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }
  pthread_setspecific(thread_key, firing);
  weir_this_firing = firing;
  return firing;
}

uint64_t weir_firing_retire(void) {
  uint64_t epoch = __atomic_add_fetch(&weir_firing_epoch, 1, __ATOMIC_SEQ_CST);
  /* A kernel that registered it and refuses it now leaves time for the stores to be seen, as close does. */
  if (!weir_firing_fenced && sys_membarrier() != 0) sys_sleep_ns(20000000);
  return epoch;
}

static int has_passed(uint64_t epoch, const weir_firing *except) {
  for (weir_firing *firing = __atomic_load_n(&records, __ATOMIC_ACQUIRE); firing; firing = firing->next) {
    uint64_t began = __atomic_load_n(&firing->epoch, __ATOMIC_SEQ_CST);
    if (firing != except && began != 0 && began < epoch) return 0;
  }
  return 1;
}

int weir_firing_passed(uint64_t epoch) { return has_passed(epoch, NULL); }

void weir_firing_wait(uint64_t epoch) {
  uint64_t pause = 1000;
  for (int turn = 0; !has_passed(epoch, weir_this_firing); turn++) {
    if (turn < 32) {
      sched_yield();
      continue;
    }
    sys_sleep_ns(pause);
    if (pause < 1000000) pause *= 2;
  }
}

uint64_t weir_firing_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A block that may be kept is of the size that all of them have. */
void *weir_call_take_slow(size_t size) { return malloc(size < WEIR_SPARE_BYTES ? WEIR_SPARE_BYTES : size); }

void weir_call_give_slow(void *memory) { free(memory); }

/* ---- Declared join points ---------------------------------------------------------------------------------------- */

/* The linker's names for the two ends of the section; null where nothing declares any. */
extern const weir_join_point_record __start_weir_join_points[] __attribute__((weak, visibility("hidden")));
extern const weir_join_point_record __stop_weir_join_points[] __attribute__((weak, visibility("hidden")));

size_t weir_join_point_count(void) { return (size_t)(__stop_weir_join_points - __start_weir_join_points); }

weir_join_point_record weir_join_point_at(size_t index) { return __start_weir_join_points[index]; }
