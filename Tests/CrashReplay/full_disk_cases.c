/*
 * full_disk_cases.c: case 30, a disk without space, at every phase. The free space is swept from nothing to enough for
 * several segments, a page at a time, so that it ends at the ring, at the locator, at the first segment, at a segment
 * prepared while events flow, in recovery, at the quarantine. Each time: the process lives, the error says what is full
 * and what to do, nothing that was accepted is lost, refusals are counted exactly, and once there is space again
 * captures are accepted again.
 *
 *     full_disk_cases           a sample of the sizes, drawn by WEIR_SEED
 *     full_disk_cases --long    every size
 */
#include "capture_check.h"

#include <sys/mman.h>

#include "disk.h"

enum {
  PAGE = 4096,
  DISK_BYTES = 8 << 20,
  LANE_BYTES = 32768,
  SEGMENT_PAGES = 34, /* just above the least that the options allow; no multiple of larger pages either */
  FILLER = 400,
  ENOUGH_EVENTS = 1200, /* four segments */
};

#define LONG_NS UINT64_C(120000000000) /* what takes longer than that hangs */

/* What a producer was told. In memory that a killed child leaves behind. */
typedef struct tally {
  uint64_t accepted;
  uint64_t refused;  /* captures that were refused because a lane was full, or the log could not grow */
  uint64_t storage;  /* of them, the latter */
  uint64_t opened;
  weir_status status; /* of an opening that failed */
} tally;

/* Where a round takes place. */
typedef struct place {
  const char *disk; /* the file system that is full */
  const char *log;
  const char *ring; /* in another directory; null: beside the segments */
} place;

static weir_status open_log(const place *place, weir_log **log, weir_recovery *recovery, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = LANE_BYTES;
  options.overflow_bytes = 0;
  options.max_event_bytes = 1024;
  options.segment_bytes = SEGMENT_PAGES * PAGE;
  options.ring_directory = place->ring;
  memset(error, 0, sizeof *error);
  return weir_open(place->log, &options, log, recovery, error);
}

/* An error of a full disk names what could not be done and where, and tells what helps. */
static void check_full(weir_status status, const weir_error *error) {
  if (!CHECK_EQUAL(status, WEIR_ERROR_NO_SPACE)) fprintf(stderr, "status %d: %s\n", status, error->message);
  CHECK_EQUAL(error->status, status);
  CHECK(error->system_error == ENOSPC || error->system_error == EDQUOT);
  CHECK(strstr(error->message, "cannot ") && strstr(error->message, "free space on the disk"));
  CHECK(error->path[0] == '/' && strstr(error->message, error->path));
}

static void capture_one(weir_log *log, uint32_t type, tally *tally) {
  int32_t answer = capture_numbered(log, type, 0, tally->accepted, FILLER, NULL);
  if (answer == WEIR_ACCEPTED) {
    tally->accepted++;
    return;
  }
  CHECK(answer == WEIR_DROP_FULL || answer == WEIR_DROP_STORAGE);
  tally->refused++;
  tally->storage += answer == WEIR_DROP_STORAGE;
  sleep_ns(50000);
}

/* Captures until the log says that it can't grow, a few more times after that, or until there was space for it all. */
static void capture_till_full(weir_log *log, uint32_t type, tally *tally) {
  uint64_t most = tally->accepted + ENOUGH_EVENTS, refusals = tally->storage + 5, end = now_ns() + LONG_NS;
  while (tally->accepted < most && tally->storage < refusals && now_ns() < end) capture_one(log, type, tally);
  CHECK(tally->accepted == most || tally->storage == refusals);
}

/* Captures until so many more are accepted: within seconds of the space that came back. */
static void capture_more(weir_log *log, uint32_t type, tally *tally, uint64_t count) {
  uint64_t most = tally->accepted + count, end = now_ns() + LONG_NS;
  while (tally->accepted < most && now_ns() < end) capture_one(log, type, tally);
  CHECK_EQUAL(tally->accepted, most);
}

/* A log on a disk that is full gives what is drained to readers, and says so to who waits. */
static void look_at_full_log(const place *place, weir_log *log, const tally *tally) {
  weir_error error;
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.storage, WEIR_ERROR_NO_SPACE);
  CHECK_EQUAL(counters.accepted, tally->accepted);
  check_full(weir_drain(log, LONG_NS, NULL, &error), &error);
  check_full(weir_sync(log, LONG_NS, NULL, &error), &error);
  found_log found = read_log(place->log);
  check_sound(&found);
  CHECK(check_producer(&found, 0) <= tally->accepted);
  found_free(&found);
}

/* Everything accepted is in the log, once, in order; what was refused is told of; and nothing is damaged. */
static void judge(const place *place, const tally *tally) {
  found_log found = read_log(place->log);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), tally->accepted);
  CHECK_EQUAL(found.count, tally->accepted);
  CHECK_EQUAL(found.gaps, tally->refused);
  found_free(&found);
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(place->log, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
}

