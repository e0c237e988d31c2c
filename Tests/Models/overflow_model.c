/*
 * overflow_model.c: a thread whose lane is full while the drainer stands still goes on in an overflow lane, and back
 * once that is drained, beside a drain and the prefaulter, who makes such lanes and takes their memory away. The
 * thread's events are in the log in their order, and no memory is taken from under a capture or a drain.
 */
#include "capture/overflow_lanes.h"
#include "world.h"

static void produces(void) {
  for (uint32_t i = 0; i < 4; i++) produce(0, i);
  end_thread();
}

static void drains(void) {
  if (!full_drain(world_log)) broken("a drain stalls");
}

static void tends(void) { overflow_lanes_tend(&world_log->intake); }

/* The overflow lane is ready, and may be used or taken away. */
static void set_up(void) {
  world_open_overflowing(1);
  tends();
}

static const twin twins[] = {
    {"tail-read-relaxed", "L2", TWIN_RELAX_LOAD, PLACE_TAIL, ANY_VALUE, 0},
    {"giving-back-relaxed", "L5", TWIN_RELAX_STORE, PLACE_TAKEN, ANY_VALUE, 0},
    {"taking-not-atomic", "L5", TWIN_SPLIT_UPDATE, PLACE_TAKEN, ANY_VALUE, 0},
    {"head-read-relaxed", "L4", TWIN_RELAX_LOAD, PLACE_HEAD, ANY_VALUE, 0},
    {0},
};

const model overflow_model = {
    .name = "overflow", .labels = "L2, L4, L5, L11, L12",
    .proves = "a thread's events keep their order from lane to lane",
    .set_up = set_up, .threads = {produces, drains, tends}, .at_end = world_check_delivered, .switches = 2,
    .twins = twins,
};
