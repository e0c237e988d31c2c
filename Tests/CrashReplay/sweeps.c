/* sweeps.c: see sweeps.h. */
#include "check.h"
#include "batch_sweeps.h"
#include "context_sweeps.h"
#include "drainer.h"
#include "stepper.h"
#include "sweeps.h"
#include "capture/overflow_lanes.h"
#include "format/format.h"

#include <dirent.h>
#include <pthread.h>

enum { FULL_LANE = 256, TRIES = 400 };

victim_plan sweep_plan(const sweep *sweep, const char *directory, const char *ring_directory, uint64_t seed,
                       int before) {
  victim_plan plan = victim_plan_small(directory, seed);
  plan.lane_count = 2;
  plan.max_event_bytes = SWEPT_EVENT;
  plan.largest = SWEPT_EVENT - VICTIM_FIXED_BYTES;
  plan.lane_bytes = SWEPT_LANE;
  plan.segment_bytes = 132 << 10;
  plan.drain_interval_ns = UINT64_C(10000000000); /* only when asked for */
  plan.threads = 2;
  if (sweep->ring == RING_APART || sweep->ring == (before ? RING_MOVES_BACK : RING_MOVES_AWAY)) {
    plan.ring_directory = ring_directory;
  }
  if (sweep->shape) sweep->shape(&plan);
  return plan;
}

/* ---- Captures ---------------------------------------------------------------------------------------------------- */

static void one_capture(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  swept_drain(swept);
  swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
}

static void first_capture(swept *swept) {
  swept_open(swept);
  swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
}

/* Field by field, as it is inlined into a caller; of the type whose filler is a string. */
static void capture_string(swept *swept) {
  swept_open(swept);
  report *report = swept->report;
  while (swept_next_type(swept, 0) == swept->first_type) swept_capture(swept, 0);
  swept_drain(swept);
  uint8_t payload[VICTIM_FIXED_BYTES + 4096];
  uint64_t number = report->threads[0].began, bytes = victim_payload(payload, swept->plan, 0, number);
  weir_record record;
  weir_id id;
  stepper_mark(1);
  report_begin(report, 0);
  int32_t answer = weir_begin(swept->log, &record);
  if (answer == WEIR_ACCEPTED) {
    weir_put_u32(&record, 0);
    weir_put_u64(&record, number);
    weir_put_string(&record, (const char *)payload + VICTIM_FIXED_BYTES, bytes - VICTIM_FIXED_BYTES);
    answer = weir_commit(&record, swept->first_type + 1, &id);
  }
  report_return(report, 0, number, answer, &id);
  stepper_mark(0);
}

static void capture_waking(swept *swept) {
  swept_open(swept);
  for (uint64_t i = 0; i < 3; i++) swept_capture(swept, 0);
  swept_drain(swept);
  swept_expect(swept, AWAIT(drainer_sleeps(swept->log)), "the drainer to fall asleep");
  swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
}

static void soon_drained(victim_plan *plan) { plan->drain_interval_ns = 50000; }

static void full_lanes(victim_plan *plan) { plan->lane_bytes = FULL_LANE; }

static void capture_refused(swept *swept) {
  swept_open(swept);
  while (swept_capture(swept, 0) == WEIR_ACCEPTED) {}
  swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
}

static void capture_too_large(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  swept_capture_marked(swept, 0, SWEPT_EVENT + 1, swept_next_type(swept, 0));
}

static void capture_undefined(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  swept_capture_marked(swept, 0, 0, swept->first_type + 2);
}

static void overwriting(victim_plan *plan) {
  plan->lane_bytes = FULL_LANE;
  plan->full_policy = WEIR_FULL_DROP_OLDEST;
}

static uint64_t overwritten(const swept *swept) {
  weir_counters counters;
  weir_count(swept->log, &counters);
  return counters.overwritten;
}

static void capture_evicting(swept *swept) {
  swept_open(swept);
  while (overwritten(swept) == 0) swept_capture(swept, 0);
  for (int i = 0; i < 3; i++) swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
  swept_expect(swept, overwritten(swept) >= 2, "the swept captures evicted nothing");
}

static void overflowing(victim_plan *plan) {
  plan->lane_bytes = FULL_LANE;
  plan->overflow_bytes = 2 * FULL_LANE;
}

