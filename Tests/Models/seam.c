/*
 * seam.c: where the code under test meets the explorer. See seam.h. Gives each access its meaning, and does to it
 * what the broken twin being explored does wrong.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "explorer.h"
#include "under_test.h"
#include "world.h"

/* As seam.h declares them to the sources under test; its macros are not for this file. */
void *seam_copy(void *to, const void *from, size_t count);
void *seam_fill(void *to, int byte, size_t count);
void *seam_allocate(size_t count, size_t each);
void *seam_allocate_aligned(size_t alignment, size_t bytes);
void *seam_reallocate(void *address, size_t bytes);
void seam_free(void *address);
int seam_yield(void);
int seam_lock(pthread_mutex_t *mutex);
int seam_unlock(pthread_mutex_t *mutex);
int seam_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int seam_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int seam_wake(pthread_cond_t *condition);

/* A store that a twin delays. */
typedef struct delayed {
  volatile void *address; /* null: none */
  uint64_t bytes, value;
  int order;
  uint32_t operations; /* still to come before it */
} delayed;

static delayed late[MAX_THREADS];
static int signalled, in_signal;
static uint64_t accesses[MAX_THREADS];

void seam_begin(void) {
  memset(late, 0, sizeof late);
  memset(accesses, 0, sizeof accesses);
  signalled = in_signal = 0;
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

/* A signal may come before any access of the first thread to memory that is not its stack's. */
static void maybe_signal(void) {
  if (!exploring->signal || current != 0 || signalled) return;
  accesses[0]++;
  if (!choose(2)) return;
  signalled = in_signal = 1;
  remember(accesses[0]);
  told("is interrupted by a signal");
  exploring->signal();
  in_signal = 0;
  told("returns from the signal handler");
}

/* ---- Twins ------------------------------------------------------------------------------------------------------- */

static int twin_does(twin_change change, const volatile void *address) {
  return exploring_twin && exploring_twin->change == change && place_of(address) == exploring_twin->place;
}

static int weaken(int order, int strip_release, int strip_acquire) {
  int release = (order == RELEASE || order == ACQUIRE_RELEASE || order == SEQUENTIAL) && !strip_release;
  int acquire = (order == ACQUIRE || order == ACQUIRE_RELEASE || order == SEQUENTIAL) && !strip_acquire;
  if (!strip_release && !strip_acquire) return order;
  return release && acquire ? ACQUIRE_RELEASE : release ? RELEASE : acquire ? ACQUIRE : RELAXED;
}

static void store_now(volatile void *address, uint64_t bytes, uint64_t value, int order);

static void perform_late(void) {
  delayed due = late[current];
  late[current].address = NULL;
  told("(the delayed store comes now)");
  store_now(due.address, due.bytes, due.value, due.order);
}

/* Before each atomic operation of a thread. What a signal handler does comes between two of the thread's operations. */
static void count_down(const volatile void *address) {
  delayed *waiting = &late[current];
  if (!waiting->address || in_signal) return;
  if (waiting->operations == 0 || address == waiting->address) perform_late();
  else waiting->operations--;
}

static int delays(const volatile void *address, uint64_t bytes, uint64_t value, int order) {
  if (!twin_does(TWIN_DELAY_STORE, address) || late[current].address || in_signal) return 0;
  if (exploring_twin->value != ANY_VALUE && (uint64_t)exploring_twin->value != value) return 0;
  told("(delays its store to %s)", place_name(address));
  late[current] = (delayed){(volatile void *)(uintptr_t)address, bytes, value, order, exploring_twin->count};
  return 1;
}

void seam_thread_ends(void) {
  if (late[current].address) perform_late();
}

/* ---- Atomic accesses --------------------------------------------------------------------------------------------- */

/* A thread's own variables: above the frame of this function, and not farther than a stack is large. */
static int on_stack(const volatile void *address) {
  return (uint64_t)((uintptr_t)address - (uintptr_t)__builtin_frame_address(0)) < STACK_BYTES;
}

static uint64_t raw(const volatile void *address, uint64_t bytes) {
  uint64_t value = 0;
  memcpy(&value, (const void *)(uintptr_t)address, bytes);
  return value;
}

/* Whether the access concerns the explorer at all: not the set-up's or a check's, not one to a thread's own memory. */
static int counts(const volatile void *address) {
  if (current == NO_THREAD || !in_arena(address)) return 0;
  world_check_mapped(address);
  return 1;
}

static uint64_t load(const volatile void *address, uint64_t bytes, int order) {
  if (current != NO_THREAD && !on_stack(address)) maybe_signal();
  if (!counts(address)) return raw(address, bytes);
  count_down(address);
  if (twin_does(TWIN_RELAX_LOAD, address)) order = RELAXED;
  uint64_t value;
  if (memory_is_contended(address, 0)) {
    scheduling_point();
    memory_check_race(address, bytes, ATOMIC_READ);
    value = memory_load(address, bytes, order);
  } else {
    memory_check_race(address, bytes, ATOMIC_READ);
    value = raw(address, bytes);
  }
  told("loads %s: %lld", place_name(address), (long long)value);
  return value;
}

static void store_now(volatile void *address, uint64_t bytes, uint64_t value, int order) {
  world_before_store(address, bytes);
  if (memory_is_contended(address, 1)) {
    scheduling_point();
    memory_check_race(address, bytes, ATOMIC_WRITE);
    memory_store(address, bytes, value, order);
  } else {
    memory_check_race(address, bytes, ATOMIC_WRITE);
    memcpy((void *)(uintptr_t)address, &value, bytes);
  }
  told("stores %s = %lld%s", place_name(address), (long long)value, order == RELAXED ? "" : ", release");
}

static void store(volatile void *address, uint64_t bytes, uint64_t value, int order) {
  if (current != NO_THREAD && !on_stack(address)) maybe_signal();
  if (!counts(address)) {
    world_before_store(address, bytes);
    memcpy((void *)(uintptr_t)address, &value, bytes);
    return;
  }
  count_down(address);
  if (twin_does(TWIN_RELAX_STORE, address)) order = RELAXED;
  if (!delays(address, bytes, value, order)) store_now(address, bytes, value, order);
}

static uint64_t update(volatile void *address, uint64_t bytes, updater how, uint64_t operand, uint64_t expected,
                       int order) {
  if (current != NO_THREAD && !on_stack(address)) maybe_signal();
  uint64_t value, old;
  if (!counts(address)) {
    world_before_store(address, bytes);
    old = raw(address, bytes);
    if (how(old, operand, expected, &value)) memcpy((void *)(uintptr_t)address, &value, bytes);
    return old;
  }
  count_down(address);
  order = weaken(order, twin_does(TWIN_RELAX_STORE, address), twin_does(TWIN_RELAX_LOAD, address));
  if (twin_does(TWIN_SKIP_UPDATE, address)) return raw(address, bytes);
  world_before_store(address, bytes);
  int contended = memory_is_contended(address, 0) | memory_is_contended(address, 1);
  if (contended) scheduling_point();
  memory_check_race(address, bytes, ATOMIC_WRITE);
  if (contended) {
    old = memory_update(address, bytes, how, operand, expected, order, twin_does(TWIN_SPLIT_UPDATE, address));
  } else {
    old = raw(address, bytes);
    if (how(old, operand, expected, &value)) memcpy((void *)(uintptr_t)address, &value, bytes);
  }
  told("updates %s: was %lld", place_name(address), (long long)old);
  return old;
}

static int adds(uint64_t old, uint64_t operand, uint64_t expected, uint64_t *value) {
  (void)expected;
  *value = old + operand;
  return 1;
}

static int exchanges(uint64_t old, uint64_t operand, uint64_t expected, uint64_t *value) {
  (void)old, (void)expected;
  *value = operand;
  return 1;
}

static int compares(uint64_t old, uint64_t operand, uint64_t expected, uint64_t *value) {
  *value = operand;
  return old == expected;
}

/* The names that the compiler calls; `order` is one of the __ATOMIC numbers, which are those of explorer.h. */
#define ATOMICS(bits, type)                                                                                          \
  type __tsan_atomic##bits##_load(const volatile type *at, int order) { return (type)load(at, sizeof *at, order); }    \
  void __tsan_atomic##bits##_store(volatile type *at, type value, int order) { store(at, sizeof *at, value, order); }  \
  type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order) {                                      \
    return (type)update(at, sizeof *at, exchanges, value, 0, order);                                                   \
  }                                                                                                                    \
  type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int order) {                                     \
    return (type)update(at, sizeof *at, adds, value, 0, order);                                                        \
  }                                                                                                                    \
  type __tsan_atomic##bits##_fetch_sub(volatile type *at, type value, int order) {                                     \
    return (type)update(at, sizeof *at, adds, (uint64_t)0 - value, 0, order);                                          \
  }                                                                                                                    \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected, type value, int order,          \
                                                    int failure) {                                                     \
    (void)failure; /* where the code gives another order to a failure, that is a weaker one on a path that goes on */  \
    type old = (type)update(at, sizeof *at, compares, value, *expected, order);                                        \
    int done = old == *expected;                                                                                       \
    *expected = old;                                                                                                   \
    return done;                                                                                                       \
  }                                                                                                                    \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type *at, type *expected, type value, int order,            \
                                                  int failure) {                                                       \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, order, failure);                         \
  }