/* With space: the log opens, takes events, closes; and then it is a clean one. */
static void go_on(const place *place, tally *tally) {
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  for (int again = 0; again < 2; again++) {
    if (!CHECK_EQUAL(open_log(place, &log, &recovery, &error), WEIR_OK)) {
      fprintf(stderr, "%s\n", error.message);
      return;
    }
    CHECK_EQUAL(recovery.missing_events, 0);
    CHECK_EQUAL(recovery.ring_replaced, 0);
    if (again) CHECK_EQUAL(recovery.was_clean, 1);
    capture_more(log, define_numbered(log), tally, 20);
    close_and_free(log);
    judge(place, tally);
  }
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

/* The space comes back while the log is open. */
static void stays_open(const place *place, tally *tally) {
  weir_log *log;
  weir_error error;
  weir_status status = open_log(place, &log, NULL, &error);
  if (status != WEIR_OK) {
    check_full(status, &error);
    disk_drop_ballast(place->disk);
    go_on(place, tally);
    return;
  }
  tally->opened = 1;
  uint32_t type = define_numbered(log);
  capture_till_full(log, type, tally);
  if (tally->storage > 0) look_at_full_log(place, log, tally);
  disk_drop_ballast(place->disk);
  capture_more(log, type, tally, 400);
  CHECK_EQUAL(weir_drain(log, LONG_NS, NULL, &error), WEIR_OK);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.storage, WEIR_OK);
  close_and_free(log);
  judge(place, tally);
  go_on(place, tally);
}

/* Openings on the full disk, which may fail but lose nothing; then one with space. */
static void open_again(const place *place, tally *tally) {
  weir_log *log;
  weir_error error;
  for (int i = 0; i < 3; i++) {
    weir_status status = open_log(place, &log, NULL, &error);
    if (status != WEIR_OK) {
      check_full(status, &error);
    } else {
      capture_one(log, define_numbered(log), tally);
      status = weir_close(log, &error);
      if (status != WEIR_OK) check_full(status, &error);
      weir_free(log);
    }
  }
  found_log found = read_log(place->log);
  if (tally->opened) CHECK_EQUAL(check_producer(&found, 0), tally->accepted); /* from segments and lanes */
  found_free(&found);
  disk_drop_ballast(place->disk);
  go_on(place, tally);
}

/* The log is closed while the disk is full. */
static void is_closed(const place *place, tally *tally) {
  weir_log *log;
  weir_error error;
  weir_status status = open_log(place, &log, NULL, &error);
  if (status != WEIR_OK) {
    check_full(status, &error);
    disk_drop_ballast(place->disk);
    go_on(place, tally);
    return;
  }
  tally->opened = 1;
  capture_till_full(log, define_numbered(log), tally);
  status = weir_close(log, &error);
  if (status != WEIR_OK) check_full(status, &error);
  weir_free(log);
  open_again(place, tally);
}

/* The process is killed while the disk is full. */
static void is_killed(const place *place, tally *tally) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0; /* what the child's own checks say is in how it ends */
    weir_log *log;
    weir_error error;
    tally->status = open_log(place, &log, NULL, &error);
    if (tally->status != WEIR_OK) {
      check_full(tally->status, &error);
      _exit(checks_failed != 0);
    }
    tally->opened = 1;
    capture_till_full(log, define_numbered(log), tally);
    if (checks_failed != 0) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int ending = wait_for(child);
  CHECK_EQUAL(ending, tally->opened ? 1000 + SIGKILL : 0);
  if (tally->opened) {
    open_again(place, tally);
    return;
  }
  disk_drop_ballast(place->disk);
  go_on(place, tally);
}

typedef void fate(const place *place, tally *tally);
static fate *const fates[] = {stays_open, is_closed, is_killed};
static const char *const fate_names[] = {"space comes back", "the log is closed", "the process is killed"};
enum { FATES = 3 };

/* One round with so many bytes free. Answers whether the disk was full at some moment, and counts into `seen`. */
typedef struct seen {
  uint64_t rounds, at_opening, in_use, never;
} seen;

static void one_round(const place *place, uint64_t free_bytes, int which, tally *tally, seen *seen) {
  static char name[200];
  snprintf(name, sizeof name, "case 30: %" PRIu64 " bytes free%s; %s", free_bytes,
           place->ring ? ", the ring elsewhere" : "", fate_names[which]);
  test(name);
  memset(tally, 0, sizeof *tally);
  disk_leave_free(place->disk, free_bytes);
  fates[which](place, tally);
  seen->rounds++;
  if (!tally->opened) seen->at_opening++;
  else if (tally->storage > 0) seen->in_use++;
  else seen->never++;
  remove_tree(place->log);
  if (place->ring) remove_tree(place->ring);
  disk_drop_ballast(place->disk);
}