/*
 * Captures to a full lane while the drainer stands still, as it seems to have for a second; then, once all is drained,
 * one in the thread's own lane again, and the memory of the overflow lane is given back.
 */
static void capture_overflowing(swept *swept) {
  swept_open(swept);
  intake *intake = intake_of(swept->log);
  swept_capture(swept, 0);
  hold_drainer(swept->log);
  __atomic_store_n(&intake->seen_end, intake->ring.header->log_end, __ATOMIC_RELAXED);
  __atomic_store_n(&intake->seen_at, 1, __ATOMIC_RELAXED);
  overflow_lanes_tend(intake);
  lane *lane = &intake->lanes[intake->first_overflow];
  while (lane->control->tail == 0) swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
  for (int i = 0; i < 2; i++) { /* the lane that it left is its own until it captures again */
    swept_drain(swept);
    swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
  }
  stepper_mark(1);
  overflow_lanes_tend(intake);
  stepper_mark(0);
  swept_expect(swept, intake->overflow_ready == 0, "the overflow lane keeps its memory");
}

static void *capture_as_second(void *context) {
  swept *swept = context;
  swept_capture_marked(swept, 1, 0, swept_next_type(swept, 1));
  return NULL;
}

/* A thread for which there is no lane left. */
static void capture_borrowing(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, capture_as_second, swept) == 0);
  pthread_join(thread, NULL);
}

static void capture_nested(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  weir_record record;
  weir_id id;
  uint8_t payload[VICTIM_FIXED_BYTES + 4096];
  uint32_t type = swept_next_type(swept, 0);
  uint64_t number = report_begin(swept->report, 0), bytes = victim_payload(payload, swept->plan, 0, number);
  int32_t answer = weir_begin(swept->log, &record);
  swept_capture_marked(swept, 0, 0, swept_next_type(swept, 0));
  if (answer == WEIR_ACCEPTED) {
    weir_put_raw(&record, payload, bytes);
    answer = weir_commit(&record, type, &id);
  }
  report_return(swept->report, 0, number, answer, &id);
}

static void *capture_and_end(void *context) {
  swept_capture(context, 1);
  return NULL;
}

static void two_lanes(victim_plan *plan) { plan->lane_count = 3; }

/* A thread that ends gives its lane back, undrained events and all. */
static void thread_ends(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  pthread_t thread;
  stepper_mark(1);
  REQUIRE(pthread_create(&thread, NULL, capture_and_end, swept) == 0);
  pthread_join(thread, NULL);
  stepper_mark(0);
}

static void define(swept *swept) {
  weir_recovery recovery;
  weir_error error;
  REQUIRE(victim_open(swept->plan, swept->report, &swept->log, &recovery, &error) == WEIR_OK);
  report_enter(swept->report, PHASE_CAPTURING);
  stepper_mark(1);
  swept->first_type = victim_define(swept->log);
  swept_capture(swept, 0);
  stepper_mark(0);
}

/* ---- Draining, rolling, sealing ---------------------------------------------------------------------------------- */

static void drain_block(swept *swept) {
  swept_open(swept);
  for (int i = 0; i < 12; i++) swept_capture(swept, 0);
  stepper_mark(1);
  swept_drain(swept);
  stepper_mark(0);
}

static void drain_losses(swept *swept) {
  swept_open(swept);
  while (overwritten(swept) < 5) swept_capture(swept, 0);
  uint8_t payload[SWEPT_EVENT + 1] = {0};
  uint64_t number = report_begin(swept->report, 0);
  report_return(swept->report, 0, number,
                weir_capture(swept->log, swept->first_type, payload, sizeof payload, NULL), NULL);
  stepper_mark(1);
  swept_drain(swept);
  stepper_mark(0);
}

static void roll(swept *swept) {
  swept_open(swept);
  swept_nearly_fill(swept);
  stepper_mark(1);
  swept_roll_over(swept);
  weir_error error;
  if (weir_sync(swept->log, UINT64_MAX, NULL, &error) != WEIR_OK) report_failure(swept->report, "weir_sync", &error);
  stepper_mark(0);
}

static void sync_log(swept *swept) {
  swept_open(swept);
  for (int i = 0; i < 5; i++) swept_capture(swept, 0);
  weir_error error;
  stepper_mark(1);
  if (weir_sync(swept->log, UINT64_MAX, NULL, &error) != WEIR_OK) report_failure(swept->report, "weir_sync", &error);
  stepper_mark(0);
}

