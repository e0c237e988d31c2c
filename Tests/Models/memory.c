/*
 * memory.c: what a thread may read. The release and acquire fragment of the C11 memory model (as RC11 has it, without
 * load buffering), operationally, by views:
 *
 *   - A place that several threads use keeps every store ever made to it, in modification order.
 *   -  thread's view says which store of each place it knows of. A load reads that store or any later one; which is a
 *     choice.
 *   -  release store carries the thread's view; an acquire load of it joins that view to its own. An update reads the
 *     last store, and carries on the view of a release store that it continues.
 *   -  new store goes anywhere in the order behind what its thread knows, but never between an update and what that
 *     read.
 *   - Sequentially consistent accesses and fences also go through one view that they all share.
 *
 * A view holds a vector clock besides: so plain accesses, which are never choices, are checked for data races. Real
 * memory always holds the last store of each place; a plain access that is no race reads just that.
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { MAX_STORES = 64, GRANULE_BYTES = 4, GRANULES = ARENA_BYTES / GRANULE_BYTES, MAX_TOUCHED = 1 << 15 };

/* How often in a row a thread may read the same outdated store: stores do arrive in the end. Bounds loops alone. */
enum { MAX_STALE = 3 };

typedef struct view {
  uint8_t store[MAX_PLACES]; /* index in the place's modification order */
  uint16_t clock[MAX_THREADS];
} view;

typedef struct store {
  uint64_t value;
  view view;    /* what reading it with acquire order teaches */
  uint8_t update; /* glued to the store before it, which it read */
} store;

typedef struct place {
  volatile void *address; /* in this execution; null: not touched yet */
  uint8_t count;
  uint8_t stale[MAX_THREADS];
  store stores[MAX_STORES];
} place;

/* When which thread last accessed four bytes, in its own clock; 0: never. */
typedef struct granule {
  uint16_t at[4][MAX_THREADS];
} granule;

static uint8_t arena_bytes[ARENA_BYTES] __attribute__((aligned(4096)));
uint8_t *const arena = arena_bytes;

/*
 * Over all executions: who loads and stores what by atomics, and the number (from 1) of the places where that
 * matters.
 */
static struct {
  uint8_t loaders[GRANULES], storers[GRANULES], number[GRANULES];
  uint32_t count;
  int found;
} contention;

/* In one execution. */
static place places[MAX_PLACES];
static struct {
  view known;    /* happens before what comes next */
  view pending;  /* was read without acquire order: known after the next fence */
  view released; /* known at the last fence: what a relaxed store carries */
  uint16_t clock;
} views[MAX_THREADS];
static view shared; /* of sequentially consistent accesses and fences */
static granule granules[MAX_TOUCHED];
static uint32_t touched, execution;
static struct {
  uint32_t execution, index;
} granule_of[GRANULES];

void memory_forget_contention(void) { memset(&contention, 0, sizeof contention); }

void memory_begin(void) {
  for (uint32_t i = 0; i < contention.count; i++) {
    places[i].address = NULL;
    memset(places[i].stale, 0, sizeof places[i].stale);
  }
  memset(views, 0, sizeof views);
  for (int i = 0; i < MAX_THREADS; i++) views[i].clock = views[i].known.clock[i] = 1;
  memset(&shared, 0, sizeof shared);
  touched = 0;
  execution++;
}

int memory_found_contention(void) {
  int found = contention.found;
  contention.found = 0;
  return found;
}

static uint64_t granule_index(const volatile void *address) {
  return (uint64_t)((const volatile uint8_t *)address - arena) / GRANULE_BYTES;
}