ATOMICS(8, uint8_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_signal_fence(int order) { (void)order; /* binds the compiler, which has seen it */ }
void __tsan_atomic_thread_fence(int order) {
  if (current == NO_THREAD) return;
  if (order != SEQUENTIAL) broken("a fence weaker than sequentially consistent, which memory.c does not know");
  memory_fence(current);
}

/* ---- Plain accesses ---------------------------------------------------------------------------------------------- */

static void plain(const volatile void *address, uint64_t bytes, access access) {
  if (bytes == 0) return;
  if (current != NO_THREAD && !on_stack(address)) maybe_signal();
  if (access == PLAIN_WRITE) world_before_store(address, bytes);
  if (!counts(address)) return;
  memory_check_race(address, bytes, access);
  if (tracing && access == PLAIN_WRITE && place_of(address) != PLACE_OTHER) told("writes %s", place_name(address));
}

#define PLAIN(bytes)                                                                    \
  void __tsan_read##bytes(void *at) { plain(at, bytes, PLAIN_READ); }                   \
  void __tsan_write##bytes(void *at) { plain(at, bytes, PLAIN_WRITE); }                 \
  void __tsan_unaligned_read##bytes(void *at) { plain(at, bytes, PLAIN_READ); }         \
  void __tsan_unaligned_write##bytes(void *at) { plain(at, bytes, PLAIN_WRITE); }       \
  void __tsan_volatile_read##bytes(void *at) { plain(at, bytes, PLAIN_READ); }          \
  void __tsan_volatile_write##bytes(void *at) { plain(at, bytes, PLAIN_WRITE); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_read_range(void *at, uint64_t bytes) { plain(at, bytes, PLAIN_READ); }
void __tsan_write_range(void *at, uint64_t bytes) { plain(at, bytes, PLAIN_WRITE); }
void __tsan_func_entry(void *from) { (void)from; }
void __tsan_func_exit(void) {}
void __tsan_init(void) {}

void seam_reads(const void *address, uint64_t bytes) { plain(address, bytes, PLAIN_READ); }
void seam_writes(const void *address, uint64_t bytes) { plain(address, bytes, PLAIN_WRITE); }

/* Word by word, as a kill may come between any two of them. */
void *seam_copy(void *to, const void *from, size_t count) {
  plain(from, count, PLAIN_READ);
  for (size_t at = 0; at < count; at += 8) {
    size_t bytes = count - at < 8 ? count - at : 8;
    plain((uint8_t *)to + at, bytes, PLAIN_WRITE);
    memcpy((uint8_t *)to + at, (const uint8_t *)from + at, bytes);
  }
  return to;
}

void *seam_fill(void *to, int byte, size_t count) {
  plain(to, count, PLAIN_WRITE);
  return memset(to, byte, count);
}

/* ---- Memory and scheduling --------------------------------------------------------------------------------------- */

void *seam_allocate_aligned(size_t alignment, size_t bytes) {
  void *made = world_allocate(alignment, bytes);
  return made ? made : aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

void *seam_allocate(size_t count, size_t each) {
  void *made = seam_allocate_aligned(16, count * each);
  return made && !in_arena(made) ? memset(made, 0, count * each) : made;
}

/* What is allocated in the arena never shrinks and is not reused: reading past the old end reads the arena. */
void *seam_reallocate(void *address, size_t bytes) {
  if (address && !in_arena(address)) return realloc(address, bytes);
  void *made = seam_allocate(1, bytes);
  if (address) memcpy(made, address, bytes);
  return made;
}

void seam_free(void *address) {
  if (!in_arena(address)) free(address);
}

/*
 * To wait for another thread's store covers all that a yield can do, but that it goes on through its whole loop
 * alone.
 */
int seam_yield(void) {
  if (current != NO_THREAD && !give_up_waiting()) wait_for_store();
  return 0;
}

/* ---- Mutexes ----------------------------------------------------------------------------------------------------- */

/* A mutex is its first word: 1 while somebody has it. Who finds that sleeps until it is free. */
int seam_lock(pthread_mutex_t *mutex) {
  uint32_t *word = (uint32_t *)(void *)mutex;
  /* An exchange reads the last store, as the kernel does before it lets anybody sleep. */
  while (current != NO_THREAD && update(word, sizeof *word, exchanges, 1, 0, ACQUIRE) != 0) sleep_on(word);
  return 0;
}

int seam_unlock(pthread_mutex_t *mutex) {
  uint32_t *word = (uint32_t *)(void *)mutex;
  if (current == NO_THREAD) return 0;
  store(word, sizeof *word, 0, RELEASE);
  wake_sleepers(word);
  return 0;
}

/*
 * Waits until woken: no other thread runs between the release of the mutex and the sleep. All who wait wake up at a
 * signal: the code under test looks again after each wait.
 */
int seam_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  if (current == NO_THREAD) return 0;
  seam_unlock(mutex);
  sleep_on((const uint32_t *)(const void *)condition);
  return seam_lock(mutex);
}

/* Time goes on to the deadline, while others do what they do. One in centuries never comes. */
int seam_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
  enum { CENTURIES_S = 1 << 30 };
  if (current == NO_THREAD || until->tv_sec > CENTURIES_S) return seam_wait(condition, mutex);
  uint64_t deadline = (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec;
  seam_unlock(mutex);
  if (model_time_ns < deadline) model_time_ns = deadline;
  wait_for_store();
  return seam_lock(mutex);
}

int seam_wake(pthread_cond_t *condition) {
  if (current != NO_THREAD) wake_sleepers((const uint32_t *)(const void *)condition);
  return 0;
}
