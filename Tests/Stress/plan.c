/* plan.c: what one round of the stress does, drawn from its seed, so that a round can be repeated by its seed alone. */
#include "stress.h"

const char *const full_names[FULL_POLICIES] = {"drop-newest", "block-then-drop", "block", "drop-oldest"};

static void set_full(weir_options *options, uint32_t full, uint64_t a_while_ns) {
  options->full_policy = full == DROP_OLDEST ? WEIR_FULL_DROP_OLDEST : WEIR_FULL_DROP_NEWEST;
  options->full_wait_ns = full == BLOCK_FOR_EVER ? UINT64_MAX : full == BLOCK_A_WHILE ? a_while_ns : 0;
}

/* The bystanders and the producers' waits do the work. */
static void leave_threads_out(weir_options *options) {
  options->threadless = 1;
  options->sync_interval_ns = 0;
  options->batch_threads = 0;
  if (options->clock == WEIR_CLOCK_TICK) options->clock = WEIR_CLOCK_AUTO;
}

plan plan_of(uint64_t seed, uint32_t full) {
  uint64_t random = seed;
  plan plan = {.seed = seed, .full = full};
  weir_options_init(&plan.options);
  weir_options *options = &plan.options;
  options->lane_count = 2 + (uint32_t)draw(&random, 10);
  options->spare_lanes = 1 + (uint32_t)draw(&random, options->lane_count < 4 ? 1 : 3);
  options->max_event_bytes = 64 + draw(&random, 1500);
  options->lane_bytes = UINT64_C(4096) << draw(&random, 4);
  options->segment_bytes = 160 * 1024 + draw(&random, 4) * 65536;
  options->drain_interval_ns = 50000 << draw(&random, 6);
  static const uint32_t clocks[] = {WEIR_CLOCK_AUTO, WEIR_CLOCK_MONOTONIC, WEIR_CLOCK_COARSE, WEIR_CLOCK_TICK};
  options->clock = clocks[draw(&random, 4)];
  set_full(options, full, 1 + draw(&random, 3000000));
  plan.log_count = 1 + (uint32_t)draw(&random, MAX_LOGS);
  plan.steady = 1 + (uint32_t)draw(&random, 12);
  plan.passing = (uint32_t)draw(&random, 6);
  plan.run_ns = 300000000 + draw(&random, 900000000);
  plan.most_attempts = plan.most_passing = 200000;
  plan.odd_in = 2 + (uint32_t)draw(&random, 30);
  plan.filler = (uint32_t)draw(&random, options->max_event_bytes - 19);
  plan.pause_ns = draw(&random, 2) ? draw(&random, 300000) : 0;
  plan.forks = draw(&random, 3) > 0;
  plan.closes = draw(&random, 3) == 0;
  plan.bystander_pause_ns = draw(&random, 2000000);
  plan.waits_in = draw(&random, 2) ? 50 + (uint32_t)draw(&random, 500) : 0;
  plan.options.sync_interval_ns = draw(&random, 3) ? 0 : 1000000 + draw(&random, 20000000);
  plan.options.batch_threads = (uint32_t)draw(&random, 4); /* last, so that a seed gives the rest as it did without */
  if (draw(&random, 3) == 0 && options->full_wait_ns == 0) leave_threads_out(options);
  return plan;
}

plan soak_plan_of(uint64_t seed, uint32_t full) {
  uint64_t random = seed;
  plan plan = {.seed = seed, .full = full};
  weir_options_init(&plan.options);
  plan.options.lane_bytes = UINT64_C(65536) << draw(&random, 5);
  plan.options.max_event_bytes = 4096;
  set_full(&plan.options, full, 2000000);
  plan.log_count = 1;
  plan.steady = 3 + (uint32_t)draw(&random, 3);
  plan.passing = 1;
  plan.run_ns = UINT64_MAX;
  plan.most_attempts = 1000000;
  plan.most_passing = 50000;
  plan.odd_in = 1000;
  plan.filler = 32;
  plan.forks = 1;
  plan.bystander_pause_ns = 20000000;
  return plan;
}