/* Waits for an event that is not in the log yet. */
static void wait_durable(swept *swept) {
  swept_open(swept);
  for (int i = 0; i < 5; i++) swept_capture(swept, 0);
  weir_id id;
  weir_error error;
  stepper_mark(1);
  int32_t answer = victim_capture(swept->plan, swept->report, swept->log, swept->first_type, 0, &id);
  swept_expect(swept, answer == WEIR_ACCEPTED, "the capture to be waited for");
  if (weir_durable(swept->log, id, UINT64_MAX, &error) != WEIR_OK) {
    report_failure(swept->report, "weir_durable", &error);
  }
  stepper_mark(0);
}

static void close_log(swept *swept) {
  swept_open(swept);
  for (int i = 0; i < 5; i++) swept_capture(swept, 0);
  weir_error error;
  stepper_mark(1);
  report_enter(swept->report, PHASE_CLOSING);
  if (weir_close(swept->log, &error) != WEIR_OK) report_failure(swept->report, "weir_close", &error);
  stepper_mark(0);
}

/* ---- Opening and recovering -------------------------------------------------------------------------------------- */

static void open_new(swept *swept) {
  stepper_mark(1);
  swept_open(swept);
  swept_capture(swept, 0);
  stepper_mark(0);
}

static void leave_lanes(swept *swept) {
  for (int i = 0; i < 6; i++) swept_capture(swept, 0);
  swept_drain(swept);
  for (int i = 0; i < 6; i++) swept_capture(swept, 0);
}

static void dead_with_lanes(const victim_plan *plan, report *report) { swept_die_after(plan, report, leave_lanes); }

static void leave_losses(swept *swept) {
  leave_lanes(swept);
  uint64_t before = overwritten(swept);
  while (overwritten(swept) < before + 3) swept_capture(swept, 0);
  uint8_t payload[SWEPT_EVENT + 1] = {0};
  uint64_t number = report_begin(swept->report, 0);
  report_return(swept->report, 0, number,
                weir_capture(swept->log, swept->first_type, payload, sizeof payload, NULL), NULL);
}

/* A full lane wakes the drainer, which may have done its work before the kill: then again. */
static void dead_with_losses(const victim_plan *plan, report *report) {
  for (int i = 0; i < TRIES; i++) {
    weir_stat stat;
    report_clear(report);
    remove_tree(plan->directory);
    swept_die_after(plan, report, leave_losses);
    REQUIRE(weir_stat_directory(plan->directory, &stat, NULL) == WEIR_OK);
    if (stat.lane_events > 1) return;
  }
  fprintf(stderr, "no kill came before the drainer\n");
  exit(3);
}

/* Sets the first lane's head in the file, unless to UINT64_MAX; answers what it was. */
static uint64_t change_head(const swept *swept, uint64_t to) {
  uint64_t before;
  int ring = open(join(swept->plan->directory, RING_NAME), O_RDWR | O_CLOEXEC);
  off_t at = RING_HEADER_BYTES + offsetof(lane_control, head);
  REQUIRE(ring >= 0 && pread(ring, &before, sizeof before, at) == sizeof before);
  REQUIRE(to == UINT64_MAX || pwrite(ring, &to, sizeof to, at) == sizeof to);
  close(ring);
  return before;
}

/* As if it had been killed after a block was appended, before the lane's head moved. */
static void leave_block(swept *swept) {
  leave_lanes(swept);
  swept_drain(swept);
  uint64_t head = change_head(swept, UINT64_MAX);
  for (int i = 0; i < 6; i++) swept_capture(swept, 0);
  swept_drain(swept);
  swept_capture(swept, 0);
  change_head(swept, head);
}

static void dead_with_block(const victim_plan *plan, report *report) { swept_die_after(plan, report, leave_block); }

static uint64_t unsealed_segments(const char *directory) {
  uint64_t count = 0;
  DIR *names = opendir(directory);
  for (struct dirent *entry; names && (entry = readdir(names));) count += strstr(entry->d_name, ".weir.active") != NULL;
  if (names) closedir(names);
  return count;
}

/* For the stepper that rolls up to where the next segment is begun and the full one not sealed. */
typedef struct rolling {
  swept dead;
  stepper stepper;
} rolling;

static int roll_main(void *context) {
  roll(&((rolling *)context)->dead);
  return 0;
}

