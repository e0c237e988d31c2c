/*
 * sleep_model.c: the drainer drains and sleeps until woken, for ever. No wake-up is lost: it never sleeps while a
 * committed event waits and nobody is about to wake it.
 */
#include "world.h"

static void drains(void) {
  for (;;) {
    full_drain(world_log);
    sleep_once(world_log);
  }
}

static void one(void) { produce(0, 0); }
static void two(void) {
  produce(0, 0);
  produce(0, 1);
}

static void set_up(void) { world_open(2, 1, WEIR_FULL_DROP_NEWEST, 0); }

/*
 * Threads that captured before, so that they come by the inlined path alone. The drainer has drained all that, and
 * goes to sleep once.
 */
static thread_locals warm[2];

static void set_up_warm(void) {
  set_up();
  for (uint32_t i = 0; i < 2; i++) {
    locals_load(&(thread_locals){0});
    produce(i, 0);
    locals_save(&warm[i]);
  }
  full_drain(world_log);
}

static void sleeper(void) { sleep_once(world_log); }

static void again(uint32_t producer) {
  locals_load(&warm[producer]);
  produce(producer, 1);
}
static void first_again(void) { again(0); }
static void second_again(void) { again(1); }

static void at_end(void) {
  if (!ended_asleep(0)) broken("the drainer does not sleep at the end");
  for (uint32_t i = 0; i < world_log->intake.lane_count; i++) {
    const lane_control *control = world_log->intake.lanes[i].control;
    if (control->tail != head_position(control->head)) broken("the drainer sleeps, and lane %u holds an event", i);
  }
  world_check_delivered();
}

static void at_end_of_one(void) {
  if (ended_asleep(0)) broken("the drainer sleeps, and two lanes hold events");
  world_check_delivered();
}

static const twin twins[] = {
    {"no-membarrier", "L6", TWIN_SKIP_BARRIER, PLACE_OTHER, ANY_VALUE, 0},
    {"asleep-read-before-tail-stored", "L6", TWIN_DELAY_STORE, PLACE_TAIL, ANY_VALUE, 2},
    {"asleep-stored-after-tails-read", "L6", TWIN_DELAY_STORE, PLACE_ASLEEP, 1, 8},
    {"woken-without-the-bell", "E4", TWIN_SKIP_UPDATE, PLACE_BELL, ANY_VALUE, 0},
    {0},
};
static const twin no_twins[] = {{0}};

const model sleep_model = {
    .name = "sleep", .labels = "L6, E4", .proves = "no wake-up is lost", .set_up = set_up, .threads = {drains, one},
    .at_end = at_end, .twins = twins,
};
const model sleep_again_model = {
    .name = "sleep-again", .labels = "L6", .proves = "nor when it goes to sleep anew", .set_up = set_up,
    .threads = {drains, two}, .at_end = at_end, .long_form = 1, .twins = no_twins,
};
const model sleep_two_model = {
    .name = "sleep-two", .labels = "L6", .proves = "nor with two producers, of whom one wakes", .set_up = set_up_warm,
    .threads = {sleeper, first_again, second_again}, .at_end = at_end_of_one, .twins = twins,
};
