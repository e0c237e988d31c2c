/*
 * ids.c: random ids. A call of the kernel costs more than all else that binds a view, so each thread takes numbers from
 * it for many ids at once.
 *
 * What it keeps true: no number is given out twice, in no process. A child of a fork has a copy of the numbers that its
 * parent's thread has left, so the numbers are of a mark that lies in memory which is zeros in a child: a child finds
 * another mark there, and takes new numbers.
 */
#define _GNU_SOURCE
#include "weir_ids.h"

#include <pthread.h>

#include "system/forks.h"
#include "system/system.h"

enum { NUMBERS = 62 };

/* Zeros in a child of a fork. Null: it could not be mapped, and every id is asked of the kernel. */
static uint64_t *mark;

static void forget_mark(void) {
  if (mark) __atomic_store_n(mark, 0, __ATOMIC_RELAXED);
}

static void make_mark(void) {
  /* A kernel that can't wipe the memory has the handler do it. */
  static fork_watch watch = {.in_child = forget_mark};
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

int weir_random_id(uint64_t id[2]) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static __thread struct {
    uint64_t mark, left;
    uint64_t numbers[NUMBERS];
  } kept;
  if (kept.left > 0 && kept.mark == __atomic_load_n(mark, __ATOMIC_RELAXED)) {
    id[0] = kept.numbers[--kept.left];
    id[1] = kept.numbers[--kept.left];
    return 1;
  }
  pthread_once(&once, make_mark);
  kept.left = 0;
  kept.mark = own_mark();
  if (kept.mark == 0) return sys_random(id, 2 * sizeof *id) == 0;
  if (sys_random(kept.numbers, sizeof kept.numbers) != 0) return 0;
  kept.left = NUMBERS - 2;
  id[0] = kept.numbers[NUMBERS - 1];
  id[1] = kept.numbers[NUMBERS - 2];
  return 1;
}
