/*
 * under_test_litmus.c: the explorer itself, put to the known tests of memory models. Each is a few accesses by two to
 * four threads; all executions together must have exactly the outcomes that the C11 model allows, those that
 * processors really have but few runs show included. Compiled like the sources under test.
 */
#include <stdio.h>

#include "system/system.h"
#include "world.h"

static uint64_t *x, *y, *data;
static uint32_t got[MAX_THREADS]; /* what threads read: two digits for two loads */
static uint64_t outcomes;         /* a bit for each outcome seen */

static void set_up(void) {
  world_open(1, 1, WEIR_FULL_DROP_NEWEST, 0);
  x = world_allocate(64, 64);
  y = world_allocate(64, 64);
  data = world_allocate(64, 64);
  outcomes = 0;
}

static void read_as(int thread, uint64_t value) { got[thread] = (uint32_t)value; }

static uint64_t load(const uint64_t *at, int order) {
  switch (order) {
    case SEQUENTIAL: return __atomic_load_n(at, __ATOMIC_SEQ_CST);
    case ACQUIRE: return __atomic_load_n(at, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n(at, __ATOMIC_RELAXED);
  }
}

static void store(uint64_t *at, uint64_t value, int order) {
  switch (order) {
    case SEQUENTIAL: __atomic_store_n(at, value, __ATOMIC_SEQ_CST); break;
    case RELEASE: __atomic_store_n(at, value, __ATOMIC_RELEASE); break;
    default: __atomic_store_n(at, value, __ATOMIC_RELAXED);
  }
}

static void of_two(void) { outcomes |= UINT64_C(1) << (got[0] * 2 + got[1]); }
static void of_second(void) { outcomes |= UINT64_C(1) << got[1]; }
static void of_third(void) { outcomes |= UINT64_C(1) << got[2]; }
static void of_readers(void) { outcomes |= UINT64_C(1) << (got[2] * 4 + got[3]); }
static void of_memory(void) { outcomes |= UINT64_C(1) << (*x * 4 + *y); }

/*
 * ---- The threads; an underscore and a letter say the order: relaxed, acquire or release, sequentially consistent
 * ----
 */

static void x_then_y_r(void) { store(x, 1, RELAXED), read_as(0, load(y, RELAXED)); }
static void y_then_x_r(void) { store(y, 1, RELAXED), read_as(1, load(x, RELAXED)); }
static void x_then_y_s(void) { store(x, 1, SEQUENTIAL), read_as(0, load(y, SEQUENTIAL)); }
static void y_then_x_s(void) { store(y, 1, SEQUENTIAL), read_as(1, load(x, SEQUENTIAL)); }
static void x_then_y_b(void) { store(x, 1, RELAXED), sys_membarrier(), read_as(0, load(y, RELAXED)); }

static void write_pair_r(void) { store(x, 1, RELAXED), store(y, 1, RELAXED); }
static void write_pair_a(void) { store(x, 1, RELAXED), store(y, 1, RELEASE); }
static void read_pair_r(void) {
  uint64_t first = load(y, RELAXED);
  read_as(1, first * 2 + load(x, RELAXED));
}
static void read_pair_a(void) {
  uint64_t first = load(y, ACQUIRE);
  read_as(1, first * 2 + load(x, RELAXED));
}

static void write_once(void) { store(x, 1, RELAXED); }
static void read_twice(void) {
  uint64_t first = load(x, RELAXED);
  read_as(1, first * 2 + load(x, RELAXED));
}

static void write_x_a(void) { store(x, 1, RELEASE); }
static void write_y_a(void) { store(y, 1, RELEASE); }
static void write_x_s(void) { store(x, 1, SEQUENTIAL); }
static void write_y_s(void) { store(y, 1, SEQUENTIAL); }
static void read_xy(int thread, int order) {
  uint64_t first = load(x, order);
  read_as(thread, first * 2 + load(y, order));
}
static void read_yx(int thread, int order) {
  uint64_t first = load(y, order);
  read_as(thread, first * 2 + load(x, order));
}
static void xy_a(void) { read_xy(2, ACQUIRE); }
static void yx_a(void) { read_yx(3, ACQUIRE); }
static void xy_s(void) { read_xy(2, SEQUENTIAL); }
static void yx_s(void) { read_yx(3, SEQUENTIAL); }

static void x1_y2(void) { store(x, 1, RELAXED), store(y, 2, RELAXED); }
static void y1_x2(void) { store(y, 1, RELAXED), store(x, 2, RELAXED); }
static void y1_x2_a(void) { store(y, 1, RELEASE), store(x, 2, RELEASE); }

static void publish(void) { store(x, 1, RELAXED), store(y, 1, RELEASE); }
static void add(void) { __atomic_fetch_add(y, 1, __ATOMIC_RELAXED); }
static void see_sum(void) {
  uint64_t sum = load(y, ACQUIRE);
  read_as(2, sum * 2 + load(x, RELAXED));
}

static void win(int thread) {
  uint64_t none = 0;
  read_as(thread, (uint64_t)__atomic_compare_exchange_n(x, &none, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
static void win_0(void) { win(0); }
static void win_1(void) { win(1); }

static void lend(void) { *data = 1, store(y, 1, RELEASE); }
static void use(void) { read_as(1, load(y, ACQUIRE) ? *data : 0); }

/*
 * ---- The table ----------------------------------------------------------------------------------------------------
 */

#define BIT(n) (UINT64_C(1) << (n))
#define ALL_FOUR (BIT(0) | BIT(1) | BIT(2) | BIT(3))
#define ALL_PAIRS (BIT(5) | BIT(6) | BIT(9) | BIT(10)) /* of 1 and 2 */

static const struct litmus {
  const char *name;
  void (*threads[MAX_THREADS])(void);
  void (*at_end)(void);
  uint64_t allowed;
} tests[] = {
    {"store buffering, relaxed", {x_then_y_r, y_then_x_r}, of_two, ALL_FOUR},
    {"store buffering, sequentially consistent", {x_then_y_s, y_then_x_s}, of_two, BIT(1) | BIT(2) | BIT(3)},
    {"store buffering, membarrier on one side", {x_then_y_b, y_then_x_r}, of_two, BIT(1) | BIT(2) | BIT(3)},
    {"message passing, relaxed", {write_pair_r, read_pair_r}, of_second, ALL_FOUR},
    {"message passing, release without acquire", {write_pair_a, read_pair_r}, of_second, ALL_FOUR},
    {"message passing, acquire without release", {write_pair_r, read_pair_a}, of_second, ALL_FOUR},
    {"message passing, release and acquire", {write_pair_a, read_pair_a}, of_second, BIT(0) | BIT(1) | BIT(3)},
    {"coherence of two reads", {write_once, read_twice}, of_second, BIT(0) | BIT(1) | BIT(3)},
    {"independent reads, acquire", {write_x_a, write_y_a, xy_a, yx_a}, of_readers, 0xffff},
    {"independent reads, sequentially consistent", {write_x_s, write_y_s, xy_s, yx_s}, of_readers, 0xffff & ~BIT(10)},
    {"two writes each, relaxed", {x1_y2, y1_x2}, of_memory, ALL_PAIRS},
    {"two writes each, release", {x1_y2, y1_x2_a}, of_memory, ALL_PAIRS},
    /* Twice the sum, and x. A sum of 1 may be the update alone; one of 2 carries on the release, so x is seen. */
    {"release sequence", {publish, add, see_sum}, of_third, ALL_FOUR | BIT(5)},
    {"compare and swap has one winner", {win_0, win_1}, of_two, BIT(1) | BIT(2)},
    {"plain data, released and acquired", {lend, use}, of_second, BIT(0) | BIT(1)},
};

enum { TESTS = sizeof tests / sizeof *tests };

uint32_t litmus_count(void) { return TESTS; }
const char *litmus_name(uint32_t number) { return tests[number].name; }

model litmus_model(uint32_t number) {
  const struct litmus *test = &tests[number];
  model made = {.name = "litmus", .labels = "", .proves = test->name, .set_up = set_up, .at_end = test->at_end};
  for (int i = 0; i < MAX_THREADS; i++) made.threads[i] = tests[number].threads[i];
  return made;
}

uint64_t litmus_missing(uint32_t number) { return tests[number].allowed & ~outcomes; }
uint64_t litmus_forbidden(uint32_t number) { return outcomes & ~tests[number].allowed; }
