/*
 * borrow_model.c: a capture that a signal handler's capture interrupts, between any two accesses, while another
 * thread wants the same spare lane; and one that must wait for a spare lane. What was accepted is in the log; every
 * lane is given back.
 */
#include "world.h"

static void interrupted(void) {
  produce(0, 0);
  produce(0, 1);
  end_thread();
}

static void handler(void) { produce_in_signal(1, 0); }

/*
 * Captures in a handler the way that is for threads: it may claim a lane itself, or be in the middle of claiming one.
 */
static void plain_handler(void) { produce(1, 0); }

static void one(void) {
  produce(0, 0);
  end_thread();
}

static void other(void) {
  produce(2, 0);
  end_thread();
}

static void set_up(void) { world_open(1, 1, WEIR_FULL_DROP_NEWEST, 0); }
/* The lane to own is a third thread's, for ever. */
static void set_up_scarce(void) {
  set_up();
  world_log->intake.lanes[0].taken = 1;
}
static void set_up_two(void) { world_open(1, 2, WEIR_FULL_DROP_NEWEST, 0); }

static void at_end(void) {
  for (uint32_t i = 0; i < world_log->intake.lane_count; i++) {
    if (world_log->intake.lanes[i].taken) broken("lane %u stays taken", i);
    if (world_log->intake.lanes[i].producer.busy) broken("lane %u stays busy", i);
  }
  world_check_delivered();
}

static void at_end_scarce(void) {
  world_log->intake.lanes[0].taken = 0;
  at_end();
}

static const twin signal_twins[] = {
    {"busy-late", "L1", TWIN_DELAY_STORE, PLACE_BUSY, 1, 3},
    {"not-busy-early", "L3", TWIN_DELAY_STORE, PLACE_TAIL, ANY_VALUE, 1},
    {0},
};
static const twin twins[] = {
    {"giving-back-relaxed", "L5", TWIN_RELAX_STORE, PLACE_TAKEN, ANY_VALUE, 0},
    {"taking-not-atomic", "L5", TWIN_SPLIT_UPDATE, PLACE_TAKEN, ANY_VALUE, 0},
    {0},
};

const model signal_model = {
    .name = "signal", .labels = "L1, L3", .proves = "a capture in a signal handler never meets the lane in use",
    .set_up = set_up, .threads = {interrupted}, .signal = handler, .at_end = at_end, .twins = signal_twins,
};
const model reentry_model = {
    .name = "re-entry", .labels = "L1, L3", .proves = "nor does a capture within a capture", .set_up = set_up,
    .threads = {interrupted}, .signal = plain_handler, .at_end = at_end, .twins = signal_twins,
};
const model borrow_model = {
    .name = "borrow", .labels = "L5", .proves = "a spare lane has one borrower at a time", .set_up = set_up_two,
    .threads = {interrupted, other}, .signal = handler, .at_end = at_end, .twins = twins,
};
const model scarce_model = {
    .name = "borrow-scarce", .labels = "L5", .proves = "a borrower who waits gets the lane, or is refused",
    .set_up = set_up_scarce, .threads = {one, other}, .at_end = at_end_scarce, .twins = twins,
};
