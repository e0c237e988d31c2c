/*
 * firing_test.c: the threads that fire hooks, and the wait for those that may be in one that was detached: records that
 * are taken, given back and taken again, epochs, what is put off, forks, and a kernel that refuses membarrier.
 */
#include "check.h"

#include <pthread.h>

#include "system/system.h"
#include "weir_firing.h"

/* ---- Threads that fire when they are told to ---------------------------------------------------------------------- */

typedef struct firer {
  pthread_t thread;
  _Atomic int wanted; /* 1: fire, 0: do not, -1: end */
  _Atomic int state;
  _Atomic int asked; /* what the last weir_firing_end answered */
  weir_firing *_Atomic record;
} firer;

static void *fire(void *context) {
  firer *self = context;
  weir_firing *firing = NULL;
  for (;;) {
    int wanted = self->wanted;
    if (wanted == self->state) {
      sleep_ns(20000);
      continue;
    }
    if (wanted == 1) {
      firing = weir_firing_begin();
      self->record = firing;
    } else if (self->state == 1) {
      self->asked = weir_firing_end(firing);
    }
    self->state = wanted;
    if (wanted == -1) return NULL;
  }
}

static void start(firer *self) {
  memset(self, 0, sizeof *self);
  REQUIRE(pthread_create(&self->thread, NULL, fire, self) == 0);
}

static void tell(firer *self, int wanted) {
  self->wanted = wanted;
  while (self->state != wanted) sleep_ns(20000);
}

static void end(firer *self) {
  self->wanted = -1;
  pthread_join(self->thread, NULL);
}

static void *wait_for_it(void *epoch) {
  weir_firing_wait(*(uint64_t *)epoch);
  return epoch;
}

/* ---- Tests -------------------------------------------------------------------------------------------------------- */

static void check_records(void) {
  test("a record is given back when its thread ends, and taken again");
  firer first;
  start(&first);
  tell(&first, 1);
  weir_firing *record = first.record;
  CHECK((uintptr_t)record % 128 == 0);
  tell(&first, 0);
  end(&first);
  for (int i = 0; i < 100; i++) {
    start(&first);
    tell(&first, 1);
    CHECK(first.record == record);
    CHECK_EQUAL(record->depth, 1);
    tell(&first, 0);
    end(&first);
  }
  test("two threads have two");
  firer second;
  start(&first);
  start(&second);
  tell(&first, 1);
  tell(&second, 1);
  CHECK(first.record != second.record);
  end(&first);
  end(&second);
}

static void check_epochs(void) {
  test("what is retired is reached when all that began before has ended");
  firer one;
  start(&one);
  uint64_t before = weir_firing_retire();
  CHECK_EQUAL(weir_firing_reach(0), before);
  tell(&one, 1);
  uint64_t epoch = weir_firing_retire();
  CHECK_EQUAL(epoch, before + 1);
  CHECK_EQUAL(weir_firing_reach(0), before);
  tell(&one, 0);
  CHECK_EQUAL(one.asked, 0);
  CHECK_EQUAL(weir_firing_reach(0), epoch);
  test("a firing that began after it stands in nobody's way");
  tell(&one, 1);
  CHECK_EQUAL(weir_firing_reach(0), epoch);
  weir_firing_wait(epoch);

  test("a wait lasts as long as the firing");
  epoch = weir_firing_retire();
  pthread_t waiter;
  REQUIRE(pthread_create(&waiter, NULL, wait_for_it, &epoch) == 0);
  sleep_ns(20000000);
  CHECK_EQUAL(pthread_tryjoin_np(waiter, NULL), EBUSY);
  tell(&one, 0);
  CHECK_EQUAL(pthread_join(waiter, NULL), 0);

  test("who stands in the way is asked to look again, once");
  tell(&one, 1);
  epoch = weir_firing_retire();
  CHECK(weir_firing_reach(1) < epoch);
  tell(&one, 0);
  CHECK_EQUAL(one.asked, 1);
  CHECK_EQUAL(weir_firing_reach(1), epoch);
  tell(&one, 1);
  CHECK_EQUAL(weir_firing_reach(1), epoch);
  tell(&one, 0);
  CHECK_EQUAL(one.asked, 0);
  end(&one);
}

static void check_own_firing(void) {
  test("firings inside of one another end with the outermost");
  weir_firing *firing = weir_firing_begin();
  REQUIRE(firing);
  uint64_t began = firing->epoch;
  uint64_t epoch = weir_firing_retire();
  CHECK(weir_firing_begin() == firing);
  CHECK_EQUAL(firing->epoch, began);
  CHECK_EQUAL(weir_firing_postpone(), 1);
  CHECK_EQUAL(weir_firing_end(firing), 0);
  CHECK(weir_firing_reach(0) < epoch);
  weir_firing_wait(epoch); /* its own is not waited for */
  CHECK_EQUAL(weir_firing_end(firing), 1);
  CHECK_EQUAL(weir_firing_postpone(), 0);
  CHECK_EQUAL(weir_firing_reach(0), epoch);
}

