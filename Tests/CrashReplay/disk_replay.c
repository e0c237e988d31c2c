/*
 * disk_replay.c: power cuts of real file systems, and a disk that begins to fail. Each round makes an ext4 or an xfs in
 * a file and has a victim use a log on it. Then one of three things happens:
 *
 *     shutdown   the file system is shut down in the middle, as by a power cut: nothing is written any more, with or
 *                without a last commit of its journal. It is unmounted, mounted again (which replays the journal) and
 *                judged
 *     snapshot   the device is copied at several instants while the victim goes on: each copy is what a cut at that
 *                instant would have left if the disk wrote all that it was given. Each is mounted and judged. The
 *                device lies on an xfs of its own, whose reflinks copy it in one step
 *     failing    every write to the device fails from some moment on. What was awaited before that is there, and
 *                nothing that was awaited after it has been called durable: the device, mounted again, has all of it
 *
 * Between, single pages of the log are written back, so that the disk has some of them newer than their neighbours.
 *
 * Judged: what was awaited durable is there; nothing wrong is; recovery under another boot id comes to an end, a second
 * one changes nothing; what is captured then has ids and offsets of its own.
 *
 * Takes root, mount namespaces and loop devices; otherwise all of it is skipped, aloud. --only shutdown and so on.
 */
#include "check.h"
#include "judge.h"
#include "replay.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "directory/log_lock.h"
#include "directory/segment_list.h"
#include "format/format.h"
#include "segment/scan.h"
#include "system/crc32c.h"
#include "disk.h"

#ifndef EXT4_IOC_SHUTDOWN /* the same number as xfs has for it */
#define EXT4_IOC_SHUTDOWN _IOR('X', 125, uint32_t)
#endif

enum { SHUTDOWN_WITH_JOURNAL = 1, SHUTDOWN_AT_ONCE = 2 };
enum { EXT4_BYTES = 32 << 20, XFS_BYTES = 320 << 20, OUTER_BYTES = 1 << 30, SNAPSHOTS = 6 };

typedef struct cut {
  replay *replay;
  report *report;
  judge judge;
  uint64_t state; /* of the random choices */
  const char *kind;
  char image[300], disk[300], directory[320], testimony[300];
  victim_plan plan;
} cut;

static void describe(cut *cut, const char *fate, uint64_t seed) {
  victim_plan plan = victim_plan_random(cut->directory, NULL, seed);
  plan.full_policy = WEIR_FULL_DROP_NEWEST; /* of what is overwritten nobody awaits that it is durable */
  plan.openings = 1;
  plan.events = 0;
  plan.hold = 0;
  plan.idle_at_end = 1;
  if (replay_below(&cut->state, 3) > 0) plan.sync_every = 1 + replay_below(&cut->state, 100);
  if (replay_below(&cut->state, 3) > 0) plan.durable_every = 1 + replay_below(&cut->state, 30);
  if (replay_below(&cut->state, 3) == 0) plan.sync_interval_ns = 1000000 << replay_below(&cut->state, 4);
  if (plan.pause_ns == 0) plan.pause_ns = 50000;
  cut->plan = plan;
  replay_count(cut->replay, fate, 1);
  replay_count(cut->replay, cut->kind, 1);
}

/* ---- While it runs ----------------------------------------------------------------------------------------------- */

static int stir_one(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)walk;
  if (kind != FTW_F || random_below(3) > 0) return 0;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  uint64_t pages = (uint64_t)status->st_size / 4096 + 1;
  if (fd < 0) return 0;
  for (int i = 0; i < 3; i++) {
    sync_file_range(fd, (off_t)(random_below(pages) * 4096), (off_t)(1 + random_below(8)) * 4096,
                    SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }
  close(fd);
  return 0;
}

