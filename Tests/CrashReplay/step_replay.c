/*
 * step_replay.c: complete sweeps. A process goes through a capture, a drain, a roll, a sync, a close, an opening, a
 * recovery, one instruction at a time, all its threads included (stepper.h). After each instruction that changed the
 * log's files, and after each system call, the files are what a SIGKILL at that instruction would leave; each such
 * state that was not met before is written out and judged as the log of a killed process: read, recovered, read again,
 * recovered once more (judge.h). So recovery is killed at each of its instructions, too, and then run again.
 *
 * A round is one sweep. That the sweep misses no store is checked before each system call, by looking at all files.
 */
#include "check.h"
#include "judge.h"
#include "replay.h"
#include "snapshot.h"
#include "stepper.h"
#include "sweeps.h"

#include <sched.h>

enum { MOST_STATES = 1 << 20 };

typedef struct tracing {
  replay *replay;
  const sweep *sweep;
  victim_plan plan;
  report *report;
  snapshot snapshot;
  stepper stepper;
  judge judge;
  judged_log before; /* of a recovery: what is there */
  uint64_t sum;      /* of the snapshot as it is */
  uint64_t *met;     /* states judged, by their sums: a hash set */
  uint64_t stores, snapshots;
  char stage[300];   /* where a state is written out */
  char ring_stage[300];
  const char *ring_directory; /* null: no ring but beside the segments */
  swept swept;
} tracing;

/* ---- Judging a state --------------------------------------------------------------------------------------------- */

/* What the process had said by now: the same files are held to more once a capture has returned. */
static uint64_t report_sum(const report *report) {
  uint64_t sum = replay_mix(report->openings, report->delivered);
  for (uint32_t i = 0; i < 2; i++) {
    const report_thread *thread = &report->threads[i];
    sum = replay_mix(replay_mix(sum, thread->began), replay_mix(thread->returned, thread->durable));
  }
  return sum;
}

/* Whether this state was met before; if not, it is from now on. */
static int is_met(tracing *tracing, uint64_t state) {
  REQUIRE(tracing->snapshots < MOST_STATES / 2);
  uint64_t at = state % MOST_STATES;
  for (; tracing->met[at]; at = (at + 1) % MOST_STATES) {
    if (tracing->met[at] == state) return 1;
  }
  tracing->met[at] = state;
  return 0;
}

/* Judges the files as they are, as the log of a process that was killed now. */
static void judge_state(tracing *tracing) {
  uint64_t state = replay_mix(tracing->sum, report_sum(tracing->report)) | 1;
  if (tracing->stepper.stopped || is_met(tracing, state)) return;
  tracing->snapshots++;
  alarm(REPLAY_ROUND_SECONDS);
  victim_plan plan = tracing->plan;
  plan.directory = tracing->stage;
  if (plan.ring_directory) plan.ring_directory = tracing->ring_stage;
  snapshot_write(&tracing->snapshot, tracing->stage, tracing->ring_directory ? tracing->ring_stage : NULL);
  if (tracing->before.count > 0) {
    judged_log now;
    judge_read(&tracing->judge, &plan, tracing->report, &now);
    judge_same(&tracing->judge, &tracing->before, &now, 0);
    judged_log_free(&now);
  }
  judge_killed(&tracing->judge, &plan, tracing->report, NULL);
  remove_tree(tracing->stage);
  remove_tree(tracing->ring_stage);
  if (tracing->judge.faults == 0) return;
  const char *dead = join(tracing->replay->folder, "dead");
  snapshot_write(&tracing->snapshot, dead, tracing->ring_directory ? join(tracing->replay->folder, "dead-ring") : NULL);
  tracing->stepper.stopped = 1;
}

/* ---- What the stepper tells -------------------------------------------------------------------------------------- */

static void stored(void *context, uint64_t address, uint64_t bytes) {
  tracing *tracing = context;
  if (snapshot_look(&tracing->snapshot, address, bytes)) {
    tracing->stores++;
    tracing->sum = snapshot_sum(&tracing->snapshot);
  }
  judge_state(tracing);
}

static void before_call(void *context) {
  tracing *tracing = context;
  if (!snapshot_scan(&tracing->snapshot)) return;
  if (tracing->sweep->calls_only) {
    tracing->sum = snapshot_sum(&tracing->snapshot);
    judge_state(tracing);
    return;
  }
  judge_fault(&tracing->judge, "the sweep missed a store");
  tracing->stepper.stopped = 1;
}

static void after_call(void *context, int maps_changed) {
  tracing *tracing = context;
  if (snapshot_scan(&tracing->snapshot)) tracing->sum = snapshot_sum(&tracing->snapshot);
  if (maps_changed) snapshot_read_maps(&tracing->snapshot, tracing->stepper.child);
  judge_state(tracing);
}

