/*
 * power_replay.c: simulated power cuts. A round records one run of a log, makes images of what random power cuts at
 * random moments of it may have left on the disk, recovers each, and holds it to the run: see recording.h, images.h and
 * power_run.h. One recovery in three is recorded and cut off itself, and what that leaves is recovered: of an image, or
 * of the log of a process that was killed at that moment, whose page cache the disk did not have.
 *
 * --rounds counts images, a hundred of which are made of one run. Which versions of a page a run has hangs on how its
 * threads were scheduled; so a seed repeats the choices, and the image that failed is kept.
 */
#include "check.h"
#include "power_run.h"
#include "replay.h"

enum { IMAGES = 100 };

static report *said;

static void count(replay *replay, const image_plan *image, const power_sums *sums) {
  const weir_recovery *found = &sums->found;
  replay_count(replay, "images", 1);
  replay_count(replay, "events in them", sums->events);
  replay_count(replay, "events accepted by then", sums->accepted);
  replay_count(replay, "events missing", sums->missing);
  replay_count(replay, "of them in exact holes", found->missing_events);
  replay_count(replay, "images with an unknown tail", found->unknown_tail);
  replay_count(replay, "images with holes", found->missing_events > 0);
  replay_count(replay, "images of a closed log", found->rebooted && !found->unknown_tail);
  replay_count(replay, "images without a log", (uint64_t)!sums->was_log);
  replay_count(replay, "images of which delivered segments were removed", sums->first_kept > 0);
  replay_count(replay, "images with batch segments", sums->batches > 0);
  replay_count(replay, "images with torn blocks", found->torn_bytes > 0);
  replay_count(replay, "images with garbage in unwritten blocks", image->blanks != BLANKS_ZERO);
}

static void try_image(replay *replay, power_run *run, uint64_t seed) {
  char path[300], cut[300], evidence[300];
  snprintf(path, sizeof path, "%s/image", replay->folder);
  snprintf(cut, sizeof cut, "%s/cut", replay->folder);
  snprintf(evidence, sizeof evidence, "%s/evidence", replay->folder);
  image_plan image = image_plan_random(run->recording, seed);
  remove_tree(path);
  remove_tree(evidence);
  judge judge = {0};
  power_sums sums;
  judged_log kept = {0}, later = {0};
  int kept_any = 0;
  power_again again = seed % 6 == 0 ? AGAIN_CUT : seed % 6 == 1 ? AGAIN_KILLED : AGAIN_NONE;
  if (again == AGAIN_NONE) {
    image_build(run->recording, &image, path);
  } else {
    if (again == AGAIN_KILLED) image.contents = CONTENTS_OLD;
    int closed = power_cut_recovery(run, &image, again, path, replay_mix(seed, 3), cut);
    victim_plan plan = run->plan;
    plan.directory = path;
    kept_any = closed && judge_is_log(path);
    if (kept_any) judge_read(&judge, &plan, run->report, &kept);
    remove_tree(path);
    REQUIRE(rename(cut, path) == 0 && replay_copy(path, evidence) == 0);
    replay_count(replay, again == AGAIN_CUT ? "recoveries cut off" : "recoveries from a kill cut off", 1);
    replay_count(replay, "of all these, cut after a close", (uint64_t)closed);
  }
  power_hold(&judge, run, &image, path, again, &sums);
  count(replay, &image, &sums);
  if (kept_any) {
    victim_plan plan = run->plan;
    plan.directory = path;
    judge_read(&judge, &plan, run->report, &later);
    judge_same(&judge, &kept, &later, 0);
    judged_log_free(&kept);
    judged_log_free(&later);
  }
  if (judge.faults > 0) {
    /* As it was before: recovery changes it. */
    if (!again) image_build(run->recording, &image, evidence);
    static const char *const after[] = {[AGAIN_CUT] = ", its recovery cut off",
                                        [AGAIN_KILLED] = ", killed, recovered, cut"};
    replay_fail(replay, "%s%s: %" PRIu64 " faults: %s (%s)", image_describe(&image), again ? after[again] : "",
                judge.faults, judge.text, victim_describe(&run->plan));
  }
}

static void round_of_images(replay *replay, uint64_t seed) {
  char directory[300];
  snprintf(directory, sizeof directory, "%s/log", replay->folder);
  if (!said) said = report_make(NULL);
  else report_clear(said);
  power_run run;
  victim_plan plan = power_plan(directory, seed);
  power_run_do(&run, &plan, said);
  if (run.judge.faults > 0) replay_fail(replay, "the run itself: %s", run.judge.text);
  replay_count(replay, "runs", 1);
  replay_count(replay, "moments", run.recording->moments);
  replay_count(replay, "calls", run.recording->calls);
  replay_count(replay, "versions of pages", run.recording->versions);
  remove_tree(directory);
  for (uint64_t i = 0; i < IMAGES && !replay_failed(replay); i++) try_image(replay, &run, replay_mix(seed, 1000 + i));
  power_run_free(&run);
}

int main(int argc, char **argv) {
  replay replay = replay_start(argc, argv, 100000);
  replay.by_chance = 1;
  replay.rounds = (replay.rounds + IMAGES - 1) / IMAGES;
  return replay_run(&replay, round_of_images);
}