/* Every size from nothing to enough, or a sample with all of its ends in it. */
static void sweep(const place *place, uint64_t most_pages, uint64_t samples, const char *what) {
  tally *tally = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(tally != MAP_FAILED);
  seen seen = {0};
  for (uint64_t pages = 0; pages <= most_pages; pages += samples ? 1 + random_below(2 * most_pages / samples) : 1) {
    for (int which = 0; which < FATES; which++) {
      if (samples && pages > 0 && random_below(FATES) != 0) continue;
      one_round(place, pages * PAGE, which, tally, &seen);
    }
  }
  for (int which = 0; which < FATES; which++) one_round(place, most_pages * PAGE, which, tally, &seen);
  printf("%s: %" PRIu64 " rounds; full at the opening in %" PRIu64 ", while events came in %" PRIu64
         ", never in %" PRIu64 "\n", what, seen.rounds, seen.at_opening, seen.in_use, seen.never);
  /* A sample may miss the few sizes at which the disk fills up while events come. */
  CHECK(seen.at_opening > 0 && (samples || seen.in_use > 0) && seen.never > 0);
  munmap(tally, PAGE);
}

/* ---- Quarantine -------------------------------------------------------------------------------------------------- */

/* Overwrites a byte in the middle of the active segment, in a block with another one after it. */
static void damage_active_segment(const char *directory) {
  char command[600];
  snprintf(command, sizeof command, "ls '%s' | grep active | head -n 1 | tr -d '\\n'", directory);
  FILE *list = popen(command, "r");
  char name[100] = "";
  REQUIRE(list && fgets(name, sizeof name, list));
  pclose(list);
  int fd = open(join(directory, name), O_RDWR | O_CLOEXEC);
  uint8_t byte;
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, 2000) == 1);
  byte ^= 0x40;
  REQUIRE(pwrite(fd, &byte, 1, 2000) == 1);
  close(fd);
}

/*
 * A damaged block is copied to quarantine/ before its segment is sealed, so without space the opening fails and nothing
 * has changed. If the space ends later, when the segment is sealed, the opening fails as well: then it is the next one
 * that has to tell of the damage, for nobody had the report of the first.
 */
static void quarantine_without_space(const place *place, uint64_t pages) {
  static char name[100];
  snprintf(name, sizeof name, "case 30: %" PRIu64 " pages free for the quarantine", pages);
  test(name);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_error error;
    if (open_log(place, &log, NULL, &error) != WEIR_OK) _exit(1);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < 100; i++) {
      if (capture_numbered(log, type, 0, i, FILLER, NULL) != WEIR_ACCEPTED) _exit(2);
      if (i % 10 == 9 && i < 90 && weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) _exit(3);
    }
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  damage_active_segment(place->log);
  found_log before = read_log(place->log);
  CHECK(before.count >= 90 && before.count < 100 && before.skipped > 0);
  disk_leave_free(place->disk, pages * PAGE);
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  weir_status status = open_log(place, &log, &recovery, &error);
  if (status != WEIR_OK) {
    check_full(status, &error);
    disk_drop_ballast(place->disk);
    status = open_log(place, &log, &recovery, &error);
  }
  if (CHECK_EQUAL(status, WEIR_OK)) {
    CHECK_EQUAL(recovery.damaged_blocks, 1);
    CHECK_EQUAL(recovery.missing_events, 100 - before.count);
    disk_drop_ballast(place->disk);
    close_and_free(log);
  } else {
    fprintf(stderr, "%s\n", error.message);
  }
  struct stat copies;
  CHECK(stat(join(place->log, "quarantine"), &copies) == 0);
  found_log after = read_log(place->log);
  CHECK_EQUAL(after.count, before.count);
  for (uint64_t i = 0; i < before.count && i < after.count; i++) {
    CHECK_EQUAL(after.events[i].offset, before.events[i].offset);
    CHECK_EQUAL(after.events[i].number, before.events[i].number);
  }
  found_free(&before);
  found_free(&after);
  remove_tree(place->log);
}

int main(int count, char **arguments) {
  int everything = count > 1 && strcmp(arguments[1], "--long") == 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("full_disk_cases");
  if (!disk_ready("case 30, a disk without space")) return finish();
  char *folder = scratch();
  const char *disk = join(folder, "disk"), *spare = join(folder, "spare");
  const place here = {disk, join(disk, "log"), NULL};
  REQUIRE(mkdir(spare, 0700) == 0);
  REQUIRE(disk_tmpfs(disk, DISK_BYTES));
  sweep(&here, 260, everything ? 0 : 36, "tmpfs");
  for (uint64_t pages = 0; pages < 60; pages += everything ? 1 : 1 + random_below(3)) {
    quarantine_without_space(&here, pages);
  }
  /* The disk of the segments full, the ring on another one; and the other way round. */
  const place ring_away = {disk, join(disk, "log"), join(spare, "rings")};
  sweep(&ring_away, 180, everything ? 0 : 9, "tmpfs, the ring elsewhere");
  const place ring_full = {disk, join(spare, "log"), join(disk, "rings")};
  tally *tally = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(tally != MAP_FAILED);
  seen seen = {0};
  for (uint64_t pages = 0; pages <= 90; pages += everything ? 1 : 15) {
    one_round(&ring_full, pages * PAGE, 0, tally, &seen);
  }
  CHECK(seen.at_opening > 0 && seen.never > 0);
  disk_unmount(disk);
  if (disk_make(join(folder, "image"), 24 << 20, "ext4", "", disk)) {
    sweep(&here, 260, everything ? 0 : 12, "ext4");
    disk_unmount(disk);
  }
  scratch_remove(folder);
  return finish();
}