static void ignore_store(void *context, uint64_t address, uint64_t bytes) { (void)context, (void)address, (void)bytes; }
static void ignore_call(void *context) { (void)context; }
static void ignore_mark(void *context, int marked) { (void)context, (void)marked; }

static void stop_at_two(void *context, int maps_changed) {
  (void)maps_changed;
  rolling *rolling = context;
  rolling->stepper.stopped = unsealed_segments(rolling->dead.plan->directory) >= 2;
}

static void dead_with_two_segments(const victim_plan *plan, report *report) {
  rolling rolling = {.dead = {.plan = plan, .report = report}};
  rolling.stepper = (stepper){.random = plan->seed,
                              .context = &rolling,
                              .stored = ignore_store,
                              .before_call = ignore_call,
                              .after_call = stop_at_two,
                              .mark_changed = ignore_mark};
  stepper_start(&rolling.stepper, roll_main, &rolling);
  stepper_run(&rolling.stepper);
  stepper_kill(&rolling.stepper);
  REQUIRE(unsealed_segments(plan->directory) == 2);
}

static void keep_little(victim_plan *plan) { plan->retain_bytes = plan->segment_bytes; }

static void leave_segments(swept *swept) {
  for (int i = 0; i < 3; i++) {
    swept_nearly_fill(swept);
    swept_roll_over(swept);
  }
  weir_close(swept->log, NULL);
}

/* More segments than the next opening is to keep. */
static void closed_with_segments(const victim_plan *plan, report *report) {
  victim_plan keeping = *plan;
  keeping.retain_bytes = 0;
  swept_die_after(&keeping, report, leave_segments);
}

static void open_and_remove(swept *swept) {
  weir_counters counters;
  stepper_mark(1);
  swept_open(swept);
  do {
    sleep_ns(1000000);
    weir_count(swept->log, &counters);
  } while (counters.expired == 0);
  swept_capture(swept, 0);
  stepper_mark(0);
}

static void reopen(swept *swept) {
  stepper_mark(1);
  swept_open(swept);
  swept_capture(swept, 0);
  stepper_mark(0);
}

/* ---- Threads in each other's way --------------------------------------------------------------------------------- */

static void *drain_often(void *context) {
  for (int i = 0; i < 4; i++) swept_drain(context);
  return NULL;
}

static void capture_while_draining(swept *swept) {
  swept_open(swept);
  for (int i = 0; i < 3; i++) swept_capture(swept, 0);
  pthread_t thread;
  stepper_mark(1);
  REQUIRE(pthread_create(&thread, NULL, drain_often, swept) == 0);
  for (int i = 0; i < 12; i++) swept_capture(swept, 0);
  pthread_join(thread, NULL);
  stepper_mark(0);
}

/* A producer that waits for the room that each block makes. */
static void waiting_for_room(victim_plan *plan) {
  plan->lane_bytes = FULL_LANE;
  plan->full_wait_ns = UINT64_MAX;
}

static void capture_when_drained(swept *swept) {
  swept_open(swept);
  stepper_mark(1);
  for (int i = 0; i < 30; i++) swept_capture(swept, 0);
  stepper_mark(0);
}

static void *capture_more(void *context) {
  for (int i = 0; i < 8; i++) swept_capture(context, 1);
  return NULL;
}

static void capture_while_closing(swept *swept) {
  swept_open(swept);
  for (int i = 0; i < 3; i++) swept_capture(swept, 0);
  pthread_t thread;
  weir_error error;
  stepper_mark(1);
  REQUIRE(pthread_create(&thread, NULL, capture_more, swept) == 0);
  if (weir_close(swept->log, &error) != WEIR_OK) report_failure(swept->report, "weir_close", &error);
  pthread_join(thread, NULL);
  stepper_mark(0);
}

static void capture_while_rolling(swept *swept) {
  swept_open(swept);
  swept_nearly_fill(swept);
  pthread_t thread;
  stepper_mark(1);
  REQUIRE(pthread_create(&thread, NULL, capture_more, swept) == 0);
  swept_roll_over(swept);
  pthread_join(thread, NULL);
  stepper_mark(0);
}

/* ---- Without threads --------------------------------------------------------------------------------------------- */

static void threadless(victim_plan *plan) { victim_leave_threads_out(plan, UINT64_MAX); }