/* Lets the victim run for a moment, and writes single pages of its files back meanwhile. */
static void let_run(cut *cut, uint64_t most_ns) {
  uint64_t end = now_ns() + replay_below(&cut->state, most_ns);
  random_state = replay_random(&cut->state);
  while (now_ns() < end) {
    if (random_below(2)) nftw(cut->directory, stir_one, 16, FTW_PHYS);
    sleep_ns(random_below(3000000));
  }
}

static pid_t start_victim(cut *cut) {
  cut->report = report_make(cut->testimony);
  pid_t victim = victim_start(&cut->plan, cut->report);
  if (!victim_wait_for(victim, cut->report, PHASE_CAPTURING)) judge_fault(&cut->judge, "the victim did not begin");
  return victim;
}

static void end_victim(cut *cut, pid_t victim) {
  int status;
  if (!victim_kill(victim, &status)) {
    /* A mapped page that the file system can't give any more: the documented limit, with a guard for who wants one. */
    if (status == 1000 + SIGBUS) replay_count(cut->replay, "victims ended by SIGBUS: the device is gone", 1);
    else judge_fault(&cut->judge, "the victim ended with %d: %s", status, cut->report->message);
  }
}

/* ---- Afterwards -------------------------------------------------------------------------------------------------- */

/* What a cut leaves is always of another boot. A ring whose header was lost says so by itself. */
static void reboot(const char *directory) {
  int fd = open(join(directory, RING_NAME), O_RDWR | O_CLOEXEC);
  static ring_header header;
  if (fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header && header.magic == RING_MAGIC &&
      header.header_crc == crc32c((uint8_t *)&header + 16, RING_FIXED_BYTES - 16)) {
    memset(header.boot_id, 0x5a, sizeof header.boot_id);
    header.header_crc = crc32c((uint8_t *)&header + 16, RING_FIXED_BYTES - 16);
    REQUIRE(pwrite(fd, &header, RING_FIXED_BYTES, 0) == RING_FIXED_BYTES);
  }
  if (fd >= 0) close(fd);
}

enum { LANES = 16 };

/*
 * Raises the end of each lane to what the headers of the segments say. A header outlives the blocks before it: it names
 * how far each lane was drained, so recovery knows that something was there.
 */
static void take_headers(const char *path, uint64_t opening, uint64_t ends[LANES]) {
  uint64_t log_id;
  segment_list list;
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(directory >= 0 && log_lock_id(directory, &log_id) == 0 && segment_list_read(directory, &list) == 0);
  for (uint64_t i = 0; i < list.count; i++) {
    segment_scan scan;
    scan_damage damage;
    if (scan_open_named(&scan, directory, log_id, &list.items[i], &damage) != 0) continue;
    uint32_t lanes = scan.header_valid && scan.header.opening == opening ? scan.header.lane_count : 0;
    for (uint64_t lane = 0; lane < lanes && lane < LANES; lane++) {
      uint64_t end = lane << 48 | scan.drained[lane].position / 8;
      if (ends[lane] < end) ends[lane] = end;
    }
    scan_close(&scan);
  }
  segment_list_free(&list);
  close(directory);
}

/*
 * How many events that the victim's captures had answered are missing though something later of their lane is there:
 * what recovery must report as missing, to the event. Those in flight at the cut may add to it, which are `*in_flight`.
 */
static uint64_t count_holes(const cut *cut, const report *report, const judged_log *log, uint64_t *in_flight) {
  uint64_t last[LANES] = {0}, holes = 0;
  uint8_t *there = calloc(REPORT_THREADS, REPORT_EVENTS);
  REQUIRE(there);
  take_headers(cut->directory, report->opening[0], last);
  for (uint64_t i = 0; i < log->count; i++) {
    const judged_event *event = &log->events[i];
    if (event->notice || event->thread >= REPORT_THREADS) continue;
    uint64_t lane = event->id.sequence >> 48;
    there[event->thread * (uint64_t)REPORT_EVENTS + event->number] = 1;
    if (lane < LANES && last[lane] < event->id.sequence) last[lane] = event->id.sequence;
  }
  *in_flight = 0;
  for (uint64_t t = 0; t < REPORT_THREADS; t++) {
    for (uint64_t n = 0; n < report->threads[t].began; n++) {
      const report_event *said = &report->threads[t].events[n];
      if (there[t * REPORT_EVENTS + n]) continue;
      *in_flight += said->answer == ANSWER_BEGAN;
      if (said->answer == ANSWER_ACCEPTED) holes += said->sequence < last[said->sequence >> 48 & (LANES - 1)];
    }
  }
  free(there);
  return holes;
}