int memory_is_contended(const volatile void *address, int writes) {
  uint64_t at = granule_index(address);
  uint8_t *users = writes ? &contention.storers[at] : &contention.loaders[at];
  *users |= (uint8_t)(1 << current);
  if (contention.number[at]) return 1;
  uint8_t all = contention.loaders[at] | contention.storers[at];
  if (!contention.storers[at] || !(all & (all - 1))) return 0;
  if (contention.count == MAX_PLACES) broken("more than %d contended places", MAX_PLACES);
  contention.number[at] = (uint8_t)++contention.count;
  contention.found = 1;
  places[contention.count - 1].address = NULL;
  return 1;
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */

static void join_stores(view *to, const view *from) {
  for (uint32_t i = 0; i < contention.count; i++) {
    if (to->store[i] < from->store[i]) to->store[i] = from->store[i];
  }
}

static void join(view *to, const view *from) {
  join_stores(to, from);
  for (int i = 0; i < MAX_THREADS; i++) {
    if (to->clock[i] < from->clock[i]) to->clock[i] = from->clock[i];
  }
}

static uint64_t read_real(const volatile void *address, uint64_t bytes) {
  uint64_t value = 0;
  __builtin_memcpy(&value, (const void *)(uintptr_t)address, bytes);
  return value;
}

static void write_real(volatile void *address, uint64_t bytes, uint64_t value) {
  __builtin_memcpy((void *)(uintptr_t)address, &value, bytes);
}

static uint32_t number_of(volatile const void *address, uint64_t bytes) {
  uint32_t number = contention.number[granule_index(address)] - 1u;
  place *place = &places[number];
  if (!place->address) {
    place->address = (volatile void *)(uintptr_t)address;
    place->count = 1;
    place->stores[0] = (store){.value = read_real(address, bytes)};
  }
  return number;
}

/*
 * A thread's own clock goes on after each store, so that what it does later is not taken for known to whoever reads
 * that.
 */
static void tick(void) {
  if (++views[current].clock == UINT16_MAX) broken("an execution is too long for its clocks");
  views[current].known.clock[current] = views[current].clock;
}

static int acquires(int order) { return order != RELAXED && order != RELEASE; }
static int releases(int order) { return order == RELEASE || order == ACQUIRE_RELEASE || order == SEQUENTIAL; }

static void learn(const store *from, uint32_t number, uint32_t index, int order) {
  view *known = &views[current].known;
  if (known->store[number] < index) known->store[number] = (uint8_t)index;
  join(acquires(order) ? known : &views[current].pending, &from->view);
  if (order == SEQUENTIAL && shared.store[number] < index) shared.store[number] = (uint8_t)index;
}

/* Moves what all views say of a place's stores from `index` on by one. */
static void renumber(uint32_t number, uint32_t index) {
  for (int i = 0; i < MAX_THREADS; i++) {
    view *all[] = {&views[i].known, &views[i].pending, &views[i].released};
    for (int k = 0; k < 3; k++) all[k]->store[number] += all[k]->store[number] >= index;
  }
  shared.store[number] += shared.store[number] >= index;
  for (uint32_t p = 0; p < contention.count; p++) {
    for (uint32_t i = 0; places[p].address && i < places[p].count; i++) {
      places[p].stores[i].view.store[number] += places[p].stores[i].view.store[number] >= index;
    }
  }
}

/* Puts a store at `index` of the modification order. */
static void put(uint32_t number, uint32_t index, uint64_t bytes, uint64_t value, int order, const store *continues) {
  place *place = &places[number];
  if (place->count == MAX_STORES) broken("more than %d stores to one place", MAX_STORES);
  if (index < place->count) {
    memmove(&place->stores[index + 1], &place->stores[index], (place->count - index) * sizeof *place->stores);
    place->count++;
    renumber(number, index);
  } else {
    place->count++;
    write_real(place->address, bytes, value);
  }
  store *made = &place->stores[index];
  view *known = &views[current].known;
  known->store[number] = (uint8_t)index;
  made->value = value;
  made->update = continues != NULL;
  made->view = releases(order) ? *known : views[current].released;
  made->view.store[number] = (uint8_t)index;
  if (continues) join(&made->view, &continues->view);
  if (order == SEQUENTIAL && shared.store[number] < index) shared.store[number] = (uint8_t)index;
  tick();
  stored_something();
}

/* ---- Accesses ---------------------------------------------------------------------------------------------------- */

/* The store that a load reads: the last one, or an earlier one that the thread's view allows. */
static uint32_t choose_store(uint32_t number, int order) {
  place *place = &places[number];
  uint32_t last = place->count - 1u, least = views[current].known.store[number];
  if (order == SEQUENTIAL && least < shared.store[number]) least = shared.store[number];
  if (place->stale[current] >= MAX_STALE) least = last;
  uint32_t index = last - choose(last - least + 1);
  place->stale[current] = index == last ? 0 : place->stale[current] + 1;
  return index;
}

uint64_t memory_load(const volatile void *address, uint64_t bytes, int order) {
  uint32_t number = number_of(address, bytes), index = choose_store(number, order);
  const store *from = &places[number].stores[index];
  learn(from, number, index, order);
  remember(from->value);
  return from->value;
}

void memory_store(volatile void *address, uint64_t bytes, uint64_t value, int order) {
  uint32_t number = number_of(address, bytes), slots[MAX_STORES], count = 0;
  const place *place = &places[number];
  uint32_t least = views[current].known.store[number];
  if (order == SEQUENTIAL && least < shared.store[number]) least = shared.store[number];
  for (uint32_t index = place->count; index > least; index--) {
    if (index < place->count && place->stores[index].update) continue;
    slots[count++] = index;
  }
  put(number, slots[choose(count)], bytes, value, order, NULL);
}

uint64_t memory_update(volatile void *address, uint64_t bytes, updater update, uint64_t operand, uint64_t expected,
                       int order, int split) {
  uint32_t number = number_of(address, bytes), slots[MAX_STORES], count = 0;
  place *place = &places[number];
  uint32_t least = views[current].known.store[number];
  uint64_t value;
  /* One that stores reads the last store; one that stores nothing is a load, and may as such read an earlier one. */
  for (uint32_t index = place->count; index-- > least;) {
    if (index == place->count - 1u || split || !update(place->stores[index].value, operand, expected, &value)) {
      slots[count++] = index;
    }
  }
  uint32_t index = slots[choose(count)];
  const store from = place->stores[index];
  int stores = update(from.value, operand, expected, &value);
  learn(&from, number, index, order);
  if (stores) put(number, place->count, bytes, value, order, &from);
  remember(from.value);
  return from.value;
}

void memory_fence(int thread) {
  view *known = &views[thread].known;
  join(known, &views[thread].pending);
  join_stores(known, &shared); /* a fence alone puts no plain accesses in order: no clocks */
  join_stores(&shared, known);
  views[thread].released = *known;
  int before = current;
  current = thread;
  tick();
  current = before;
}

/* ---- Races ------------------------------------------------------------------------------------------------------- */

static granule *granule_at(uint64_t at) {
  if (granule_of[at].execution != execution) {
    if (touched == MAX_TOUCHED) broken("an execution touches more memory than is kept account of");
    granule_of[at].execution = execution;
    granule_of[at].index = touched++;
    memset(&granules[granule_of[at].index], 0, sizeof *granules);
  }
  return &granules[granule_of[at].index];
}

void memory_check_race(const volatile void *address, uint64_t bytes, access access) {
  static const char *const words[] = {"read", "written", "loaded", "stored"};
  static const uint8_t races[4][4] = {/* with what a plain read, a plain write, a load, a store can race */
                                      [PLAIN_READ] = {0, 1, 0, 1},
                                      [PLAIN_WRITE] = {1, 1, 1, 1},
                                      [ATOMIC_READ] = {0, 1, 0, 0},
                                      [ATOMIC_WRITE] = {1, 1, 0, 0}};
  const view *known = &views[current].known;
  uint64_t first = granule_index(address), last = granule_index((const volatile uint8_t *)address + bytes - 1);
  for (uint64_t at = first; at <= last; at++) {
    granule *granule = granule_at(at);
    for (int other = 0; other < MAX_THREADS; other++) {
      if (other == current) continue;
      for (int kind = 0; kind < 4; kind++) {
        if (!races[access][kind] || granule->at[kind][other] <= known->clock[other]) continue;
        broken("a data race: thread %d, %s, which thread %d has %s and nothing puts in order: %s", current,
               access & 1 ? "writing" : "reading", other, words[kind], place_name(arena + at * GRANULE_BYTES));
      }
    }
    granule->at[access][current] = views[current].clock;
  }
}

int memory_is_known(const volatile void *address, uint64_t bytes) {
  const view *known = &views[current].known;
  uint64_t first = granule_index(address), last = granule_index((const volatile uint8_t *)address + bytes - 1);
  for (uint64_t at = first; at <= last; at++) {
    const granule *granule = granule_at(at);
    for (int other = 0; other < MAX_THREADS; other++) {
      if (other != current && granule->at[PLAIN_WRITE][other] > known->clock[other]) return 0;
    }
  }
  return 1;
}

/* ---- State ------------------------------------------------------------------------------------------------------- */

static void mix_view(uint64_t hash[2], const view *view) {
  uint64_t words[sizeof *view / 8];
  memcpy(words, view, sizeof words);
  for (uint32_t i = 0; i < (contention.count + 7) / 8; i++) mix(hash, words[i]);
  for (uint32_t i = MAX_PLACES / 8; i < sizeof words / 8; i++) mix(hash, words[i]);
}

void memory_hash(uint64_t hash[2]) {
  for (int i = 0; i < MAX_THREADS; i++) {
    mix_view(hash, &views[i].known);
    mix_view(hash, &views[i].pending);
    mix_view(hash, &views[i].released);
  }
  mix_view(hash, &shared);
  for (uint32_t p = 0; p < contention.count; p++) {
    const place *place = &places[p];
    uint32_t stale;
    memcpy(&stale, place->stale, sizeof stale);
    mix(hash, place->address ? place->count : 0);
    mix(hash, stale);
    for (uint32_t i = 0; place->address && i < place->count; i++) {
      mix(hash, place->stores[i].value);
      mix(hash, place->stores[i].update);
      mix_view(hash, &place->stores[i].view);
    }
  }
}
