/* batch_sweeps.c: see batch_sweeps.h. */
#include "check.h"
#include "batch_sweeps.h"
#include "stepper.h"

#include <dirent.h>

void batch_shape(victim_plan *plan) { plan->batch_threads = 1; }
void batch_shape_removing(victim_plan *plan) { plan->remove_delivered = 1; }

void batch_shape_both(victim_plan *plan) {
  plan->batch_threads = 1;
  plan->remove_delivered = 1;
}

/* ---- What is there before ---------------------------------------------------------------------------------------- */

/* Names in the log's directory that have this in them, and end there if they are to. */
static uint64_t count_names(const char *directory, const char *part, int at_end) {
  uint64_t count = 0;
  DIR *names = opendir(directory);
  for (struct dirent *entry; names && (entry = readdir(names));) {
    const char *found = strstr(entry->d_name, part);
    count += found && (!at_end || found[strlen(part)] == 0);
  }
  if (names) closedir(names);
  return count;
}

static uint64_t raw_segments(const char *directory) { return count_names(directory, ".weir", 1); }
static uint64_t batch_segments(const char *directory) { return count_names(directory, ".weir.lz4", 1); }

static void close_well(swept *swept) {
  weir_error error;
  if (weir_close(swept->log, &error) != WEIR_OK) report_failure(swept->report, "weir_close", &error);
}

static void leave_one(swept *swept) {
  for (int i = 0; i < 40; i++) swept_capture(swept, 0);
  close_well(swept);
}

static void leave_three(swept *swept) {
  for (int i = 0; i < 2; i++) {
    swept_nearly_fill(swept);
    swept_roll_over(swept);
  }
  close_well(swept);
}

/* The smallest plan but for batchers and removal: these are for what is swept. */
static victim_plan plain(const victim_plan *plan) {
  victim_plan plain = *plan;
  plain.batch_threads = plain.remove_delivered = 0;
  return plain;
}

void batch_one_raw(const victim_plan *plan, report *report) {
  victim_plan before = plain(plan);
  swept_die_after(&before, report, leave_one);
  REQUIRE(raw_segments(plan->directory) == 1);
}

void batch_three_raw(const victim_plan *plan, report *report) {
  victim_plan before = plain(plan);
  swept_die_after(&before, report, leave_three);
  REQUIRE(raw_segments(plan->directory) == 3);
}

/* For the stepper that goes on until the directory is as it is to be. */
typedef struct cut_off {
  swept dead;
  stepper stepper;
  void (*run)(swept *swept);
  int (*is_there)(const char *directory);
} cut_off;

static int cut_off_main(void *context) {
  cut_off *cut_off = context;
  cut_off->run(&cut_off->dead);
  return 0;
}

static void ignore_store(void *context, uint64_t address, uint64_t bytes) { (void)context, (void)address, (void)bytes; }
static void ignore_mark(void *context, int marked) { (void)context, (void)marked; }
static void ignore_call(void *context) { (void)context; }

static void look(void *context, int maps_changed) {
  (void)maps_changed;
  cut_off *cut_off = context;
  cut_off->stepper.stopped = cut_off->is_there(cut_off->dead.plan->directory);
}

static void die_when(const victim_plan *plan, report *report, void (*run)(swept *), int (*is_there)(const char *)) {
  cut_off cut_off = {.dead = {.plan = plan, .report = report}, .run = run, .is_there = is_there};
  cut_off.stepper = (stepper){.random = plan->seed,
                              .calls_only = 1,
                              .context = &cut_off,
                              .stored = ignore_store,
                              .before_call = ignore_call,
                              .after_call = look,
                              .mark_changed = ignore_mark};
  stepper_start(&cut_off.stepper, cut_off_main, &cut_off);
  stepper_run(&cut_off.stepper);
  REQUIRE(!cut_off.stepper.ended);
  stepper_kill(&cut_off.stepper);
  REQUIRE(is_there(plan->directory));
}

static int has_both(const char *directory) { return raw_segments(directory) == 3 && batch_segments(directory) == 1; }

static int has_temporary(const char *directory) {
  return count_names(directory, "batch-", 0) == 1 && raw_segments(directory) == 3;
}

static int has_begun_removal(const char *directory) {
  return count_names(directory, "start", 1) == 1 && raw_segments(directory) == 2;
}

void batch_both_there(const victim_plan *plan, report *report) {
  batch_three_raw(plan, report);
  die_when(plan, report, batch_taken_up, has_both);
}

void batch_in_the_making(const victim_plan *plan, report *report) {
  batch_three_raw(plan, report);
  die_when(plan, report, batch_taken_up, has_temporary);
}

void batch_removal_begun(const victim_plan *plan, report *report) {
  batch_three_raw(plan, report);
  die_when(plan, report, batch_delivered, has_begun_removal);
}

/* ---- What is swept ----------------------------------------------------------------------------------------------- */

static void await_batches(swept *swept, uint64_t wanted) {
  weir_counters counters;
  do {
    sleep_ns(1000000);
    weir_count(swept->log, &counters);
    swept_expect(swept, counters.batching == WEIR_OK && counters.unbatched == 0, "batching failed");
  } while (counters.batched < wanted && counters.batching == WEIR_OK);
}

void batch_taken_up(swept *swept) {
  uint64_t raw = raw_segments(swept->plan->directory);
  stepper_mark(1);
  swept_open(swept);
  await_batches(swept, raw);
  swept_capture(swept, 0);
  stepper_mark(0);
}

void batch_rolled(swept *swept) {
  swept_open(swept);
  swept_nearly_fill(swept);
  stepper_mark(1);
  swept_roll_over(swept);
  await_batches(swept, 1);
  stepper_mark(0);
}

/* All but the last sealed segment, which stays. */
static void deliver_and_wait(swept *swept) {
  weir_counters counters;
  weir_count(swept->log, &counters);
  report_delivered(swept->report, counters.next_offset);
  weir_set_delivered(swept->log, counters.next_offset);
  do {
    sleep_ns(1000000);
    weir_count(swept->log, &counters);
  } while (counters.delivered_removed == 0);
  swept_capture(swept, 0);
}

void batch_delivered(swept *swept) {
  swept_open(swept);
  stepper_mark(1);
  deliver_and_wait(swept);
  stepper_mark(0);
}

void batch_delivered_meanwhile(swept *swept) {
  stepper_mark(1);
  swept_open(swept);
  deliver_and_wait(swept);
  stepper_mark(0);
}
