/*
 * durable_model.c: the drainer drains, the sealer syncs, somebody waits for the disk and somebody else captures
 * meanwhile. Who is told that an event is durable finds the event in what was synced; what the durable offset says is
 * there, too; and nobody waits for ever. Three threads with two mutexes have too many interleavings for all of them: at
 * most two or three switches are from a thread that could go on (Musuvathi and Qadeer, Iterative Context Bounding for
 * Systematic Testing of Multithreaded Programs, PLDI 2007).
 */
#include <errno.h>

#include "drain/drainer.h"
#include "ring/ring.h"
#include "world.h"

static void drains(void) {
  for (;;) {
    pass_once(world_log);
    sleep_once(world_log);
  }
}

static void seals(void) { seal(world_log); }

/* The disk has the event, and every event below the durable offset. */
static void check_synced(uint32_t producer, uint32_t number) {
  uint64_t durable = weir_durable_offset(&world_log->intake.producer);
  int synced = world_captured.synced[producer][number];
  if (!synced) broken("event %u.%u is said to be durable, and is not", producer, number);
  if (durable > world_captured.synced_end) broken("the durable offset is ahead of the disk");
}

static void waits(void) {
  if (weir_sync(&world_log->intake.producer, UINT64_MAX, NULL, NULL) != WEIR_OK) broken("a wait for the disk fails");
  world_captured.told = 1;
  check_synced(0, 0);
}

/* At any moment: the durable offset, and how far the lanes are durable, each of which has one event. */
static void captures_and_looks(void) {
  const intake *intake = &world_log->intake;
  produce(1, 0);
  uint64_t offset = weir_durable_offset(&intake->producer);
  if (offset > world_captured.synced_end) broken("the durable offset is ahead of the disk");
  for (uint32_t i = 0; i < intake->owned_lanes; i++) {
    uint64_t durable = __atomic_load_n(&intake->lanes[i].durable, __ATOMIC_RELAXED);
    remember(durable);
    if (durable > 0 && !world_captured.synced[i][0]) broken("lane %u is durable ahead of the disk", i);
  }
}

static void asks(void) {
  const weir_id id = {world_log->intake.producer.opening, 0}; /* the first of the first lane */
  if (weir_durable(&world_log->intake.producer, id, UINT64_MAX, NULL) != WEIR_OK) broken("a wait for an event fails");
  world_captured.told = 1;
  check_synced(0, 0);
}

static void captures_and_waits(void) {
  produce(0, 0);
  waits();
}

static void captures(void) { produce(1, 0); }

static void set_up(void) {
  world_open(2, 1, WEIR_FULL_DROP_NEWEST, 0);
  sealer *sealer = &world_log->sealer;
  sealer->serves = 1;
  sealer->stale = 1; /* the files' times are another matter */
  sealer->touched_at = UINT64_MAX / 2;
  sealer->finisher.next_prepared = &world_log->preparer.next_prepared;
  sealer->finisher.sync_failed = ring_sync_failed(&world_log->intake);
}

static void set_up_captured(void) {
  set_up();
  produce(0, 0);
  locals_load(&(thread_locals){0});
}

/* The log has grown before, and has just grown again. */
static void set_up_stale(void) {
  set_up_captured();
  world_log->sealer.touched_at = 0;
}

static void at_end(void) {
  if (!world_captured.told) broken("who waits for the disk waits for ever");
}

/* The first sync fails. */
static void set_up_failing(void) {
  set_up_captured();
  world_captured.failing_syncs = 1;
}

static void waits_in_vain(void) {
  weir_error error = {0};
  if (weir_sync(&world_log->intake.producer, UINT64_MAX, NULL, &error) == WEIR_OK) check_synced(0, 0);
  else if (error.system_error != EIO) broken("the sync failed, and the wait says %d", error.system_error);
  world_captured.told = 1;
}

/* The file is left and copied, though nobody captures or waits any more. */
static void at_end_failed(void) {
  at_end();
  check_synced(0, 0);
}

/* The disk is full, and there is no segment to drain to. */
static void set_up_full(void) {
  set_up();
  drainer_abandon(&world_log->drainer);
  world_log->sealer.active = NULL;
  world_captured.full = 1;
  produce(0, 0);
  locals_load(&(thread_locals){0});
}

static void waits_for_room(void) {
  weir_error error = {0};
  weir_sync(&world_log->intake.producer, UINT64_MAX, NULL, &error);
  if (error.system_error != ENOSPC) broken("the disk is full, and the wait says %d", error.system_error);
  world_captured.told = 1;
}

