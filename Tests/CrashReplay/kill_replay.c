/*
 * kill_replay.c: SIGKILL at random moments. A round is the life of one log: a victim opens it, captures, syncs, closes,
 * and is killed; what it leaves is read and held to what it had reported; another victim recovers it, captures on, and
 * is killed too, up to six times over; now and then only its recoveries are killed, up to ten in a row. At the end the
 * log is recovered twice in peace. Every reading begins with all that the one before had, offsets and ids included.
 *
 * A kill counts only if the victim was running when it came; by what it was doing then, which the report says.
 */
#include "check.h"
#include "judge.h"
#include "replay.h"

#include <dirent.h>

/* What a kill is aimed at. It lands where it lands: the victim does not wait for it. */
typedef enum aim { AIM_START, AIM_OPENING, AIM_CAPTURING, AIM_SYNC, AIM_CLOSING, AIMS } aim;

typedef struct life {
  replay *replay;
  report *report;
  judge judge;
  judged_log last; /* the reading before */
  int first;       /* there is no log yet */
  uint64_t state;  /* of the random choices */
} life;

static void spin_until(uint64_t end) {
  uint64_t now = now_ns();
  if (end > now + 200000) sleep_ns(end - now - 100000);
  while (now_ns() < end) {}
}

/* Every order of magnitude from a microsecond to 16 ms is as likely. */
static uint64_t random_moment(uint64_t *state) {
  return replay_below(state, UINT64_C(1000) << replay_below(state, 15));
}

static int any_syncing(const report *report) {
  for (int i = 0; i < REPORT_THREADS; i++) {
    if (report->threads[i].syncing) return 1;
  }
  return 0;
}

static int is_there_yet(const report *report, aim aim) {
  switch (aim) {
    case AIM_OPENING: return report->phase >= PHASE_OPENING;
    case AIM_CAPTURING: return report->phase >= PHASE_CAPTURING;
    case AIM_SYNC: return any_syncing(report) || report->phase > PHASE_CAPTURING;
    case AIM_CLOSING: return report->phase >= PHASE_CLOSING;
    default: return 1;
  }
}

/* Waits, without sleeping long, until the victim does what the kill is aimed at, or has ended. */
static void wait_for_aim(pid_t victim, const report *report, aim aim) {
  uint64_t give_up = now_ns() + 200000000;
  for (uint64_t looks = 0; !is_there_yet(report, aim) && now_ns() < give_up; looks++) {
    siginfo_t info = {0};
    if (looks % 64 == 0) waitid(P_PID, (id_t)victim, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == victim) return;
    if (aim != AIM_CLOSING && aim != AIM_SYNC) sleep_ns(20000);
  }
}

static void count_kill(life *life) {
  const report *report = life->report;
  replay *replay = life->replay;
  replay_count(replay, "kills", 1);
  switch (report->phase) {
    case PHASE_STARTING: replay_count(replay, "kills before the opening", 1); break;
    case PHASE_OPENING:
      replay_count(replay, life->first ? "kills in the first opening" : "kills in a later opening: recovery", 1);
      break;
    case PHASE_CAPTURING:
      replay_count(replay, any_syncing(report) ? "kills while a thread syncs" : "kills while capturing", 1);
      break;
    case PHASE_CLOSING: replay_count(replay, "kills while closing", 1); break;
    case PHASE_BETWEEN: replay_count(replay, "kills between a close and the next opening", 1); break;
    default: replay_count(replay, "kills of an idle victim", 1);
  }
}

/* One victim, from its start to its death. */
static void kill_one(life *life, const victim_plan *plan, aim aim) {
  report *report = life->report;
  for (int i = 0; i < REPORT_THREADS; i++) report->threads[i].syncing = 0;
  pid_t victim = victim_start(plan, report);
  wait_for_aim(victim, report, aim);
  spin_until(now_ns() + random_moment(&life->state));
  int status;
  if (victim_kill(victim, &status)) {
    count_kill(life);
    replay_count(life->replay, "kills of a log without threads", plan->threadless);
  } else {
    replay_count(life->replay, "victims that ended before their kill", 1);
    if (status != 0) judge_fault(&life->judge, "a victim ended with %d: %s", status, report->message);
  }
}

/* Reads what is there, holds it to the report, and to the reading before. */
static void look(life *life, const victim_plan *plan) {
  if (!judge_is_log(plan->directory) || life->judge.faults > 0) return;
  judged_log now;
  judge_read(&life->judge, plan, life->report, &now);
  judge_hold(&life->judge, &now, life->report, FATE_KILLED, NULL);
  judge_verify(&life->judge, plan->directory, &now);
  judge_same(&life->judge, &life->last, &now, 0);
  judged_log_free(&life->last);
  life->last = now;
  life->first = 0;
}

