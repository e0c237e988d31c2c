/*
 * disk_cases.c: disks that misbehave: FAULTS cases 33 to 35, 37 and 38. Where a real disk can be made to do it (a file
 * system without fallocate), it is; otherwise the C library's calls are replaced: disk_calls.h.
 */
#include "disk_log.h"

#include <linux/fs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "disk.h"
#include "disk_calls.h"
#include "system/system.h"

/* ---- 33: reading what can't be read ------------------------------------------------------------------------------ */

/* A log of several sealed segments, without a notice between its events; answers how many they are. */
static uint64_t make_sealed(const char *directory) {
  full_wait = UINT64_MAX;
  weir_log *log = must_open(directory, NULL);
  full_wait = 0;
  uint64_t number = 0;
  capture_more(log, define_numbered(log), &number, 2000);
  close_and_free(log);
  CHECK(file_named(directory, SEALED_SUFFIX, 3));
  return number;
}

static void unreadable_segment(const char *folder) {
  test("case 33: EIO reading a sealed segment");
  const char *directory = join(folder, "eio");
  uint64_t number = make_sealed(directory), read = 0, failures = 0;
  struct stat status;
  const char *bad = file_named(directory, SEALED_SUFFIX, 1);
  REQUIRE(stat(bad, &status) == 0);
  disk_calls.unreadable_from = 40000;
  disk_calls.unreadable = status.st_ino;
  weir_reader *reader;
  weir_error error;
  weir_event event;
  weir_status answer;
  REQUIRE(weir_reader_open(directory, NULL, &reader, NULL) == WEIR_OK);
  while ((answer = weir_reader_next(reader, &event, NULL, &error)) != WEIR_END && failures < 5) {
    if (answer == WEIR_OK) {
      found_event found;
      CHECK(take_numbered(&event, &found) && found.number == read);
      read++;
      continue;
    }
    /* It fails as long as the disk does, and passes nothing over. */
    failures++;
    CHECK_EQUAL(answer, WEIR_ERROR_IO);
    CHECK_EQUAL(error.system_error, EIO);
    CHECK(strcmp(error.path, bad) == 0 && strstr(error.message, "check the disk"));
    if (failures == 3) disk_calls_behave();
  }
  CHECK_EQUAL(answer, WEIR_END);
  CHECK_EQUAL(read, number);
  CHECK_EQUAL(failures, 3);
  weir_reader_close(reader);

  /* A check of the whole directory fails too, in place of calling the segment damaged; an opening has no need of it. */
  weir_verification verification;
  disk_calls.unreadable_from = 40000;
  disk_calls.unreadable = status.st_ino;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_ERROR_IO);
  weir_log *log = must_open(directory, NULL);
  capture_more(log, define_numbered(log), &number, 10);
  close_and_free(log);
  disk_calls_behave();
  judge_and_go_on(directory, number);
}