static void threadless_two_lanes(victim_plan *plan) {
  two_lanes(plan);
  threadless(plan);
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* The least counts are about half of what was seen; compilers and versions of the C library differ. */
const sweep sweeps[] = {
    {"case 1: capture", .run = one_capture, .instructions = 100, .stores = 4},
    {"case 1: capture that claims its lane", .run = first_capture, .instructions = 500, .stores = 4},
    {"case 1: capture of a string, inlined", .run = capture_string, .instructions = 80, .stores = 4},
    {"case 1: capture that wakes the drainer", .shape = soon_drained, .run = capture_waking, .instructions = 100,
     .stores = 4, .calls = 1},
    {"case 1: capture that is refused", .shape = full_lanes, .run = capture_refused, .instructions = 100,
     .stores = 1},
    {"case 1: capture that is too large", .run = capture_too_large, .instructions = 80, .stores = 1},
    {"case 1: capture of an undefined type", .run = capture_undefined, .instructions = 80, .stores = 1},
    {"case 1: capture that goes on in an overflow lane", .shape = overflowing, .run = capture_overflowing,
     .instructions = 1000, .stores = 15},
    {"case 1: capture that evicts", .shape = overwriting, .run = capture_evicting, .instructions = 500, .stores = 15},
    {"case 1: change of the context", .shape = context_shape, .run = context_change, .instructions = 2000,
     .stores = 12},
    {"case 1: capture in a context and a scope", .shape = context_shape, .run = context_capture_scoped,
     .instructions = 100, .stores = 4},
    {"case 1: capture that is sampled out", .run = context_sample_out, .instructions = 30, .stores = 1},
    {"case 2: interleaved captures and changes of context", .shape = context_shape_two_lanes,
     .run = context_race, .quantum = 200, .instructions = 10000, .stores = 100, .calls = 2},
    {"case 14: capture that borrows a lane", .run = capture_borrowing, .instructions = 200, .stores = 4},
    {"case 17: capture within a capture", .run = capture_nested, .instructions = 150, .stores = 4},
    {"case 13: thread's end", .shape = two_lanes, .run = thread_ends, .instructions = 2000, .stores = 5, .calls = 5},
    {"case 1: definition", .run = define, .instructions = 1000, .stores = 5},
    {"case 2: drain", .run = drain_block, .instructions = 2000, .stores = 20, .calls = 2},
    {"case 2: drain of refusals and evictions", .shape = overwriting, .run = drain_losses, .instructions = 2000,
     .stores = 35, .calls = 2},
    {"case 5: roll, seal, prepare and sync", .run = roll, .instructions = 20000, .stores = 250, .calls = 20},
    {"case 5: roll after some were sampled out", .run = context_roll_sampled, .instructions = 20000, .stores = 250,
     .calls = 15},
    {"case 5: close after some were sampled out", .run = context_close_sampled, .instructions = 5000, .stores = 20,
     .calls = 15},
    {"case 3: sync", .run = sync_log, .instructions = 2000, .stores = 20, .calls = 4},
    {"case 3: durable", .run = wait_durable, .instructions = 2000, .stores = 20, .calls = 4},
    {"case 5: close", .run = close_log, .instructions = 5000, .stores = 20, .calls = 15},
    {"case 4: open", .run = open_new, .instructions = 20000, .stores = 9, .calls = 100},
    {"case 8: recovery", .prepare = dead_with_lanes, .run = reopen, .instructions = 50000, .stores = 40,
     .calls = 100},
    {"case 8: recovery of contexts and scopes", .shape = context_shape, .prepare = context_dead, .run = reopen,
     .instructions = 50000, .stores = 40, .calls = 100},
    {"case 2: recovery of a block not handed over", .prepare = dead_with_block, .run = reopen, .instructions = 50000,
     .stores = 30, .calls = 100},
    {"case 8: recovery of refusals and evictions", .shape = overwriting, .prepare = dead_with_losses, .run = reopen,
     .instructions = 50000, .stores = 40, .calls = 100},
    {"case 8: recovery of two segments", .prepare = dead_with_two_segments, .run = reopen, .instructions = 50000,
     .stores = 40, .calls = 100},
    {"case 4: open with a ring apart", .ring = RING_APART, .run = open_new, .instructions = 20000, .stores = 9,
     .calls = 100},
    {"case 5: close with a ring apart", .ring = RING_APART, .run = close_log, .instructions = 5000, .stores = 20,
     .calls = 15},
    {"case 8: recovery of a ring apart", .ring = RING_APART, .prepare = dead_with_lanes, .run = reopen,
     .instructions = 50000, .stores = 40, .calls = 100},
    {"case 8: recovery that puts the ring apart", .ring = RING_MOVES_AWAY, .prepare = dead_with_lanes, .run = reopen,
     .instructions = 50000, .stores = 40, .calls = 100},
    {"case 8: recovery that puts the ring back", .ring = RING_MOVES_BACK, .prepare = dead_with_lanes, .run = reopen,
     .instructions = 50000, .stores = 40, .calls = 100},
    {"case 10: opening that removes segments", .shape = keep_little, .prepare = closed_with_segments,
     .run = open_and_remove, .instructions = 20000, .stores = 9, .calls = 100},
    {"case 9: batching of what is there, by calls", .shape = batch_shape, .prepare = batch_three_raw,
     .run = batch_taken_up, .calls_only = 1, .calls = 130},
    {"case 9: batching of what is there", .shape = batch_shape, .prepare = batch_one_raw, .run = batch_taken_up,
     .instructions = 30000, .stores = 9, .calls = 120},
    {"case 9: batching of a segment that is full, by calls", .shape = batch_shape, .run = batch_rolled,
     .calls_only = 1, .calls = 40},
    {"case 9: raw and batch both there, by calls", .shape = batch_shape, .prepare = batch_both_there,
     .run = batch_taken_up, .calls_only = 1, .calls = 130},
    {"case 9: a batch in the making, by calls", .shape = batch_shape, .prepare = batch_in_the_making,
     .run = batch_taken_up, .calls_only = 1, .calls = 130},
    {"case 10: removal of delivered segments", .shape = batch_shape_removing, .prepare = batch_three_raw,
     .run = batch_delivered, .instructions = 1000, .stores = 2, .calls = 10},
    {"case 10: removal that was begun", .shape = batch_shape_removing, .prepare = batch_removal_begun,
     .run = reopen, .instructions = 20000, .stores = 9, .calls = 100},
    {"case 10: delivered while being batched, by calls", .shape = batch_shape_both, .prepare = batch_three_raw,
     .run = batch_delivered_meanwhile, .calls_only = 1, .quantum = 3, .calls = 110},
    {"case 2: interleaved captures and drains", .shape = two_lanes, .run = capture_while_draining, .quantum = 300,
     .instructions = 5000, .stores = 80, .calls = 10},
    {"case 2: interleaved evictions and drains", .shape = overwriting, .run = capture_while_draining, .quantum = 150,
     .instructions = 5000, .stores = 60, .calls = 10},
    {"case 2: interleaved waits for room and drains", .shape = waiting_for_room, .run = capture_when_drained,
     .quantum = 40, .instructions = 5000, .stores = 80, .calls = 10},
    {"case 20: interleaved captures and close", .shape = two_lanes, .run = capture_while_closing, .quantum = 300,
     .instructions = 5000, .stores = 20, .calls = 10},
    {"case 2: drain without threads", .shape = threadless, .run = drain_block, .instructions = 2000, .stores = 20},
    {"case 5: roll, seal, prepare and sync without threads", .shape = threadless, .run = roll, .instructions = 20000,
     .stores = 250, .calls = 20},
    {"case 3: sync without threads", .shape = threadless, .run = sync_log, .instructions = 2000, .stores = 20,
     .calls = 2},
    {"case 5: close without threads", .shape = threadless, .run = close_log, .instructions = 5000, .stores = 20,
     .calls = 15},
    {"case 2: captures and drains without threads", .shape = threadless_two_lanes,
     .run = capture_while_draining, .quantum = 300, .instructions = 5000, .stores = 80, .calls = 10},
    {"case 20: captures and close without threads", .shape = threadless_two_lanes,
     .run = capture_while_closing, .quantum = 300, .instructions = 5000, .stores = 20, .calls = 10},
    {"case 5: captures and rolling without threads", .shape = threadless_two_lanes,
     .run = capture_while_rolling, .quantum = 500, .instructions = 10000, .stores = 250, .calls = 10},
    {"case 5: interleaved captures and rolling", .shape = two_lanes, .run = capture_while_rolling, .quantum = 500,
     .instructions = 10000, .stores = 250, .calls = 10},
};
const uint32_t sweep_count = sizeof sweeps / sizeof *sweeps;