/* Half of the logs have their oldest segments removed: beyond a few, at a limit of all its files, or once delivered. */
static void choose_bounds(life *life, victim_plan *of_log) {
  uint64_t choice = replay_below(&life->state, 10);
  if (choice == 0) of_log->retain_bytes = VICTIM_LEAST_SEGMENT * (1 + replay_below(&life->state, 3));
  if (choice >= 6) of_log->remove_delivered = 1;
  if (choice != 1 && choice != 9) return;
  of_log->limit_policy = WEIR_LIMIT_DROP_OLDEST;
  of_log->max_bytes = (2 << 20) + replay_below(&life->state, 1 << 20);
}

/* The plan of the next victim: events are the log's, everything else is its own. */
static victim_plan next_plan(life *life, const victim_plan *of_log) {
  victim_plan plan = victim_plan_random(of_log->directory, of_log->ring_directory, replay_random(&life->state));
  plan.seed = of_log->seed;
  plan.largest = of_log->largest;
  plan.contexts = of_log->contexts;
  plan.scoped = of_log->scoped;
  plan.limit_policy = of_log->limit_policy;
  plan.max_bytes = of_log->max_bytes;
  plan.retain_bytes = of_log->retain_bytes;
  plan.remove_delivered = of_log->remove_delivered;
  plan.deliver_every = 1 + replay_below(&life->state, 300);
  if (replay_below(&life->state, 4) == 0) victim_leave_threads_out(&plan, 1 + replay_below(&life->state, 200));
  return plan;
}

static aim choose_aim(life *life, victim_plan *plan) {
  aim aim = (enum aim)replay_below(&life->state, AIMS);
  if (aim == AIM_START && replay_below(&life->state, 4)) aim = AIM_CAPTURING;
  if (aim == AIM_SYNC) plan->sync_every = 1 + replay_below(&life->state, 50);
  if (aim == AIM_CLOSING) {
    plan->idle_at_end = 0;
    if (plan->events == 0) plan->events = 1 + replay_below(&life->state, 2000);
  }
  return aim;
}

static void kill_recoveries(life *life, const victim_plan *of_log) {
  uint64_t kills = replay_below(&life->state, 4) ? 0 : 1 + replay_below(&life->state, 10);
  for (; kills > 0 && life->judge.faults == 0; kills--) {
    victim_plan plan = next_plan(life, of_log);
    kill_one(life, &plan, AIM_OPENING);
    look(life, &plan);
  }
}

static uint64_t delivered_removed(const judged_log *log) {
  const uint64_t *dropped = log->stat.dropped;
  return log->stat.removed - dropped[WEIR_LOST_EXPIRED] - dropped[WEIR_LOST_DISPLACED];
}

static uint64_t count_batches(const char *directory) {
  uint64_t count = 0;
  DIR *names = opendir(directory);
  for (struct dirent *entry; names && (entry = readdir(names));) count += strstr(entry->d_name, ".weir.lz4") != NULL;
  if (names) closedir(names);
  return count;
}

static void round_of_kills(replay *replay, uint64_t seed) {
  char directory[300], ring[300], testimony[300];
  life life = {.replay = replay, .first = 1, .state = seed};
  int on_disk = replay_below(&life.state, 16) == 0;
  snprintf(directory, sizeof directory, "%s/log", on_disk ? replay->disk : replay->folder);
  snprintf(ring, sizeof ring, "%s/ring", replay->folder);
  snprintf(testimony, sizeof testimony, "%s/report", replay->folder);
  life.report = report_make(testimony);
  victim_plan of_log = victim_plan_random(directory, ring, seed), plan = of_log;
  of_log.ring_directory = ring;
  choose_bounds(&life, &of_log);
  uint64_t victims = replay_below(&life.state, 2) ? 1 : 2 + replay_below(&life.state, 5);
  for (uint64_t i = 0; i < victims && life.judge.faults == 0; i++) {
    plan = next_plan(&life, &of_log);
    kill_one(&life, &plan, choose_aim(&life, &plan));
    look(&life, &plan);
    if (!life.first) kill_recoveries(&life, &of_log);
  }
  judge_sums sums = {0};
  if (life.judge.faults == 0) judge_killed(&life.judge, &plan, life.report, &sums);
  replay_count(replay, "events accepted", sums.accepted);
  replay_count(replay, "of them overwritten or removed, each counted in the log", sums.missing);
  replay_count(replay, "logs of which segments were removed", life.last.removed > 0);
  replay_count(replay, "of them events that were delivered", delivered_removed(&life.last));
  replay_count(replay, "batch segments", count_batches(directory));
  replay_count(replay, "events in flight found in the log", sums.in_flight);
  replay_count(replay, "captures refused, each counted in the log", sums.refused);
  replay_count(replay, on_disk ? "logs on a disk" : "logs in memory", 1);
  if (life.judge.faults > 0) {
    replay_fail(replay, "%" PRIu64 " faults: %s\n  the last victim: %s", life.judge.faults, life.judge.text,
                victim_describe(&plan));
  }
  judged_log_free(&life.last);
  report_free(life.report);
}

int main(int argc, char **argv) {
  replay replay = replay_start(argc, argv, 10000);
  replay.by_chance = 1;
  return replay_run(&replay, round_of_kills);
}