/* What the opening after a cut says: that it was one, that more may be lost than is known, and exactly the holes. */
static void hold_recovery(cut *cut, uint64_t holes, uint64_t in_flight, const weir_recovery *recovery) {
  replay_count(cut->replay, "events missing between survivors", holes);
  if (recovery->ring_replaced) {
    replay_count(cut->replay, "rings lost", 1);
    return;
  }
  if (!recovery->rebooted || !recovery->unknown_tail || recovery->was_clean) {
    judge_fault(&cut->judge, "recovery does not say that there was a power cut");
  }
  if (recovery->missing_events < holes || recovery->missing_events > holes + in_flight) {
    judge_fault(&cut->judge, "%" PRIu64 " events are missing between survivors (%" PRIu64 " were in flight), and "
                "recovery reports %" PRIu64, holes, in_flight, recovery->missing_events);
  }
}

/* One more life: recovers, captures a few events of each thread, closes. `before`: a reading before, or null. */
static void live_on(cut *cut, report *report, const victim_plan *plan, int captures, const judged_log *before) {
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  uint64_t in_flight = 0, holes = before ? count_holes(cut, report, before, &in_flight) : 0;
  if (victim_open(plan, NULL, &log, &recovery, &error) == WEIR_OK) {
    if (before) hold_recovery(cut, holes, in_flight, &recovery);
    else if (recovery.unknown_tail) judge_fault(&cut->judge, "a log that was closed has an unknown tail");
    report_opened(report, &recovery);
  } else {
    judge_fault(&cut->judge, "recovery: %s", error.message);
    return;
  }
  uint32_t type = victim_define(log);
  for (int i = 0; i < captures; i++) {
    for (uint32_t thread = 0; thread < plan->threads; thread++) {
      weir_id id;
      if (!report_has_room(report, thread)) continue;
      if (victim_capture(plan, report, log, type, thread, &id) != WEIR_ACCEPTED) sleep_ns(1000000);
    }
  }
  if (weir_close(log, &error) != WEIR_OK) judge_fault(&cut->judge, "closing after recovery: %s", error.message);
  weir_free(log);
}

/* Of the events from these numbers on all that were accepted are there. */
static void hold_newest(cut *cut, const report *report, const judged_log *log, const uint64_t from[REPORT_THREADS]) {
  uint64_t accepted = 0, there = 0;
  for (int t = 0; t < REPORT_THREADS; t++) {
    for (uint64_t n = from[t]; n < report->threads[t].began; n++) {
      accepted += report->threads[t].events[n].answer == ANSWER_ACCEPTED;
    }
  }
  for (uint64_t i = 0; i < log->count; i++) {
    const judged_event *event = &log->events[i];
    there += !event->notice && event->thread < REPORT_THREADS && event->number >= from[event->thread];
  }
  if (there != accepted) {
    judge_fault(&cut->judge, "of %" PRIu64 " events accepted after recovery %" PRIu64 " are there", accepted, there);
  }
}