/* Cuts a segment that a reader is in the middle of. What it loses is told of to the last event; the rest is read. */
static void truncated_segment(const char *folder) {
  test("case 33: a segment truncated by someone else under a reader");
  const char *directory = join(folder, "cut");
  uint64_t lost = 0;
  for (uint64_t left = 0; left < 110000; left += 1 + random_below(20000)) {
    uint64_t number = make_sealed(directory), read = 0, missing = 0;
    const char *cut = file_named(directory, SEALED_SUFFIX, 1);
    uint64_t first = strtoull(strrchr(cut, '/') + 1, NULL, 10);
    uint64_t end = strtoull(strrchr(file_named(directory, SEALED_SUFFIX, 2), '/') + 1, NULL, 10);
    weir_reader *reader;
    weir_error error;
    weir_event event;
    weir_skip skip;
    weir_status answer;
    uint64_t when = first + random_below(300);
    REQUIRE(weir_reader_open(directory, NULL, &reader, NULL) == WEIR_OK);
    while ((answer = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || answer == WEIR_SKIPPED) {
      if (answer == WEIR_SKIPPED) missing += skip.count;
      if (answer == WEIR_SKIPPED) continue;
      found_event found;
      CHECK(take_numbered(&event, &found) && found.number == event.offset && event.offset == read + missing);
      CHECK(missing == 0 || event.offset >= end); /* nothing after the cut is lost */
      if (read++ == when) REQUIRE(truncate(cut, (off_t)left) == 0);
    }
    CHECK_EQUAL(answer, WEIR_END);
    CHECK_EQUAL(read + missing, number);
    CHECK(missing <= end - first); /* none, if the reader was past the cut by then */
    lost += missing;
    weir_reader_close(reader);
    remove_tree(directory);
  }
  CHECK(lost > 0);
}

/* ---- 34, 35: what calls may answer ------------------------------------------------------------------------------- */

static void without_fallocate(const char *folder) {
  test("case 34: fallocate is not supported: blocks come to be by being written");
  const char *directory = join(folder, "no-fallocate");
  disk_calls.allocate_error = EOPNOTSUPP;
  weir_fault_set("sys_allocate_more", 1, UINT64_MAX, EOPNOTSUPP); /* a bare call, which disk_calls does not see */
  uint64_t number = 0, refused;
  weir_log *log = must_open(directory, NULL);
  refused = capture_more(log, define_numbered(log), &number, 1500);
  struct stat status;
  REQUIRE(stat(join(directory, "ring"), &status) == 0);
  CHECK(status.st_blocks * 512 >= status.st_size); /* no hole in it that a full disk could not fill */
  REQUIRE(stat(file_named(directory, ACTIVE_SUFFIX, -1), &status) == 0);
  CHECK(status.st_blocks * 512 >= status.st_size);
  close_and_free(log);
  CHECK_EQUAL(judge_whole(directory, number), refused);
  judge_and_go_on(directory, number);
  disk_calls_behave();
  weir_fault_set("", 0, 0, 0);
  judge_and_go_on(directory, number + 100);

  test("case 34: a file system without fallocate (ext2), which fills up");
  const char *disk = join(folder, "ext2");
  if (!disk_ready(test_name) || !disk_make(join(folder, "image"), 32 << 20, "ext2", "", disk)) return;
  directory = join(disk, "log");
  log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  disk_leave_free(disk, 0); /* its ballast takes fallocate, so fill the rest by writing */
  disk_run("dd if=/dev/zero of='%s/fill' bs=4k; sync -f '%s'", disk, disk);
  number = 0;
  refused = capture_till_stalled(log, type, &number, WEIR_ERROR_NO_SPACE, ENOSPC, "ext2/log");
  disk_run("rm '%s/fill'", disk);
  disk_drop_ballast(disk);
  refused += capture_more(log, type, &number, 500);
  close_and_free(log);
  CHECK_EQUAL(judge_whole(directory, number), refused);
  disk_unmount(disk);
}

/* A life of a log and its recovery with every second call interrupted and transfers of a few bytes. */
static void interrupted_calls(const char *folder) {
  test("case 35: EINTR and short transfers everywhere");
  const char *directory = join(folder, "short");
  uint64_t number = 0;
  disk_calls.interrupt = 1;
  disk_calls.most = 1 + random_below(300);
  for (int life = 0; life < 3; life++) {
    fflush(stdout);
    int numbers[2];
    REQUIRE(pipe(numbers) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      checks_failed = 0;
      weir_log *log = must_open(directory, NULL);
      capture_more(log, define_numbered(log), &number, 700);
      CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
      capture_more(log, define_numbered(log), &number, 50);
      REQUIRE(write(numbers[1], &number, sizeof number) == sizeof number);
      if (checks_failed != 0) _exit(1);
      kill(getpid(), SIGKILL);
    }
    CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    close(numbers[1]);
    REQUIRE(read(numbers[0], &number, sizeof number) == sizeof number);
    close(numbers[0]);
    judge_whole(directory, number);
  }
  judge_and_go_on(directory, number);
  CHECK(disk_calls.interrupted > 100 && disk_calls.cut_short > 100);
  disk_calls_behave();
  judge_whole(directory, number + 100);
}

/* ---- 37: another page size --------------------------------------------------------------------------------------- */

/*
 * Every size and position in the files is a multiple of 4096 or of eight, whatever the machine's pages are; nothing is
 * mapped at another position than 0 of its file, and what is asked of single pages (populating) is a hint whose failure
 * costs a fault. So a log is right on 16 and 64 KiB pages if it is right with a ring and segments that end within
 * such a page, and written by one process and read by pread.
 */
static void odd_sizes(const char *folder) {
  test("case 37: files whose sizes are no multiple of 16 or 64 KiB pages");
  static const uint64_t segments[] = {139264, 135168 + 8, 150001, 262144 + 4096};
  for (uint32_t lanes = 2; lanes < 6; lanes++) {
    const char *directory = join(folder, "pages");
    weir_options options;
    weir_options_init(&options);
    options.lane_count = lanes;
    options.spare_lanes = 1;
    options.lane_bytes = 4096 << (lanes - 2);
    options.max_event_bytes = 1000;
    options.segment_bytes = segments[lanes - 2];
    uint64_t number = 0;
    for (int life = 0; life < 2; life++) {
      weir_log *log;
      weir_error error;
      if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) {
        fprintf(stderr, "%s\n", error.message);
        return;
      }
      capture_more(log, define_numbered(log), &number, 900);
      struct stat status;
      REQUIRE(stat(join(directory, "ring"), &status) == 0);
      CHECK(status.st_size % 4096 == 0 && status.st_size % 16384 != 0 && status.st_size % 65536 != 0);
      REQUIRE(stat(file_named(directory, ACTIVE_SUFFIX, -1), &status) == 0);
      CHECK_EQUAL(status.st_size, options.segment_bytes);
      close_and_free(log);
      judge_whole(directory, number);
    }
    remove_tree(directory);
  }
}

