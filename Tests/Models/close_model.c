/*
 * close_model.c: the log is closed while others capture, with a lane and without one. What was accepted is drained,
 * and nothing touches the ring once it is unmapped; an unmapping counts as a write to all of it, so it has to come
 * after every access.
 */
#include "world.h"

#include "capture/lane.h"

/* As `end` and `let_go` of log.c do it. Captures that are refused meanwhile must not make it fail. */
static void closer(void) {
  lane_close_all(&world_log->intake);
  full_drain(world_log);
  if (!lane_all_quiet(&world_log->intake)) broken("a close fails, though no capture that began before it is stopped");
  told("unmaps the ring");
  world_unmap_ring();
}

static void capturing(void) {
  produce(0, 0);
  produce(0, 1);
}

static void late(void) { produce(1, 0); }

static void set_up(void) { world_open(1, 1, WEIR_FULL_DROP_NEWEST, 0); }

/*
 * Both lanes are taken for ever, so that captures have none and count their refusal in the ring's header. Without
 * membarrier, which would make up for whatever order L7 lacked.
 */
static void set_up_full(void) {
  set_up();
  world_log->intake.membarrier = 0;
  world_log->intake.lanes[0].taken = world_log->intake.lanes[1].taken = 1;
}

/* Both lanes are holes, so that a first capture sees to their blocks. */
static void set_up_new(void) {
  set_up();
  for (uint32_t i = 0; i < world_log->intake.lane_count; i++) {
    lane *lane = &world_log->intake.lanes[i];
    lane->producer.own_tail = NULL;
    lane->ready = lane->used = 0;
  }
}

/* Without a further drain: the closer's must have been enough. */
static void at_end(void) {
  if (!world_is_unmapped()) broken("the close has not ended, though every capture has");
  for (uint32_t i = 0; i < world_log->intake.lane_count; i++) {
    const lane_control *control = world_log->intake.lanes[i].control;
    if (control->tail != head_position(control->head)) broken("lane %u was closed with an accepted event in it", i);
  }
  world_check_delivered();
}

static const twin twins[] = {
    {"no-membarrier", "L1", TWIN_SKIP_BARRIER, PLACE_OTHER, ANY_VALUE, 0},
    {"busy-late", "L1", TWIN_DELAY_STORE, PLACE_BUSY, 1, 2},
    {"not-busy-relaxed", "L3", TWIN_RELAX_STORE, PLACE_BUSY, ANY_VALUE, 0},
    {"busy-read-relaxed", "L3", TWIN_RELAX_LOAD, PLACE_BUSY, ANY_VALUE, 0},
    {0},
};
static const twin first_twins[] = {
    {"no-membarrier", "L1", TWIN_SKIP_BARRIER, PLACE_OTHER, ANY_VALUE, 0},
    {"busy-late", "L1", TWIN_DELAY_STORE, PLACE_BUSY, 1, 2},
    {0},
};
static const twin unlaned_twins[] = {
    {"unlaned_users-relaxed", "L7", TWIN_RELAX_STORE, PLACE_VISITORS, ANY_VALUE, 0},
    {"unlaned_users-read-relaxed", "L7", TWIN_RELAX_LOAD, PLACE_VISITORS, ANY_VALUE, 0},
    {"state-relaxed", "L7", TWIN_RELAX_STORE, PLACE_STATE, ANY_VALUE, 0},
    {"state-read-relaxed", "L7", TWIN_RELAX_LOAD, PLACE_STATE, ANY_VALUE, 0},
    {0},
};

const model close_model = {
    .name = "close", .labels = "L1, L3", .proves = "accepted means drained; nothing touches an unmapped ring",
    .set_up = set_up, .sleeps_run_out = 1, .threads = {closer, capturing}, .at_end = at_end, .twins = twins,
};
const model close_first_model = {
    .name = "close-first", .labels = "L1, L3", .proves = "nor does a capture that sees to a lane's blocks",
    .set_up = set_up_new, .sleeps_run_out = 1, .threads = {closer, late}, .at_end = at_end, .twins = first_twins,
};
const model close_unlaned_model = {
    .name = "close-unlaned", .labels = "L7", .proves = "nor do the counters of refusals without a lane",
    .set_up = set_up_full, .sleeps_run_out = 1, .threads = {closer, late}, .at_end = at_end, .twins = unlaned_twins,
};