static void check_memory(void) {
  test("memory of any size and alignment, at hand up to a number of blocks");
  void *blocks[WEIR_SPARES + 4];
  REQUIRE(weir_firing_end(weir_firing_begin()) == 0);
  for (size_t size = 1; size < 2000; size += 37) {
    for (size_t alignment = 8; alignment <= 256; alignment *= 2) {
      for (int i = 0; i < WEIR_SPARES + 4; i++) {
        blocks[i] = weir_call_take(size, alignment);
        REQUIRE(blocks[i]);
        CHECK_EQUAL((uintptr_t)blocks[i] % alignment, 0);
        memset(blocks[i], i, size);
      }
      for (int i = 0; i < WEIR_SPARES + 4; i++) {
        CHECK_EQUAL(((uint8_t *)blocks[i])[size - 1], i);
        weir_call_give(blocks[i], size);
      }
    }
  }
  void *block = weir_call_take(WEIR_SPARE_BYTES, WEIR_SPARE_ALIGNMENT);
  weir_call_give(block, WEIR_SPARE_BYTES);
  CHECK(weir_call_take(1, 1) == block);
  weir_call_give(block, 1);
}

static void check_overrides(void) {
  test("overrides in progress, as many as there are");
  enum { DEEP = 1000 };
  static weir_override calls[DEEP];
  static int points[2], objects[DEEP], parent, child;
  weir_firing *firing = weir_firing_begin();
  for (int i = 0; i < DEEP; i++) {
    calls[i] = (weir_override){.join_point = &points[0], .instance = &objects[i], .implementer = &child};
    weir_override_begin(firing, &calls[i]);
    CHECK(weir_override_encloses(firing, &points[0], &objects[i], &parent));
    CHECK(weir_override_encloses(firing, &points[0], &objects[0], &parent));
    CHECK(!weir_override_encloses(firing, &points[0], &objects[i], &child));
    CHECK(!weir_override_encloses(firing, &points[1], &objects[i], &parent));
    if (i + 1 < DEEP) CHECK(!weir_override_encloses(firing, &points[0], &objects[i + 1], &parent));
  }
  for (int i = DEEP; i-- > 0;) weir_override_end(&calls[i]);
  CHECK(firing->override == NULL);
  weir_firing_end(firing);
}

/* Threads that fire when the process forks are not there in the child to end it. */
static void check_fork(void) {
  test("a child waits for no thread of its parent, and takes their records");
  firer one;
  start(&one);
  tell(&one, 1);
  REQUIRE(weir_firing_end(weir_firing_begin()) == 0);
  weir_firing *own = weir_this_firing;
  uint64_t epoch = weir_firing_retire();
  CHECK(weir_firing_reach(0) < epoch);
  /* As it is while a thread puts one back: counted, and not there yet. */
  uint32_t spares = one.record->spare_count;
  one.record->spare_count = WEIR_SPARES;
  pid_t child = fork();
  if (child == 0) {
    alarm(HANG_SECONDS);
    weir_firing_wait(epoch);
    int good = weir_firing_reach(0) == epoch && weir_firing_begin() == own && weir_firing_end(own) == 0;
    firer other;
    start(&other);
    tell(&other, 1);
    good = good && other.record == one.record && other.record->spare_count == 0;
    tell(&other, 0);
    end(&other);
    _exit(good ? 0 : 1);
  }
  one.record->spare_count = spares;
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_EQUAL(status, 0);
  CHECK(weir_firing_reach(0) < epoch);
  tell(&one, 0);
  end(&one);
}

/* In a child each, for what the kernel offers is found out once. */
static void check_refused(const char *operation, int fenced) {
  pid_t child = fork();
  if (child == 0) {
    alarm(HANG_SECONDS);
    weir_fault_set(operation, 1, UINT64_MAX, EPERM);
    weir_firing_prepare();
    CHECK_EQUAL(weir_firing_fenced, fenced);
    check_epochs();
    check_own_firing();
    _exit(checks_failed != 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  test(operation);
  CHECK_EQUAL(status, 0);
}

/* ---- Random firings against one who replaces and frees ------------------------------------------------------------ */

typedef struct table {
  uint64_t canary;
} table;

static table *_Atomic current;
static _Atomic int stop;

static void *read_tables(void *context) {
  (void)context;
  for (uint64_t turn = 0; !stop; turn++) {
    weir_firing *firing = weir_firing_begin();
    CHECK_EQUAL(atomic_load_explicit(&current, memory_order_seq_cst)->canary, 0xfeedface);
    if (turn % 3 == 0) {
      CHECK(weir_firing_begin() == firing);
      CHECK_EQUAL(atomic_load_explicit(&current, memory_order_seq_cst)->canary, 0xfeedface);
      CHECK_EQUAL(weir_firing_end(firing), 0);
    }
    weir_firing_end(firing);
  }
  return NULL;
}

/* AddressSanitizer sees a table that is freed while it is read. */
static void check_replacing(void) {
  test("no table is freed while it is read");
  pthread_t readers[3];
  for (int leg = 0; leg < 10; leg++) {
    stop = 0;
    current = malloc(sizeof(table));
    current->canary = 0xfeedface;
    for (int i = 0; i < 3; i++) REQUIRE(pthread_create(&readers[i], NULL, read_tables, NULL) == 0);
    for (int i = 0; i < 100; i++) {
      table *next = malloc(sizeof *next);
      next->canary = 0xfeedface;
      table *old = atomic_exchange(&current, next);
      weir_firing_wait(weir_firing_retire());
      old->canary = 0;
      free(old);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(readers[i], NULL);
    free(current);
  }
}

int main(void) {
  check_refused("sys_membarrier_register", 1);
  check_refused("sys_membarrier", 0);
  check_records();
  check_epochs();
  check_own_firing();
  check_memory();
  check_overrides();
  check_replacing();
  check_fork();
  return finish();
}
