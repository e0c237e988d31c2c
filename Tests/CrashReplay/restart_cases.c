/*
 * restart_cases.c: case 21, a machine or a container that starts again. A log that was closed is a clean one whatever
 * started again. Of one that was not:
 *
 *     what started again                          what is there, and what the opening says
 *     the process                                 everything
 *     the machine, after an orderly shutdown      everything: the kernel had written every page. The opening can't know
 *                                                 that: rebooted, and unknown_tail
 *     the container, ring beside the segments     everything: a kill, in another pid namespace
 *     the container, ring on a tmpfs that stays   the same
 *     the container, ring on a tmpfs of its own   what was drained; what was not is lost and reported: ring_vanished
 *
 * A pid says nothing in any of them: in a container every writer is number 1.
 */
#include "capture_check.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "directory/segment_list.h"
#include "format/format.h"
#include "system/crc32c.h"
#include "system/system.h"
#include "disk.h"
#include "drainer.h"

enum { EVENTS = 500, UNDRAINED = 40, FILLER = 200 };

/* What happens within one container's life, in memory shared with it. */
typedef struct life {
  const char *directory;
  const char *ring; /* its directory; null: beside the segments */
  int own_tmpfs;    /* mount one at `ring`, which ends with the container */
  int closes;       /* or is killed */
  uint64_t first;   /* number of its first event */
  /* What it says. */
  _Atomic int ready;
  pid_t writer;     /* outside of its namespace */
  int pid_inside;
  weir_status status;
  weir_recovery recovery;
  uint64_t accepted;
  uint64_t drained; /* events known to be in segments */
  uint64_t failed_checks;
} life;

static weir_status open_log(const life *life, weir_log **log, weir_recovery *recovery, uint64_t interval_ns,
                            weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  options.lane_bytes = 65536;
  options.overflow_bytes = 0;
  options.max_event_bytes = 1024;
  options.segment_bytes = 139264;
  options.full_wait_ns = UINT64_MAX;
  options.drain_interval_ns = interval_ns;
  options.ring_directory = life->ring;
  return weir_open(life->directory, &options, log, recovery, error);
}

/* Opens, captures, drains; then captures a few more that stay in the lanes. */
static void live(life *life) {
  weir_log *log;
  weir_error error;
  life->pid_inside = (int)getpid();
  life->status = open_log(life, &log, &life->recovery, UINT64_C(10000000000), &error);
  if (life->status != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  uint32_t type = define_numbered(log);
  uint64_t number = life->first;
  for (; number < life->first + EVENTS; number++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, number, FILLER, NULL), WEIR_ACCEPTED);
  }
  hold_drainer(log);
  for (; number < life->first + EVENTS + UNDRAINED; number++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, number, FILLER, NULL), WEIR_ACCEPTED);
  }
  life->accepted = number;
  weir_counters counters;
  weir_count(log, &counters);
  life->drained = life->first + counters.drained;
  CHECK_EQUAL(life->drained + UNDRAINED, life->accepted);
  if (life->closes) close_and_free(log);
}