static void mark_changed(void *context, int marked) {
  tracing *tracing = context;
  snapshot_scan(&tracing->snapshot);
  tracing->sum = snapshot_sum(&tracing->snapshot);
  if (marked) snapshot_read_maps(&tracing->snapshot, tracing->stepper.child);
  judge_state(tracing);
}

/* ---- One sweep --------------------------------------------------------------------------------------------------- */

static int run_swept(void *context) {
  tracing *tracing = context;
  tracing->sweep->run(&tracing->swept);
  return 0;
}

/* Tracer and child on one processor: a step then costs half as much. */
static void stay_here(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void check_plausible(tracing *tracing) {
  const sweep *sweep = tracing->sweep;
  const stepper *stepper = &tracing->stepper;
  if (tracing->judge.faults > 0) return;
  if (!stepper->ended || stepper->exit_status != 0) {
    judge_fault(&tracing->judge, "the process ended with %d: %s", stepper->exit_status, tracing->report->message);
  }
  if (tracing->report->failed) judge_fault(&tracing->judge, "%s", tracing->report->message);
  if (stepper->instructions < sweep->instructions || tracing->stores < sweep->stores || stepper->calls < sweep->calls) {
    judge_fault(&tracing->judge, "implausibly few: %" PRIu64 " instructions, %" PRIu64 " stores, %" PRIu64 " calls",
                stepper->instructions, tracing->stores, stepper->calls);
  }
}

static void trace(tracing *tracing, uint64_t seed) {
  const sweep *sweep = tracing->sweep;
  const char *directory = tracing->plan.directory;
  if (sweep->prepare) {
    victim_plan plan = sweep_plan(sweep, directory, tracing->ring_directory, seed, 1);
    sweep->prepare(&plan, tracing->report);
    judge_read(&tracing->judge, &plan, tracing->report, &tracing->before);
  }
  stay_here();
  snapshot_start(&tracing->snapshot, directory, tracing->ring_directory);
  tracing->swept = (swept){.plan = &tracing->plan, .report = tracing->report};
  tracing->stepper = (stepper){.quantum = sweep->quantum,
                               .calls_only = sweep->calls_only,
                               .random = seed,
                               .context = tracing,
                               .stored = stored,
                               .before_call = before_call,
                               .after_call = after_call,
                               .mark_changed = mark_changed};
  stepper_start(&tracing->stepper, run_swept, tracing);
  stepper_run(&tracing->stepper);
  if (!tracing->stepper.ended) stepper_kill(&tracing->stepper);
  check_plausible(tracing);
}

static void round_of_steps(replay *replay, uint64_t seed) {
  tracing *tracing = calloc(1, sizeof *tracing);
  REQUIRE(tracing);
  tracing->sweep = &sweeps[replay->round % sweep_count];
  if (!replay_wants(replay, tracing->sweep->name)) return;
  char directory[300], ring[300], testimony[300];
  snprintf(directory, sizeof directory, "%s/log", replay->folder);
  snprintf(ring, sizeof ring, "%s/ring", replay->folder);
  snprintf(testimony, sizeof testimony, "%s/report", replay->folder);
  snprintf(tracing->stage, sizeof tracing->stage, "%s/stage", replay->folder);
  snprintf(tracing->ring_stage, sizeof tracing->ring_stage, "%s/ring-stage", replay->folder);
  tracing->ring_directory = tracing->sweep->ring == RING_BESIDE ? NULL : ring;
  tracing->replay = replay;
  tracing->report = report_make(testimony);
  tracing->plan = sweep_plan(tracing->sweep, directory, ring, seed, 0);
  tracing->met = calloc(MOST_STATES, sizeof *tracing->met);
  REQUIRE(tracing->met);
  trace(tracing, seed);
  const stepper *stepper = &tracing->stepper;
  printf("\r%-46s %9" PRIu64 " instructions %7" PRIu64 " stores %6" PRIu64 " calls %6" PRIu64 " snapshots judged\n",
         tracing->sweep->name, stepper->instructions, tracing->stores, stepper->calls, tracing->snapshots);
  fflush(stdout);
  replay_count(replay, "sweeps", 1);
  replay_count(replay, "instructions", stepper->instructions);
  replay_count(replay, "stores to the log's files", tracing->stores);
  replay_count(replay, "system calls", stepper->calls);
  replay_count(replay, "snapshots judged", tracing->snapshots);
  if (tracing->judge.faults > 0) replay_fail(replay, "%s: %s", tracing->sweep->name, tracing->judge.text);
  judged_log_free(&tracing->before);
  snapshot_free(&tracing->snapshot);
  report_free(tracing->report);
  free(tracing->met);
  free(tracing);
}

int main(int argc, char **argv) {
  replay replay = replay_start(argc, argv, sweep_count);
  if (!stepper_available()) {
    printf("SKIPPED: the sweeps, because there is no ptrace here, or the processor is none that they know\n");
    return 0;
  }
  return replay_run(&replay, round_of_steps);
}