/* The least limit that an opening in the directory allows, by the word of its error. */
static uint64_t least_limit(const char *directory, weir_options *options) {
  weir_error error;
  weir_log *log;
  for (options->max_bytes = 1;;) {
    weir_status status = weir_open(directory, options, &log, NULL, &error);
    if (status == WEIR_OK) {
      close_and_free(log);
      return options->max_bytes;
    }
    const char *number = strstr(error.message, "at least ");
    if (!CHECK_EQUAL(status, WEIR_ERROR_INVALID) || !number) fprintf(stderr, "%s\n", error.message);
    REQUIRE(status == WEIR_ERROR_INVALID && number);
    options->max_bytes = strtoull(number + 9, NULL, 10);
  }
}

/* Captures, until so many are accepted or refused; answers how often the log was above its limit meanwhile. */
static uint64_t capture_in_bounds(weir_log *log, uint64_t limit, uint64_t *number, uint64_t count, uint64_t *refused) {
  uint32_t type = define_numbered(log);
  uint64_t above = 0;
  while (*number < count && *refused < count) {
    weir_stat stat;
    for (int i = 0; i < 20; i++) {
      int accepted = capture_numbered(log, type, 0, *number, 300, NULL) == WEIR_ACCEPTED;
      ++*(accepted ? number : refused);
    }
    CHECK_EQUAL(weir_stat_directory(weir_directory(log), &stat, NULL), WEIR_OK);
    above += stat.total_bytes > limit;
  }
  return above;
}

static void large_blocks(const char *folder) {
  test("case 37: files take blocks of 64 KiB (xfs): the byte limit counts what they take");
  const char *disk = join(folder, "xfs-64k"), *directory = join(disk, "log");
  if (!disk_ready(test_name) || !disk_needs("mkfs.xfs", test_name)) return;
  if (!disk_make(join(folder, "image"), UINT64_C(400) << 20, "xfs-64k", NULL, disk)) return;
  for (int drops = 0; drops < 2; drops++) {
    weir_options options;
    weir_options_init(&options);
    options.lane_count = 2;
    options.spare_lanes = 1;
    options.lane_bytes = 8192;
    options.max_event_bytes = 1024;
    options.segment_bytes = 147456; /* two blocks and a quarter */
    options.batch_threads = 1;
    options.limit_policy = drops ? WEIR_LIMIT_DROP_OLDEST : WEIR_LIMIT_REFUSE;
    options.full_wait_ns = UINT64_C(20000000000);
    uint64_t limit = least_limit(directory, &options), number = 0, refused = 0;
    CHECK(limit > 4 * 65536 + 3 * 147456);
    weir_log *log;
    weir_error error;
    REQUIRE(weir_open(directory, &options, &log, NULL, &error) == WEIR_OK);
    CHECK_EQUAL(capture_in_bounds(log, limit, &number, 4000, &refused), 0);
    CHECK(drops ? refused == 0 : refused > 0);
    /* At a limit that refuses, the last events stay in the ring: room for their recovery was kept. */
    weir_status closed = weir_close(log, &error);
    CHECK(closed == WEIR_OK || (!drops && closed == WEIR_ERROR_NO_SPACE));
    weir_free(log);
    if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
    weir_close(log, NULL);
    weir_free(log);
    weir_stat stat;
    CHECK_EQUAL(weir_stat_directory(directory, &stat, NULL), WEIR_OK);
    CHECK(stat.total_bytes <= limit);
    CHECK_EQUAL(stat.events + stat.removed, number);
    CHECK_EQUAL(stat.removed > 0, drops);
    remove_tree(directory);
  }
  disk_unmount(disk);
}

/* ---- 38: a slow disk --------------------------------------------------------------------------------------------- */

/*
 * Every call that waits for the disk takes a quarter of a second. A capture makes none of them: it is accepted or
 * refused at once, which the kernel's count of times that the thread went to sleep shows without a clock.
 */
