/*
 * prefault_model.c: the prefaulter looks, naps and falls asleep, while events are drained and a close stops it. The
 * prefaulter ends: no close waits for it for ever.
 */
#include "world.h"

static void prefaults(void) { prefault(world_log); }
static void drains(void) { full_drain(world_log); }
static void stops(void) { prefaulter_stop(&world_log->prefaulter); }

static void set_up(void) {
  world_open(1, 1, WEIR_FULL_DROP_NEWEST, 0);
  world_log->prefaulter.intake = &world_log->intake;
  world_log->prefaulter.runs = 1;
  world_log->options.drain_interval_ns = 1000000; /* a silence of few looks */
  produce(0, 0);
  locals_load(&(thread_locals){0});
}

static void at_end(void) {
  if (ended_asleep(0)) broken("the prefaulter sleeps, and nobody wakes it any more");
}

static const twin twins[] = {
    {"stop-seen-late", "P1", TWIN_DELAY_STORE, PLACE_PREFAULT_STOP, ANY_VALUE, 3},
    {"stopped-without-the-bell", "P1", TWIN_SKIP_UPDATE, PLACE_PREFAULT_BELL, ANY_VALUE, 0},
    {0},
};

const model prefault_model = {
    .name = "prefault", .labels = "P1", .proves = "the prefaulter ends when it is told to", .set_up = set_up,
    .threads = {prefaults, drains, stops}, .at_end = at_end, .naps_run_out = 1, .switches = 2, .twins = twins,
};
