/* firing.c: the threads that fire hooks, and the wait until no thread can still be in a detached hook. */
#define _GNU_SOURCE
#include "weir_firing.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "system/system.h"

WEIR_THREAD_LOCAL weir_firing *weir_this_firing;
uint64_t weir_firing_epoch = 1;
uint32_t weir_firing_fenced;

/*
 * A thread writes its record all the time, so each has cache lines of its own: two, because they are fetched in pairs.
 */
enum { RECORD_ALIGNMENT = 128 };

static weir_firing *records; /* every record ever made: pushed, never removed */
static pthread_key_t thread_key;
static int thread_key_made;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void give_back(weir_firing *firing) {
  firing->depth = 0;
  __atomic_store_n(&firing->pending, 0, __ATOMIC_RELAXED);
  firing->running = NULL;
  firing->override = NULL;
  __atomic_store_n(&firing->epoch, 0, __ATOMIC_RELEASE); /* F2 */
  __atomic_store_n(&firing->taken, 0, __ATOMIC_RELEASE); /* F5 */
}

static void end_thread(void *record) {
  weir_firing *firing = (weir_firing *)record;
  while (firing->spare_count) free(firing->spares[--firing->spare_count]);
  weir_this_firing = NULL;
  give_back((weir_firing *)record);
}

/*
 * In a forked child the other threads don't exist, and can't end what they fired. Their spares are left alone: a thread
 * may have been about to take one or to put one back, and then the count is ahead of the array.
 */
static void forget_other_threads(void) {
  for (weir_firing *firing = records; firing; firing = firing->next) {
    if (firing == weir_this_firing) continue;
    firing->spare_count = 0;
    give_back(firing);
  }
}

static void prepare(void) {
#if defined(__SANITIZE_THREAD__)
  __atomic_store_n(&weir_firing_fenced, 1, __ATOMIC_RELAXED); /* ThreadSanitizer knows nothing of membarrier */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  __atomic_store_n(&weir_firing_fenced, 1, __ATOMIC_RELAXED);
#endif
#endif
  if (sys_membarrier_register() != 0) __atomic_store_n(&weir_firing_fenced, 1, __ATOMIC_RELAXED);
  /* Without a key a thread that ends does not give its record back; that costs only some bytes a thread. */
  thread_key_made = pthread_key_create(&thread_key, end_thread) == 0;
  pthread_atfork(NULL, NULL, forget_other_threads);
}

void weir_firing_prepare(void) { pthread_once(&prepared, prepare); }

static weir_firing *take_record(void) {
  weir_firing *firing = __atomic_load_n(&records, __ATOMIC_ACQUIRE); /* F6 */
  for (; firing; firing = firing->next) {
    uint32_t is_taken = 0;
    /* F5 */
    if (__atomic_compare_exchange_n(&firing->taken, &is_taken, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return firing;
  }
  void *memory;
  if (posix_memalign(&memory, RECORD_ALIGNMENT, (sizeof *firing + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1ul))) {
    return NULL;
  }
  firing = (weir_firing *)memory;
  memset(firing, 0, sizeof *firing);
  firing->taken = 1;
  firing->next = __atomic_load_n(&records, __ATOMIC_RELAXED);
  /* F6 */
  while (!__atomic_compare_exchange_n(&records, &firing->next, firing, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    continue;
  }
  return firing;
}

weir_firing *weir_firing_join(void) {
  weir_firing_prepare();
  weir_firing *firing = take_record();
  if (!firing) return NULL;
  if (thread_key_made) pthread_setspecific(thread_key, firing);
  weir_this_firing = firing;
  return firing;
}

uint64_t weir_firing_retire(void) { return __atomic_add_fetch(&weir_firing_epoch, 1, __ATOMIC_SEQ_CST); /* F3 */ }

/* After it, every other thread has its epoch (F1) in memory, or will read the tables as they are now. */
static void barrier(void) {
  if (__atomic_load_n(&weir_firing_fenced, __ATOMIC_RELAXED)) return;
  /* If the kernel refuses membarrier now, the wait gives the stores time to be seen, as lane_close_all does. */
  if (sys_membarrier() != 0) sys_sleep_ns(20000000);
}

/* The oldest epoch in which a thread other than the one of `except` fires, at most `least`. */
static uint64_t oldest(uint64_t least, const weir_firing *except) {
  /* F6 */
  for (weir_firing *firing = __atomic_load_n(&records, __ATOMIC_SEQ_CST); firing; firing = firing->next) {
    uint64_t began = __atomic_load_n(&firing->epoch, __ATOMIC_SEQ_CST); /* F1, F2 */
    if (firing != except && began != 0 && began < least) least = began;
  }
  return least;
}

uint64_t weir_firing_reach(int ask) {
  uint64_t now = __atomic_load_n(&weir_firing_epoch, __ATOMIC_SEQ_CST); /* F3 */
  barrier();
  uint64_t reached = oldest(now, NULL);
  if (!ask || reached == now) return reached;
  /* F6 */
  for (weir_firing *firing = __atomic_load_n(&records, __ATOMIC_SEQ_CST); firing; firing = firing->next) {
    uint64_t began = __atomic_load_n(&firing->epoch, __ATOMIC_SEQ_CST); /* F1, F2 */
    if (began != 0 && began < now) __atomic_store_n(&firing->pending, 1, __ATOMIC_SEQ_CST); /* F4 */
  }
  barrier();
  return oldest(now, NULL);
}

void weir_firing_wait(uint64_t epoch) {
  barrier();
  uint64_t pause = 1000;
  for (int turn = 0; oldest(epoch, weir_this_firing) < epoch; turn++) {
    if (turn < 32) {
      sched_yield();
      continue;
    }
    sys_sleep_ns(pause);
    if (pause < 1000000) pause *= 2;
  }
}

uint64_t weir_firing_clock(void) {
  return sys_monotonic_ns();
}

/* A block that may become a spare must have the size of all spares. */
void *weir_call_take_slow(size_t size, size_t alignment) {
  if (size < WEIR_SPARE_BYTES) size = WEIR_SPARE_BYTES;
  if (alignment <= WEIR_SPARE_ALIGNMENT) return malloc(size);
  void *memory;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

void weir_call_give_slow(void *memory) { free(memory); }

/* ---- Declared join points ---------------------------------------------------------------------------------------- */

/* The linker's names for the two ends of the section; null if no join point is declared. */
extern const weir_join_point_record __start_weir_join_points[] __attribute__((weak, visibility("hidden")));
extern const weir_join_point_record __stop_weir_join_points[] __attribute__((weak, visibility("hidden")));

size_t weir_join_point_count(void) { return (size_t)(__stop_weir_join_points - __start_weir_join_points); }

weir_join_point_record weir_join_point_at(size_t index) { return __start_weir_join_points[index]; }