/* What was there before recovery is there after it, under the same offsets, and nothing more of that life. */
static void hold_same(cut *cut, const judged_log *before, const judged_log *after,
                      const uint64_t from[REPORT_THREADS]) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < after->count; i++) {
    const judged_event *now = &after->events[i];
    if (now->notice || now->thread >= REPORT_THREADS || now->number >= from[now->thread]) continue;
    while (at < before->count && before->events[at].notice) at++;
    if (at < before->count && before->events[at].offset == now->offset && before->events[at].content == now->content) {
      at++;
      continue;
    }
    judge_fault(&cut->judge, "recovery has event %" PRIu64 " of thread %u at %" PRIu64 ", a reading before it has not",
                now->number, now->thread, now->offset);
    return;
  }
  while (at < before->count && before->events[at].notice) at++;
  if (at < before->count) {
    judge_fault(&cut->judge, "event %" PRIu64 " of thread %u at %" PRIu64 " was there before recovery only",
                before->events[at].number, before->events[at].thread, before->events[at].offset);
  }
}

/* Judges what is mounted, once as it is, and after one recovery and another. */
static void judge_disk(cut *cut, report *report) {
  judge *judge = &cut->judge;
  victim_plan plan = cut->plan;
  judged_log logs[3] = {0};
  judge_sums sums = {0};
  plan.sync_interval_ns = plan.full_wait_ns = 0;
  report->failed = 0; /* a sync that the failing device did not do is no fault of the victim */
  if (!judge_is_log(plan.directory)) {
    for (int t = 0; t < REPORT_THREADS; t++) {
      for (uint64_t n = 0; n < report->threads[t].began; n++) {
        if (report_is_durable(report, (uint32_t)t, n)) judge_fault(judge, "events were durable, and there is no log");
      }
    }
    if (report->watermark > 0) judge_fault(judge, "offsets were durable, and there is no log");
    return;
  }
  reboot(plan.directory);
  judge_read(judge, &plan, report, &logs[0]);
  judge_hold(judge, &logs[0], report, FATE_POWER_CUT, &sums);
  uint64_t from[REPORT_THREADS];
  for (int t = 0; t < REPORT_THREADS; t++) from[t] = report->threads[t].began;
  if (judge->faults == 0) live_on(cut, report, &plan, 20, &logs[0]);
  if (judge->faults == 0) judge_read(judge, &plan, report, &logs[1]);
  if (judge->faults == 0) hold_newest(cut, report, &logs[1], from);
  if (judge->faults == 0) hold_same(cut, &logs[0], &logs[1], from);
  if (judge->faults == 0) judge_hold(judge, &logs[1], report, FATE_POWER_CUT, NULL);
  if (judge->faults == 0) live_on(cut, report, &plan, 0, NULL);
  if (judge->faults == 0) judge_read(judge, &plan, report, &logs[2]);
  if (judge->faults == 0) judge_same(judge, &logs[1], &logs[2], 1);
  replay_count(cut->replay, "disks judged", 1);
  replay_count(cut->replay, "events accepted", sums.accepted);
  replay_count(cut->replay, "of them there after the cut", sums.events);
  for (uint32_t t = 0; t < REPORT_THREADS; t++) {
    uint64_t durable = 0;
    for (uint64_t n = 0; n < from[t]; n++) durable += (uint64_t)report_is_durable(report, t, n);
    replay_count(cut->replay, "events awaited durable", durable);
  }
  for (int i = 0; i < 3; i++) judged_log_free(&logs[i]);
}

/* ---- Fates ------------------------------------------------------------------------------------------------------- */

static int make_disk(cut *cut) {
  return disk_make(cut->image, strcmp(cut->kind, "xfs") == 0 ? XFS_BYTES : EXT4_BYTES, cut->kind, "", cut->disk);
}

