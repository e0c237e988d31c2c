/*
 * lane_model.c: one thread captures, the drainer drains, on a lane that holds two events: whole records in order,
 * nothing overwritten before it is in the log, full lanes refused and counted. From several positions, so that the
 * lane's end, and 2^32 and 2^63, are passed on the way.
 */
#include "world.h"

static void producer(void) {
  for (uint32_t i = 0; i < 5; i++) produce(0, i);
}

static void drains(void) {
  for (int i = 0; i < 2; i++) {
    if (!full_drain(world_log)) broken("a drain stalls");
  }
}

static void set_up_at_0(void) { world_open(1, 1, WEIR_FULL_DROP_NEWEST, 0); }
static void set_up_at_32(void) { world_open(1, 1, WEIR_FULL_DROP_NEWEST, (UINT64_C(1) << 32) - 64); }
static void set_up_at_63(void) { world_open(1, 1, WEIR_FULL_DROP_NEWEST, (UINT64_C(1) << 63) - 32); }

static const twin twins[] = {
    {"tail-relaxed", "L2", TWIN_RELAX_STORE, PLACE_TAIL, ANY_VALUE, 0},
    {"tail-read-relaxed", "L2", TWIN_RELAX_LOAD, PLACE_TAIL, ANY_VALUE, 0},
    {"head-relaxed", "L4", TWIN_RELAX_STORE, PLACE_HEAD, ANY_VALUE, 0},
    {"head-read-relaxed", "L4", TWIN_RELAX_LOAD, PLACE_HEAD, ANY_VALUE, 0},
    {0},
};

#define PROVES "the drainer sees whole records in order; a lane's bytes are not overwritten before they are in the log"

const model lane_model = {
    .name = "lane", .labels = "L2, L4", .proves = PROVES, .set_up = set_up_at_0, .threads = {producer, drains},
    .at_end = world_check_delivered, .twins = twins,
};
const model lane_32_model = {
    .name = "lane-2^32", .labels = "L2, L4", .proves = PROVES, .set_up = set_up_at_32, .threads = {producer, drains},
    .at_end = world_check_delivered, .twins = twins,
};
const model lane_63_model = {
    .name = "lane-2^63", .labels = "L2, L4", .proves = PROVES, .set_up = set_up_at_63, .threads = {producer, drains},
    .at_end = world_check_delivered, .twins = twins,
};
