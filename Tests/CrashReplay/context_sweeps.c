/* context_sweeps.c: the sweeps of contexts, scopes and of what is sampled out. See sweeps.h. */
#include "check.h"
#include "context_sweeps.h"
#include "stepper.h"

#include <pthread.h>

void context_shape(victim_plan *plan) {
  plan->contexts = 1000000; /* so that each is another one */
  plan->context_every = 1;
  plan->max_event_bytes = 256;
  plan->scoped = 1;
  plan->lane_bytes = 8 * SWEPT_LANE;
}

void context_shape_two_lanes(victim_plan *plan) {
  context_shape(plan);
  plan->lane_count = 3;
}

static void set_context(swept *swept) { victim_set_context(swept->plan, swept->report, swept->log); }

/* A context, an event in it, and another context. */
void context_change(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  stepper_mark(1);
  set_context(swept);
  swept_capture(swept, 0);
  set_context(swept);
  stepper_mark(0);
  swept_expect(swept, swept->report->context_set == 2, "two contexts");
}

/* Field by field, as it is inlined into a caller. */
void context_capture_scoped(swept *swept) {
  swept_open(swept);
  set_context(swept);
  report *report = swept->report;
  uint8_t scope[VICTIM_MAX_SCOPE], payload[VICTIM_FIXED_BYTES + 4096];
  uint64_t scope_bytes;
  while ((scope_bytes = victim_scope(scope, swept->plan, 0, report->threads[0].began)) == UINT64_MAX) {
    swept_capture(swept, 0);
  }
  swept_drain(swept);
  uint32_t type = swept_next_type(swept, 0);
  uint64_t number = report->threads[0].began, bytes = victim_payload(payload, swept->plan, 0, number);
  weir_record record;
  weir_id id;
  stepper_mark(1);
  report_begin(report, 0);
  int32_t answer = weir_begin(swept->log, &record);
  if (answer == WEIR_ACCEPTED) {
    weir_put_raw(&record, payload, bytes);
    weir_put_scope(&record, scope, (uint32_t)scope_bytes);
    answer = weir_commit(&record, type | WEIR_SCOPED, &id);
  }
  report_return(report, 0, number, answer, &id);
  stepper_mark(0);
}

static void sample_out(swept *swept) {
  weir_record record;
  uint64_t number = report_begin(swept->report, 0);
  int32_t answer = weir_begin(swept->log, &record);
  if (answer == WEIR_ACCEPTED) answer = weir_refuse(&record, WEIR_DROP_SAMPLED);
  report_return(swept->report, 0, number, answer, NULL);
}

void context_sample_out(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  swept_drain(swept);
  stepper_mark(1);
  sample_out(swept);
  stepper_mark(0);
}

static void *change_contexts(void *context) {
  for (int i = 0; i < 16; i++) set_context(context);
  return NULL;
}

/* One thread changes the context, another captures. */
void context_race(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  pthread_t thread;
  stepper_mark(1);
  REQUIRE(pthread_create(&thread, NULL, change_contexts, swept) == 0);
  for (int i = 0; i < 30; i++) swept_capture(swept, 0);
  pthread_join(thread, NULL);
  swept_drain(swept);
  stepper_mark(0);
}

/* What was sampled out is told of once the next segment has begun, and at the close. */
void context_roll_sampled(swept *swept) {
  swept_open(swept);
  sample_out(swept);
  swept_nearly_fill(swept);
  sample_out(swept);
  stepper_mark(1);
  swept_roll_over(swept);
  swept_drain(swept);
  stepper_mark(0);
}

void context_close_sampled(swept *swept) {
  swept_open(swept);
  swept_capture(swept, 0);
  for (int i = 0; i < 3; i++) sample_out(swept);
  weir_error error;
  stepper_mark(1);
  report_enter(swept->report, PHASE_CLOSING);
  if (weir_close(swept->log, &error) != WEIR_OK) report_failure(swept->report, "weir_close", &error);
  stepper_mark(0);
}

/* Events in several contexts and scopes, some of them drained, and some that were sampled out. */
static void leave_contexts(swept *swept) {
  for (int i = 0; i < 12; i++) {
    if (i % 2 == 0) set_context(swept);
    swept_capture(swept, 0);
    sample_out(swept);
    if (i == 5) swept_drain(swept);
  }
}

void context_dead(const victim_plan *plan, report *report) { swept_die_after(plan, report, leave_contexts); }
