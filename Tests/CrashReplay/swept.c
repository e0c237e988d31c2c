/* swept.c: see swept.h. */
#include "check.h"
#include "stepper.h"
#include "swept.h"

#include "format/format.h"

void swept_open(swept *swept) {
  weir_recovery recovery;
  weir_error error;
  if (victim_open(swept->plan, swept->report, &swept->log, &recovery, &error) != WEIR_OK) {
    report_failure(swept->report, "weir_open", &error);
    _exit(1);
  }
  swept->first_type = victim_define(swept->log);
  report_enter(swept->report, PHASE_CAPTURING);
}

int32_t swept_capture(swept *swept, uint32_t thread) {
  weir_id id;
  return victim_capture(swept->plan, swept->report, swept->log, swept->first_type, thread, &id);
}

void swept_drain(swept *swept) {
  weir_error error;
  if (weir_drain(swept->log, UINT64_MAX, NULL, &error) != WEIR_OK) report_failure(swept->report, "weir_drain", &error);
}

/* The marked capture of one event whose fields are ready: nothing but the library's own work between the reports. */
void swept_capture_marked(swept *swept, uint32_t thread, uint64_t bytes, uint32_t type) {
  uint8_t payload[VICTIM_FIXED_BYTES + 4096];
  report *report = swept->report;
  uint64_t usual = victim_payload(payload, swept->plan, thread, report->threads[thread].began);
  weir_id id;
  stepper_mark(1);
  uint64_t number = report_begin(report, thread);
  int32_t answer = weir_capture(swept->log, type, payload, bytes ? bytes : usual, &id);
  report_return(report, thread, number, answer, &id);
  stepper_mark(0);
}

/* The type of a thread's next event. */
uint32_t swept_next_type(const swept *swept, uint32_t thread) {
  return swept->first_type + victim_type(swept->plan->seed, thread, swept->report->threads[thread].began);
}

void swept_expect(swept *swept, int good, const char *what) {
  if (!good) report_failure(swept->report, what, NULL);
}

static uint64_t segments(const swept *swept) {
  weir_counters counters;
  weir_count(swept->log, &counters);
  return counters.segments;
}

/* Captures and drains until the active segment has room for a few blocks more. */
void swept_nearly_fill(swept *swept) {
  enum { LEFT = 5000 };
  weir_counters counters;
  weir_count(swept->log, &counters);
  uint64_t records = 0, before = counters.blocks;
  while (records + (counters.blocks - before) * sizeof(block_header) < swept->plan->segment_bytes - LEFT) {
    uint8_t payload[VICTIM_FIXED_BYTES + 4096];
    uint64_t number = swept->report->threads[0].began;
    records += 24 + ((victim_payload(payload, swept->plan, 0, number) + 7) & ~UINT64_C(7));
    swept_capture(swept, 0);
    if (number % 16 != 15) continue;
    swept_drain(swept);
    weir_count(swept->log, &counters);
  }
}

void swept_roll_over(swept *swept) {
  uint64_t before = segments(swept);
  while (segments(swept) == before) {
    for (int i = 0; i < 14; i++) swept_capture(swept, 0);
    swept_drain(swept);
  }
}

/* Runs `main` with a log of its own in a child that is killed at the end of it. */
void swept_die_after(const victim_plan *plan, report *report, void (*main)(swept *)) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    swept dead = {.plan = plan, .report = report};
    swept_open(&dead);
    main(&dead);
    raise(SIGKILL);
  }
  REQUIRE(wait_for(child) == 1000 + SIGKILL);
}