static void slow_disk(const char *folder) {
  test("case 38: a slow disk: captures do not wait for it, refusals are counted");
  const char *memory = join(folder, "memory"); /* where the pages themselves never wait for a disk */
  int in_memory = disk_ready(test_name) && disk_tmpfs(memory, 64 << 20);
  const char *directory = join(in_memory ? memory : folder, "slow");
  weir_log *log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  uint64_t number = 0, refused = 0, slowest = 0;
  refused = capture_more(log, type, &number, 100);
  disk_calls.pause_ns = 250000000;
  struct rusage before, after;
  REQUIRE(getrusage(RUSAGE_THREAD, &before) == 0);
  /* On a busy machine the log's own threads may have had no turn by then. */
  for (uint64_t i = 0; i < 100000000; i++) {
    if (i >= 400000 && number > 300 && refused > 0 && disk_calls.paused > 0) break;
    uint64_t start = now_ns();
    int32_t answer = capture_numbered(log, type, 0, number, FILLER, NULL);
    uint64_t took = now_ns() - start;
    if (took > slowest) slowest = took;
    if (answer == WEIR_ACCEPTED) number++;
    else refused++;
  }
  REQUIRE(getrusage(RUSAGE_THREAD, &after) == 0);
  CHECK_EQUAL(after.ru_nvcsw - before.ru_nvcsw, 0);
  CHECK(refused > 0 && number > 300);
  weir_error error;
  CHECK_EQUAL(weir_sync(log, 1000000, NULL, &error), WEIR_ERROR_TIMEOUT);
  CHECK(disk_calls.paused > 0);
  disk_calls_behave();
  refused += capture_more(log, type, &number, 100);
  close_and_free(log);
  printf("a slow disk: %" PRIu64 " accepted, %" PRIu64 " refused, the slowest capture took %" PRIu64 " us\n", number,
         refused, slowest / 1000);
  CHECK_EQUAL(judge_whole(directory, number), refused);
  judge_and_go_on(directory, number);
  disk_unmount(memory);
}

/* ---- 38: a disk that stands still -------------------------------------------------------------------------------- */

/* A process that thaws a file system when this one ends, however it does, or after some minutes. */
typedef struct thawer {
  pid_t process;
  int line; /* closed: it is to thaw */
} thawer;

enum { THAWED_IN_TIME = 0, THAWED_BY_LIMIT = 1, PATIENCE_MS = 180000 };

static thawer thawer_start(int mount) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  fflush(stdout);
  pid_t process = fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    setsid(); /* what kills the group of the test does not reach it */
    close(ends[1]);
    struct pollfd line = {.fd = ends[0], .events = POLLIN};
    int waited = poll(&line, 1, PATIENCE_MS);
    ioctl(mount, FITHAW, 0);
    _exit(waited == 0 ? THAWED_BY_LIMIT : THAWED_IN_TIME);
  }
  close(ends[0]);
  return (thawer){process, ends[1]};
}

static int thawer_end(const thawer *thawer) {
  close(thawer->line);
  return wait_for(thawer->process);
}

/*
 * Snapshots and backup agents freeze a file system for as long as they take. A store to one of its pages waits for that;
 * captures make none where the ring lies elsewhere.
 */
static void frozen(const char *folder) {
  test("case 38: captures with the ring on tmpfs go on while the log's file system is frozen");
  enum { EVENTS = 500 };
  const char *mounted = join(folder, "ext4"), *memory = join(folder, "ring"), *directory = join(mounted, "log");
  if (!disk_ready(test_name) || !disk_needs("mkfs.ext4", test_name)) return;
  if (!disk_make(join(folder, "image"), 32 << 20, "ext4", NULL, mounted)) return;
  REQUIRE(disk_tmpfs(memory, 16 << 20));
  struct stat outside, inside;
  REQUIRE(stat(folder, &outside) == 0 && stat(mounted, &inside) == 0);
  REQUIRE(outside.st_dev != inside.st_dev); /* nothing is frozen but the mount of its own */
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 1 << 19; /* all events, because the drainer stands still */
  options.segment_bytes = 1 << 20;
  options.ring_directory = memory;
  weir_log *log = NULL;
  weir_error error = {0};
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  CHECK_EQUAL(capture_more(log, type, &number, EVENTS), 0);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_OK);
  int mount = open(mounted, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(mount >= 0);
  thawer thawer = thawer_start(mount);
  if (CHECK_EQUAL(ioctl(mount, FIFREEZE, 0), 0)) CHECK_EQUAL(capture_more(log, type, &number, EVENTS), 0);
  /* All of them were accepted before: it was not the limit that let them go on. */
  CHECK_EQUAL(thawer_end(&thawer), THAWED_IN_TIME);
  close(mount);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_OK);
  close_and_free(log);
  judge_whole(directory, number);
  disk_unmount(mounted);
  disk_unmount(memory);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("disk_cases");
  char *folder = scratch();
  unreadable_segment(folder);
  truncated_segment(folder);
  without_fallocate(folder);
  interrupted_calls(folder);
  odd_sizes(folder);
  large_blocks(folder);
  slow_disk(folder);
  frozen(folder);
  scratch_remove(folder);
  return finish();
}
