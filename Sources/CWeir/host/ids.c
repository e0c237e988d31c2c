/*
 * ids.c: random ids. A call of the kernel costs more than all else that binds a view, so numbers are taken from it for
 * many ids at once.
 *
 * What it keeps true: no number is given out twice, in no process. A child of a fork has a copy of the numbers that its
 * parent has left, so the numbers are of a mark that lies in memory which is zeros in a child: a child finds another
 * mark there, and takes new numbers.
 *
 * label store                               load                              what it guarantees
 * I1    pool.taken = 0 (release), after     the next to take the pool: its    a number is taken once
 *       the pool's numbers                  exchange with 1 (acquire)
 */
#define _GNU_SOURCE
#include "weir_ids.h"

#include <pthread.h>

#include "system/forks.h"
#include "system/system.h"

enum { NUMBERS = 62, POOLS = 16 };

/* Numbers that are left. Beside another thread in its pool, a thread takes from the next pool, or from the kernel. */
typedef struct pool {
  int taken;
  uint64_t mark, left;
  uint64_t numbers[NUMBERS];
} __attribute__((aligned(64))) pool;

static pool pools[POOLS];

/* Zeros in a child of a fork. Null: it could not be mapped, and every id is asked of the kernel. */
static uint64_t *mark;

/* The parent's other threads are not there to give back their pools. */
static void begin_child(void) {
  if (mark) __atomic_store_n(mark, 0, __ATOMIC_RELAXED);
  for (int i = 0; i < POOLS; i++) __atomic_store_n(&pools[i].taken, 0, __ATOMIC_RELAXED);
}

static void make_mark(void) {
  /* A kernel that can't wipe the memory has the handler do it. */
  static fork_watch watch = {.in_child = begin_child};
  uint8_t *mapped;
  if (sys_map_wiped(sizeof *mark, &mapped) != 0) return;
  mark = (uint64_t *)(void *)mapped;
  forks_add(&watch);
}

/* Of this process; 0: there is none. */
static uint64_t own_mark(void) {
  if (!mark) return 0;
  uint64_t now = __atomic_load_n(mark, __ATOMIC_RELAXED), made = 0;
  if (now != 0 || sys_random(&made, sizeof made) != 0 || made == 0) return now;
  /* Of several threads that are the first, one sets the mark of all. */
  return __atomic_compare_exchange_n(mark, &now, made, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ? made : now;
}

/* Sets an id of the pool's numbers. 0: the pool has none left, and the kernel gave no others. */
static int take(pool *pool, uint64_t id[2]) {
  if (pool->left == 0 || pool->mark != __atomic_load_n(mark, __ATOMIC_RELAXED)) {
    pool->left = 0;
    pool->mark = own_mark();
    if (pool->mark == 0) return sys_random(id, 2 * sizeof *id) == 0;
    if (sys_random(pool->numbers, sizeof pool->numbers) != 0) return 0;
    pool->left = NUMBERS;
  }
  id[0] = pool->numbers[--pool->left];
  id[1] = pool->numbers[--pool->left];
  return 1;
}

int weir_random_id(uint64_t id[2]) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_mark);
  /* Fibonacci hashing (Knuth, TAOCP 6.4): the threads' descriptors lie a stack's length apart. */
  uint64_t first = (uint64_t)(uintptr_t)pthread_self() * 0x9e3779b97f4a7c15u >> 60;
  for (uint64_t i = first; i < first + 2; i++) {
    pool *pool = &pools[i % POOLS];
    if (__atomic_exchange_n(&pool->taken, 1, __ATOMIC_ACQUIRE)) continue; /* I1 */
    int result = take(pool, id);
    __atomic_store_n(&pool->taken, 0, __ATOMIC_RELEASE); /* I1 */
    return result;
  }
  return sys_random(id, 2 * sizeof *id) == 0;
}