static void shut_down(cut *cut) {
  if (!make_disk(cut)) return;
  pid_t victim = start_victim(cut);
  let_run(cut, 150000000);
  uint32_t how = replay_below(&cut->state, 2) ? SHUTDOWN_AT_ONCE : SHUTDOWN_WITH_JOURNAL;
  int fd = open(cut->disk, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(fd >= 0 && ioctl(fd, EXT4_IOC_SHUTDOWN, &how) == 0);
  close(fd);
  sleep_ns(replay_below(&cut->state, 30000000)); /* nothing that the victim is told now may be a lie */
  end_victim(cut, victim);
  disk_unmount(cut->disk);
  if (!disk_mount(cut->image, "", cut->disk)) judge_fault(&cut->judge, "the disk can't be mounted again");
  else judge_disk(cut, cut->report);
  disk_unmount(cut->disk);
}

/* Copies the report of a victim that is stopped meanwhile, or an event's answer could be newer than its id. */
static report *copy_report(const report *from, pid_t victim) {
  report *copy = report_make(NULL);
  siginfo_t info;
  kill(victim, SIGSTOP);
  waitid(P_PID, (id_t)victim, &info, WSTOPPED | WEXITED | WNOWAIT);
  memcpy(copy, from, sizeof *copy);
  kill(victim, SIGCONT);
  return copy;
}

/* Copies the device. What was durable before the copy is in it, what began before the end of it may be. */
static report *take_snapshot(cut *cut, pid_t victim, const char *outer, int number) {
  char path[400];
  snprintf(path, sizeof path, "%s/snapshot-%d", outer, number);
  report *before = copy_report(cut->report, victim);
  int from = open(cut->image, O_RDONLY | O_CLOEXEC), to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  REQUIRE(from >= 0 && to >= 0 && ioctl(to, FICLONE, from) == 0);
  close(from), close(to);
  report *said = copy_report(cut->report, victim);
  said->watermark = before->watermark;
  for (int t = 0; t < REPORT_THREADS; t++) {
    report_thread *thread = &said->threads[t];
    thread->durable = before->threads[t].durable;
    for (uint64_t n = 0; n < thread->began; n++) thread->events[n].durable = before->threads[t].events[n].durable;
  }
  report_free(before);
  return said;
}

static void take_snapshots(cut *cut) {
  char outer[320], outer_image[300];
  snprintf(outer, sizeof outer, "%s/outer", cut->replay->folder);
  snprintf(outer_image, sizeof outer_image, "%s/outer.image", cut->replay->folder);
  if (!disk_make(outer_image, OUTER_BYTES, "xfs", "", outer)) return;
  snprintf(cut->image, sizeof cut->image, "%.290s/image", outer);
  report *said[SNAPSHOTS];
  int count = 0;
  if (make_disk(cut)) {
    pid_t victim = start_victim(cut);
    for (; count < SNAPSHOTS; count++) {
      let_run(cut, 40000000);
      said[count] = take_snapshot(cut, victim, outer, count);
    }
    end_victim(cut, victim);
    disk_unmount(cut->disk);
  }
  for (int i = 0; i < count; i++) {
    char path[400];
    snprintf(path, sizeof path, "%s/snapshot-%d", outer, i);
    /* The same identity as the image that it was copied from: xfs minds that unless told not to. */
    int mounted = cut->judge.faults == 0 && disk_mount(path, strcmp(cut->kind, "xfs") == 0 ? "nouuid" : "", cut->disk);
    if (mounted) judge_disk(cut, said[i]);
    else if (cut->judge.faults == 0) judge_fault(&cut->judge, "snapshot %d can't be mounted", i);
    if (mounted) disk_unmount(cut->disk);
    report_free(said[i]);
  }
  disk_unmount(outer);
}

/* The device is a file that nbdkit makes of the image, with a filter between that fails writes from some moment on. */
static void fail_device(cut *cut) {
  char fuse[300], trigger[300], plain[300];
  snprintf(fuse, sizeof fuse, "%s/fuse", cut->replay->folder);
  snprintf(trigger, sizeof trigger, "%s/fail", cut->replay->folder);
  memcpy(plain, cut->image, sizeof plain);
  if (!make_disk(cut)) return;
  disk_unmount(cut->disk);
  REQUIRE(mkdir(fuse, 0700) == 0);
  fflush(stdout);
  pid_t server = fork();
  REQUIRE(server >= 0);
  if (server == 0) {
    char file[330], error_file[330];
    snprintf(file, sizeof file, "%s/image", fuse);
    snprintf(error_file, sizeof error_file, "error-file=%s", trigger);
    if (!getenv("WEIR_VERBOSE")) freopen("/dev/null", "w", stderr);
    execlp("nbdfuse", "nbdfuse", file, "[", "nbdkit", "--exit-with-parent", "--filter=error", "file", plain,
           "error=EIO", "error-pwrite-rate=100%", "error-zero-rate=100%", "error-trim-rate=100%", error_file, "]",
           (char *)NULL);
    _exit(127);
  }
  snprintf(cut->image, sizeof cut->image, "%.290s/image", fuse);
  for (int i = 0; i < 200 && access(cut->image, F_OK) != 0; i++) sleep_ns(10000000);
  if (disk_mount(cut->image, "", cut->disk)) {
    pid_t victim = start_victim(cut);
    let_run(cut, 150000000);
    int fd = open(trigger, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    close(fd);
    let_run(cut, 100000000);
    replay_count(cut->replay, "failing devices that a sync reported", cut->report->failed != 0);
    end_victim(cut, victim);
    disk_unmount(cut->disk);
  } else {
    printf("SKIPPED: failing devices, because there is no FUSE\n");
  }
  disk_run("fusermount3 -u '%s'", fuse);
  kill(server, SIGTERM);
  wait_for(server);
  memcpy(cut->image, plain, sizeof plain);
  if (cut->report && disk_mount(cut->image, "", cut->disk)) judge_disk(cut, cut->report);
  else if (cut->report) judge_fault(&cut->judge, "the disk can't be mounted again");
  disk_unmount(cut->disk);
}

static const struct {
  const char *name;
  void (*run)(cut *cut);
} fates[] = {{"shutdown", shut_down}, {"snapshot", take_snapshots}, {"failing", fail_device}};
enum { FATES = 3 };

static void round_of_disk(replay *replay, uint64_t seed) {
  cut *cut = calloc(1, sizeof *cut);
  REQUIRE(cut && disk_ready("power cuts of real disks"));
  cut->replay = replay;
  cut->state = seed;
  uint64_t fate = replay->round % FATES;
  while (!replay_wants(replay, fates[fate].name)) fate = (fate + 1) % FATES;
  cut->kind = replay_below(&cut->state, 2) ? "xfs" : "ext4";
  snprintf(cut->image, sizeof cut->image, "%s/image", replay->folder);
  snprintf(cut->disk, sizeof cut->disk, "%s/disk", replay->folder);
  snprintf(cut->directory, sizeof cut->directory, "%.290s/log", cut->disk);
  snprintf(cut->testimony, sizeof cut->testimony, "%s/report", replay->folder);
  describe(cut, fates[fate].name, seed);
  fates[fate].run(cut);
  if (cut->judge.faults > 0) {
    replay_fail(replay, "%" PRIu64 " faults: %s\n  %s on %s; the victim: %s", cut->judge.faults, cut->judge.text,
                fates[fate].name, cut->kind, victim_describe(&cut->plan));
  }
  if (cut->report) report_free(cut->report);
  free(cut);
}

/* Asked in a child, for a mount namespace is for ever. */
static int can_mount(void) {
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int ready = disk_ready("power cuts of real disks");
    fflush(stdout);
    _exit(!ready);
  }
  return wait_for(child) == 0;
}

int main(int argc, char **argv) {
  replay replay = replay_start(argc, argv, 150);
  int wanted = 0;
  for (int i = 0; i < FATES; i++) wanted += replay_wants(&replay, fates[i].name);
  if (!can_mount() || !disk_needs("mkfs.ext4", "power cuts of ext4") || !disk_needs("mkfs.xfs", "power cuts of xfs") ||
      !disk_needs("nbdfuse", "a disk that begins to fail") || !disk_needs("nbdkit", "a disk that begins to fail")) {
    return 0;
  }
  return wanted ? replay_run(&replay, round_of_disk) : 2;
}