/* A process that is number 1 of a pid namespace, with mounts of its own; it is killed from outside, or ends. */
static void run_container(life *life) {
  fflush(stdout);
  pid_t container = fork();
  REQUIRE(container >= 0);
  if (container == 0) {
    checks_failed = 0;
    REQUIRE(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    if (life->own_tmpfs) REQUIRE(disk_tmpfs(life->ring, 16 << 20));
    pid_t writer = fork();
    REQUIRE(writer >= 0);
    if (writer == 0) {
      live(life);
      life->failed_checks = checks_failed;
      life->ready = 1;
      if (life->closes || life->status != WEIR_OK) _exit(0);
      for (;;) pause();
    }
    life->writer = writer;
    int status;
    while (!life->ready && waitpid(writer, &status, WNOHANG) == 0) sleep_ns(100000);
    if (!life->closes) kill(writer, SIGKILL);
    waitpid(writer, &status, 0);
    _exit(0);
  }
  CHECK_EQUAL(wait_for(container), 0);
  CHECK(life->ready);
  CHECK_EQUAL(life->failed_checks, 0);
  CHECK_EQUAL(life->status, WEIR_OK);
}

/* The events with these numbers, in order, and nothing else. */
static void judge(const char *directory, const uint64_t (*ranges)[2], int count, int skips) {
  found_log found = read_log(directory);
  /* A ring that is gone is told of; and after a reboot that nobody closed the log for, offsets are left out. */
  CHECK_EQUAL(found.skipped, skips);
  found.skipped = 0;
  check_sound(&found);
  uint64_t at = 0, wrong = 0;
  for (int i = 0; i < count; i++) {
    for (uint64_t number = ranges[i][0]; number < ranges[i][1]; number++, at++) {
      wrong += at >= found.count || found.events[at].number != number;
    }
  }
  CHECK_EQUAL(found.count, at);
  CHECK_EQUAL(wrong, 0);
  found_free(&found);
}

/* ---- Containers -------------------------------------------------------------------------------------------------- */

typedef enum ring_home { BESIDE, STAYS, GOES } ring_home;
static const char *const homes[] = {"beside the segments", "on a tmpfs that stays", "on a tmpfs that goes"};

static void container_restarts(const char *folder, ring_home home, int closes) {
  static char name[200];
  snprintf(name, sizeof name, "case 21: a container is %s and starts again, its ring %s", closes ? "stopped" : "killed",
           homes[home]);
  test(name);
  life *lives = mmap(NULL, 2 * sizeof *lives, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(lives != MAP_FAILED);
  const char *ring = join(folder, "shm"), *directory = join(folder, "log");
  if (home != BESIDE) REQUIRE(mkdir(ring, 0700) == 0);
  if (home == STAYS) REQUIRE(disk_tmpfs(ring, 16 << 20));
  for (int i = 0; i < 2; i++) {
    lives[i] = (life){.directory = directory, .ring = home == BESIDE ? NULL : ring, .own_tmpfs = home == GOES};
    lives[i].closes = closes;
    lives[i].first = i == 0 ? 0 : lives[0].accepted;
    run_container(&lives[i]);
    CHECK_EQUAL(lives[i].pid_inside, 1);
    weir_stat stat;
    weir_error error;
    CHECK_EQUAL(weir_stat_directory(directory, &stat, &error), WEIR_OK);
    CHECK_EQUAL(stat.ring_vanished, home == GOES && !closes);
    CHECK_EQUAL(stat.live, 0);
  }
  const weir_recovery *said = &lives[1].recovery;
  int vanished = home == GOES && !closes;
  CHECK_EQUAL(said->ring_vanished, vanished);
  CHECK_EQUAL(said->ring_replaced, vanished);
  CHECK_EQUAL(said->was_clean, closes);
  CHECK_EQUAL(said->events_from_lanes, closes || vanished ? 0 : lives[0].accepted - lives[0].drained);
  CHECK_EQUAL(said->missing_events, 0);
  if (!closes) CHECK_EQUAL(said->previous_opening, lives[0].recovery.opening);
  const uint64_t end = vanished ? lives[0].drained : lives[0].accepted;
  const uint64_t last = vanished ? lives[1].drained : lives[1].accepted;
  const uint64_t ranges[2][2] = {{0, end}, {lives[1].first, last}};
  judge(directory, ranges, 2, vanished);
  if (home == STAYS) disk_unmount(ring);
  remove_tree(ring);
  remove_tree(directory);
  munmap(lives, 2 * sizeof *lives);
}

/* ---- The machine ------------------------------------------------------------------------------------------------- */

/* Makes the ring one of another boot: that is all that an orderly shutdown changes in the files. */
static void reboot(const char *directory) {
  int fd = open(join(directory, RING_NAME), O_RDWR | O_CLOEXEC);
  static ring_header header;
  REQUIRE(fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header);
  for (int i = 0; i < 16; i++) header.boot_id[i] ^= 0x5a;
  header.header_crc = crc32c((uint8_t *)&header + 16, RING_FIXED_BYTES - 16);
  REQUIRE(pwrite(fd, &header, RING_FIXED_BYTES, 0) == RING_FIXED_BYTES);
  close(fd);
}

static void machine_restarts(const char *folder, int closes) {
  test(closes ? "case 21: the machine starts again after the log was closed"
              : "case 21: the machine starts again after an orderly shutdown, every page intact");
  const char *directory = join(folder, "log");
  life *lives = mmap(NULL, 2 * sizeof *lives, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(lives != MAP_FAILED);
  for (int i = 0; i < 2; i++) {
    lives[i] = (life){.directory = directory, .closes = closes, .first = i == 0 ? 0 : lives[0].accepted};
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      checks_failed = 0;
      live(&lives[i]);
      if (checks_failed != 0) _exit(1);
      if (closes) _exit(0);
      kill(getpid(), SIGKILL);
    }
    CHECK_EQUAL(wait_for(child), closes ? 0 : 1000 + SIGKILL);
    reboot(directory);
    const uint64_t all[1][2] = {{0, lives[i].accepted}};
    judge(directory, all, 1, closes ? 0 : i + 1); /* before any recovery, too */
  }
  const weir_recovery *said = &lives[1].recovery;
  CHECK_EQUAL(said->ring_replaced + said->ring_vanished, 0);
  CHECK_EQUAL(said->missing_events + said->damaged_records + said->damaged_blocks + said->torn_bytes, 0);
  CHECK_EQUAL(said->previous_opening, lives[0].recovery.opening);
  CHECK_EQUAL(said->events_from_lanes, closes ? 0 : lives[0].accepted - lives[0].drained);
  CHECK_EQUAL(said->was_clean, closes);
  /* What came after the last event that is there, nothing that is left can tell, unless the log was closed. */
  CHECK_EQUAL(said->rebooted, 1);
  CHECK_EQUAL(said->unknown_tail, !closes);
  weir_log *log;
  weir_error error;
  for (int again = 0; again < 2; again++) {
    CHECK_EQUAL(open_log(&lives[1], &log, NULL, 1000000, &error), WEIR_OK);
    close_and_free(log);
    const uint64_t all[1][2] = {{0, lives[1].accepted}};
    judge(directory, all, 1, closes ? 0 : 2);
  }
  remove_tree(directory);
  munmap(lives, 2 * sizeof *lives);
}

/* What no sync had put on the disk is not there after a power cut: the blocks of the segment that is being written. */
static void lose_active_blocks(const char *directory) {
  segment_list list;
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  REQUIRE(fd >= 0 && segment_list_read(fd, &list) == 0 && list.count == 1 && list.items[0].active);
  int file = openat(fd, list.items[0].name, O_RDWR);
  struct stat status;
  REQUIRE(file >= 0 && fstat(file, &status) == 0);
  REQUIRE(ftruncate(file, 4096) == 0 && ftruncate(file, status.st_size) == 0);
  segment_list_free(&list);
  close(file);
  close(fd);
}

/* Without /proc nobody knows which boot it is, neither the writer nor who comes after a power cut. */
static void power_cut_without_proc(const char *folder) {
  enum { COUNT = 200 };
  static const uint8_t unknown[16];
  test("case 21, a power cut where neither opening has /proc: it is not taken for a kill");
  const char *directory = join(folder, "no-proc");
  life life = {.directory = directory};
  weir_fault_boot_id(unknown);
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_error error;
    if (open_log(&life, &log, NULL, 1000000, &error) != WEIR_OK) _exit(3);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < COUNT; i++) {
      if (capture_numbered(log, type, 0, i, FILLER, NULL) != WEIR_ACCEPTED) _exit(4);
    }
    if (weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) _exit(5);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  lose_active_blocks(directory);
  const uint64_t all[1][2] = {{0, COUNT}};
  judge(directory, all, 1, 2); /* and of the block that is cut in two */
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  CHECK_EQUAL(open_log(&life, &log, &recovery, 1000000, &error), WEIR_OK);
  CHECK_EQUAL(recovery.events_from_lanes, COUNT);
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK_EQUAL(recovery.rebooted, 1);
  CHECK_EQUAL(recovery.unknown_tail, 1);
  CHECK(recovery.first_offset > UINT64_C(1) << 32);
  close_and_free(log);
  judge(directory, all, 1, 1);
  weir_fault_boot_id(NULL);
  remove_tree(directory);
}

int main(void) {
  random_start("restart_cases");
  char *folder = scratch();
  power_cut_without_proc(folder);
  for (int closes = 0; closes < 2; closes++) machine_restarts(folder, closes);
  if (disk_ready("case 21, a container that starts again")) {
    for (ring_home home = BESIDE; home <= GOES; home++) {
      for (int closes = 0; closes < 2; closes++) container_restarts(folder, home, closes);
    }
  }
  scratch_remove(folder);
  return finish();
}