/* Between tries a drainer that cannot go on naps. */
static void drains_in_vain(void) {
  while (!world_captured.told) {
    pass_once(world_log);
    wait_for_store();
    remember((uint64_t)world_captured.told);
  }
}

static void grows(void) { pass_once(world_log); }

static void at_end_touched(void) {
  int touched = world_captured.touched_end >= world_log->drainer.next_offset;
  if (!touched) broken("the log grows, and its files' time stands still");
}

static const twin twins[] = {
    {"wait-counted-late", "D3", TWIN_DELAY_STORE, PLACE_WAIT_COUNT, 1, 2},
    {"request-lost", "D3", TWIN_SKIP_UPDATE, PLACE_REQUESTED, ANY_VALUE, 0},
    {"done-relaxed", "D4", TWIN_RELAX_STORE, PLACE_ANSWERED, ANY_VALUE, 0},
    {"done-read-relaxed", "D4", TWIN_RELAX_LOAD, PLACE_ANSWERED, ANY_VALUE, 0},
    {0},
};

static const twin twins_of_two[] = {
    {"end-relaxed", "D1", TWIN_RELAX_STORE, PLACE_END, ANY_VALUE, 0},
    {"end-read-relaxed", "D1", TWIN_RELAX_LOAD, PLACE_END, ANY_VALUE, 0},
    {0},
};

static const twin watched_twins[] = {
    {"drained-before-the-block", "D1", TWIN_DELAY_STORE, PLACE_BLOCK, ANY_VALUE, 8},
    {"durable-without-a-sync", "D2", TWIN_SKIP_SYNC, PLACE_OTHER, ANY_VALUE, 0},
    {0},
};

static const twin failing_twins[] = {
    {"roll-asked-late", "D6", TWIN_DELAY_STORE, PLACE_ROLL, ANY_VALUE, 3},
    {0},
};

static const twin full_twins[] = {
    {"failed-relaxed", "D5", TWIN_RELAX_STORE, PLACE_FAILED, ANY_VALUE, 0},
    {"failed-read-relaxed", "D5", TWIN_RELAX_LOAD, PLACE_FAILED, ANY_VALUE, 0},
    {0},
};

static const twin no_twins[] = {{0}};
static const twin touched_twins[] = {
    {"stale-not-atomic", "D7", TWIN_SPLIT_UPDATE, PLACE_STALE, ANY_VALUE, 0},
    {"stale-cleared-late", "D7", TWIN_DELAY_STORE, PLACE_STALE, 0, 3},
    {0},
};

#define PROVES "who is told that an event is durable finds it on the disk, and is told"

const model durable_model = {
    .name = "durable", .labels = "D1 to D4", .proves = PROVES, .set_up = set_up,
    .threads = {captures_and_waits, drains, seals}, .at_end = at_end, .switches = 2, .twins = twins,
};
const model durable_again_model = {
    .name = "durable-again", .labels = "D1 to D4", .proves = PROVES, .set_up = set_up,
    .threads = {captures_and_waits, drains, seals}, .at_end = at_end, .switches = 3, .long_form = 1, .twins = no_twins,
};
const model durable_two_model = {
    .name = "durable-two", .labels = "D1 to D4", .proves = PROVES, .set_up = set_up_captured,
    .threads = {waits, captures, drains, seals}, .at_end = at_end, .switches = 2, .twins = twins_of_two,
};
const model watched_model = {
    .name = "watched", .labels = "D1, D2", .proves = PROVES, .set_up = set_up_captured,
    .threads = {captures_and_looks, asks, drains, seals}, .at_end = at_end, .switches = 2, .twins = watched_twins,
};
const model failing_model = {
    .name = "failing", .labels = "D6", .proves = "a file whose sync failed is left and copied at once",
    .set_up = set_up_failing, .threads = {waits_in_vain, drains, seals}, .at_end = at_end_failed, .switches = 2,
    .twins = failing_twins,
};
const model full_model = {
    .name = "full", .labels = "D5", .proves = "a wait that fails says why", .set_up = set_up_full,
    .threads = {waits_for_room, drains_in_vain, seals}, .at_end = at_end, .switches = 2, .twins = full_twins,
};
const model touched_model = {
    .name = "touched", .labels = "D7", .proves = "the files' time is past the last store", .set_up = set_up_stale,
    .threads = {grows, seals}, .at_end = at_end_touched, .twins = touched_twins,
};
