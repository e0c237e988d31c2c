/*
 * evict_model.c: full lanes give up their oldest events (WEIR_FULL_DROP_OLDEST). No event is both evicted and
 * drained, none is overwritten while it is copied, and every evicted one is counted, once.
 */
#include "world.h"

/* The third capture evicts the first event, the fourth the second one. */
static void evicts_once(void) {
  for (uint32_t i = 0; i < 3; i++) produce(0, i);
}
static void evicts_twice(void) {
  evicts_once();
  produce(0, 3);
}

static void drains(void) {
  if (!full_drain(world_log)) broken("a drain stalls");
}

static void set_up(void) { world_open(1, 1, WEIR_FULL_DROP_OLDEST, 0); }

static void at_end(void) {
  world_check_delivered();
  const lane_control *control = world_log->intake.lanes[0].control;
  if (head_position(control->head) != control->tail) broken("the lane is not drained");
}

static const twin twins[] = {
    {"claim-not-atomic", "L8", TWIN_SPLIT_UPDATE, PLACE_HEAD, ANY_VALUE, 0},
    {"head-relaxed", "L4, L8", TWIN_RELAX_STORE, PLACE_HEAD, ANY_VALUE, 0},
    {"head-read-relaxed", "L4, L8", TWIN_RELAX_LOAD, PLACE_HEAD, ANY_VALUE, 0},
    {0},
};
static const twin twins_of_two[] = {
    {"eviction-noted-late", "L9", TWIN_DELAY_STORE, PLACE_CONTROL, ANY_VALUE, 2},
    {"eviction-relaxed", "L9", TWIN_RELAX_STORE, PLACE_CONTROL, ANY_VALUE, 0},
    {"eviction-read-relaxed", "L9", TWIN_RELAX_LOAD, PLACE_CONTROL, ANY_VALUE, 0},
    {0},
};

const model evict_model = {
    .name = "evict", .labels = "L8, L9", .proves = "what is evicted is counted and nothing else is lost",
    .set_up = set_up, .sleeps_run_out = 1, .threads = {evicts_once, drains}, .at_end = at_end, .twins = twins,
};
const model evict_again_model = {
    .name = "evict-again", .labels = "L8, L9", .proves = "nor with one eviction after another", .set_up = set_up,
    .sleeps_run_out = 1, .threads = {evicts_twice, drains}, .at_end = at_end, .long_form = 1, .twins = twins_of_two,
};
