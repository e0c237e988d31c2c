/*
 * claim_model.c: two threads that capture for the first time, with one lane to own and one to borrow, and then end:
 * never two producers on a lane, and the next owner goes on where the last one stopped.
 */
#include "world.h"

static void first(void) {
  produce(0, 0);
  produce(0, 1);
  end_thread();
}

static void second(void) {
  produce(1, 0);
  produce(1, 1);
  end_thread();
}

static void set_up(void) { world_open(1, 1, WEIR_FULL_DROP_NEWEST, 0); }

static void at_end(void) {
  for (uint32_t i = 0; i < world_log->intake.lane_count; i++) {
    if (world_log->intake.lanes[i].taken) broken("lane %u stays taken", i);
  }
  world_check_delivered();
}

static const twin twins[] = {
    {"giving-back-relaxed", "L5", TWIN_RELAX_STORE, PLACE_TAKEN, ANY_VALUE, 0},
    {"taking-relaxed", "L5", TWIN_RELAX_LOAD, PLACE_TAKEN, ANY_VALUE, 0},
    {"taking-not-atomic", "L5", TWIN_SPLIT_UPDATE, PLACE_TAKEN, ANY_VALUE, 0},
    {0},
};

const model claim_model = {
    .name = "claim", .labels = "L5", .proves = "a lane has one producer at a time", .set_up = set_up,
    .threads = {first, second}, .at_end = at_end, .twins = twins,
};
