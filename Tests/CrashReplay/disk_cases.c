/*
 * disk_cases.c: disks that misbehave, and people who do things to a log's files while it is open: FAULTS cases 31 and 33
 * to 38, and what 51 says of the disk. Where a real disk can be made to do it (quotas, file systems without fallocate,
 * read-only ones), it is; otherwise the C library's calls are replaced: disk_calls.h.
 */
#include "capture_check.h"

#include <dirent.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "disk.h"
#include "disk_calls.h"
#include "format.h"
#include "system.h"

enum { SEGMENT_BYTES = 139264, FILLER = 300 }; /* 34 pages; some 400 events of this size */

static uint64_t full_wait; /* of the logs opened next: 0 refuses at once */

static weir_status open_log(const char *directory, weir_log **log, weir_recovery *recovery, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  options.lane_bytes = 32768;
  options.max_event_bytes = 1024;
  options.segment_bytes = SEGMENT_BYTES;
  options.full_wait_ns = full_wait;
  memset(error, 0, sizeof *error);
  return weir_open(directory, &options, log, recovery, error);
}

static weir_log *must_open(const char *directory, weir_recovery *recovery) {
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(open_log(directory, &log, recovery, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

/* Captures until so many more are accepted, refusals counted; gives up after twenty seconds. */
static uint64_t capture_more(weir_log *log, uint32_t type, uint64_t *number, uint64_t count) {
  uint64_t refused = 0, most = *number + count, end = now_ns() + UINT64_C(20000000000);
  while (*number < most && now_ns() < end) {
    if (capture_numbered(log, type, 0, *number, FILLER, NULL) == WEIR_ACCEPTED) {
      ++*number;
    } else {
      refused++;
      sleep_ns(50000);
    }
  }
  CHECK_EQUAL(*number, most);
  return refused;
}

static void check_message(const weir_error *error, const char *about) {
  if (!CHECK(strstr(error->message, about) && strchr(error->message, ';'))) fprintf(stderr, "%s\n", error->message);
}

/* The whole log: every number below `number`, once, in order. Answers the refusals that it counts. */
static uint64_t judge_whole(const char *directory, uint64_t number) {
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), number);
  uint64_t gaps = found.gaps;
  found_free(&found);
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  return gaps;
}

/* Opened again without a fault, the log has everything and goes on. */
static void judge_and_go_on(const char *directory, uint64_t number) {
  judge_whole(directory, number);
  for (int i = 0; i < 2; i++) {
    weir_log *log = must_open(directory, NULL);
    capture_more(log, define_numbered(log), &number, 50);
    close_and_free(log);
    judge_whole(directory, number);
  }
}

/* The n-th file whose name ends like this, in the order of names, or (-1) the last; null if there are not so many. */
static const char *file_named(const char *directory, const char *end, int nth) {
  struct dirent **names;
  const char *found = NULL;
  int last = nth < 0;
  int count = scandir(directory, &names, NULL, alphasort);
  REQUIRE(count >= 0);
  for (int i = 0; i < count; i++) {
    size_t length = strlen(names[i]->d_name), ending = strlen(end);
    if (length >= ending && strcmp(names[i]->d_name + length - ending, end) == 0 && (last || nth-- == 0)) {
      found = join(directory, names[i]->d_name);
    }
    free(names[i]);
  }
  free(names);
  return found;
}

/* ---- 31: limits -------------------------------------------------------------------------------------------------- */

static const char *quota_disk(const char *folder) {
  const char *disk = join(folder, "quota");
  if (!disk_needs("setquota", "case 31, EDQUOT from the kernel")) return NULL;
  if (!disk_make(join(folder, "image"), 64 << 20, "ext4", "usrquota,grpquota", disk)) return NULL;
  if (disk_run("quotacheck -cum '%s' && quotaon -u '%s' && chmod 777 '%s'", disk, disk,
               disk) == 0) {
    return disk;
  }
  printf("SKIPPED: case 31, EDQUOT from the kernel, because quotas can't be switched on\n");
  disk_unmount(disk);
  return NULL;
}

enum { NOBODY = 65534 };

/* A user's quota runs out while events come in, then is raised. Root has none, so a child does it as somebody else. */
static void quota(const char *folder) {
  test("case 31: EDQUOT while events come in, and while opening");
  const char *disk = quota_disk(folder);
  if (!disk) return;
  const char *directory = join(disk, "log");
  for (uint64_t kilobytes = 200; kilobytes <= 1400; kilobytes += 300) {
    disk_run("setquota -u %d %d %d 0 0 '%s'", NOBODY, (int)kilobytes, (int)kilobytes, disk);
    int raised[2], full[2];
    REQUIRE(pipe(raised) == 0 && pipe(full) == 0);
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      checks_failed = 0;
      REQUIRE(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
      weir_log *log;
      weir_error error;
      char byte = 0;
      uint64_t number = 0, end = now_ns() + UINT64_C(10000000000);
      weir_status status = open_log(directory, &log, NULL, &error);
      if (status == WEIR_OK) {
        weir_counters counters = {0};
        uint32_t type = define_numbered(log);
        while (number < 6000 && counters.storage == WEIR_OK && now_ns() < end) {
          if (capture_numbered(log, type, 0, number, FILLER, NULL) == WEIR_ACCEPTED) number++;
          weir_count(log, &counters);
        }
        CHECK_EQUAL(counters.storage, WEIR_ERROR_NO_SPACE);
        status = weir_drain(log, UINT64_MAX, NULL, &error);
      }
      CHECK_EQUAL(status, WEIR_ERROR_NO_SPACE);
      CHECK_EQUAL(error.system_error, EDQUOT);
      CHECK(strstr(error.message, "raise the quota"));
      REQUIRE(write(full[1], &byte, 1) == 1 && read(raised[0], &byte, 1) == 1);
      if (number == 0) log = must_open(directory, NULL);
      capture_more(log, define_numbered(log), &number, 100);
      close_and_free(log);
      judge_and_go_on(directory, number);
      _exit(checks_failed != 0);
    }
    char byte;
    close(full[1]); /* so that a child that dies ends the wait */
    if (read(full[0], &byte, 1) == 1) {
      disk_run("setquota -u %d 0 0 0 0 '%s'", NOBODY, disk);
      REQUIRE(write(raised[1], "", 1) == 1);
    }
    CHECK_EQUAL(wait_for(child), 0);
    close(full[0]), close(raised[0]), close(raised[1]);
    remove_tree(directory);
  }
  disk_run("quotaoff '%s'", disk);
  disk_unmount(disk);
}

/* Without descriptors: each opening fails and says so, or works; with them again it works. */
static void descriptors_run_out(const char *folder) {
  test("case 31: EMFILE, RLIMIT_NOFILE while opening");
  const char *directory = join(folder, "nofile");
  struct rlimit before;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  uint64_t failures = 0, number = 0;
  for (rlim_t most = 3; most < 24; most++) {
    struct rlimit few = {most, before.rlim_max};
    weir_log *log;
    weir_error error;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    weir_status status = open_log(directory, &log, NULL, &error);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    if (status != WEIR_OK) {
      failures++;
      CHECK_EQUAL(status, WEIR_ERROR_MEMORY);
      CHECK_EQUAL(error.system_error, EMFILE);
      check_message(&error, "nofile");
    } else {
      capture_more(log, define_numbered(log), &number, 10);
      close_and_free(log);
    }
  }
  fprintf(stderr,"failures %lu number %lu\n",failures,number);CHECK(failures > 3 && number > 0);
  judge_and_go_on(directory, number);

  test("case 31: EMFILE, RLIMIT_NOFILE while events come in");
  directory = join(folder, "nofile2");
  weir_log *log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  weir_counters counters = {0};
  struct rlimit none = {0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  uint64_t refused = 0, end = now_ns() + UINT64_C(10000000000);
  for (number = 0; counters.storage == WEIR_OK && now_ns() < end; weir_count(log, &counters)) {
    if (capture_numbered(log, type, 0, number, FILLER, NULL) == WEIR_ACCEPTED) number++;
    else refused++;
  }
  weir_error error;
  CHECK_EQUAL(counters.storage, WEIR_ERROR_MEMORY);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_ERROR_MEMORY);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  check_message(&error, "nofile2");
  refused += capture_more(log, type, &number, 500);
  close_and_free(log);
  CHECK_EQUAL(judge_whole(directory, number), refused);
  judge_and_go_on(directory, number);
}

/* A limit on file sizes that sets in while the log is open; and one on locked memory, of which none is taken. */
static void other_limits(const char *folder) {
  test("case 31: RLIMIT_FSIZE while events come in");
  const char *directory = join(folder, "fsize");
  weir_log *log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  weir_counters counters = {0};
  struct rlimit before, few = {65536, RLIM_INFINITY};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  few.rlim_max = before.rlim_max;
  uint64_t number = 0, refused = 0, end = now_ns() + UINT64_C(10000000000);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &few) == 0);
  for (; counters.storage == WEIR_OK && now_ns() < end; weir_count(log, &counters)) {
    if (capture_numbered(log, type, 0, number, FILLER, NULL) == WEIR_ACCEPTED) number++;
    else refused++;
  }
  weir_error error;
  CHECK_EQUAL(counters.storage, WEIR_ERROR_NO_SPACE);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_ERROR_NO_SPACE);
  CHECK_EQUAL(error.system_error, EFBIG);
  CHECK(strstr(error.message, "file size limit"));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  refused += capture_more(log, type, &number, 500);
  close_and_free(log);
  CHECK_EQUAL(judge_whole(directory, number), refused);

  test("case 31: RLIMIT_MEMLOCK of nothing, as a user without privileges");
  directory = join(folder, "memlock");
  REQUIRE(mkdir(directory, 0777) == 0 && chown(directory, geteuid() == 0 ? NOBODY : geteuid(), (gid_t)-1) == 0);
  REQUIRE(chmod(folder, 0711) == 0);
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0;
    struct rlimit none = {0, 0};
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &none) == 0 && (geteuid() != 0 || setuid(NOBODY) == 0));
    number = 0;
    log = must_open(join(directory, "log"), NULL);
    capture_more(log, define_numbered(log), &number, 1000);
    close_and_free(log);
    judge_and_go_on(join(directory, "log"), number);
    _exit(checks_failed != 0);
  }
  CHECK_EQUAL(wait_for(child), 0);
}

/* The file system's owner takes the right to write away while events come in. */
static void read_only(const char *folder) {
  test("case 31: a file system that becomes read-only while events come in");
  const char *disk = join(folder, "read-only"), *directory = join(disk, "log");
  if (!disk_make(join(folder, "image"), 64 << 20, "ext4", "errors=remount-ro", disk)) return;
  weir_log *log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  capture_more(log, type, &number, 100);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  /* What the kernel does itself when it finds the file system damaged: the mount stays, writes are refused. */
  if (disk_run("echo test >/sys/fs/ext4/$(basename $(findmnt -no SOURCE '%s'))/trigger_fs_error", disk) != 0) {
    printf("SKIPPED: %s, because the kernel can't be told to find an error\n", test_name);
    close_and_free(log);
    disk_unmount(disk);
    return;
  }
  weir_counters counters = {0};
  uint64_t end = now_ns() + UINT64_C(10000000000);
  while (counters.storage == WEIR_OK && now_ns() < end) {
    if (capture_numbered(log, type, 0, number, FILLER, NULL) == WEIR_ACCEPTED) number++;
    weir_count(log, &counters);
  }
  weir_error error;
  CHECK_EQUAL(counters.storage, WEIR_ERROR_ACCESS);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_ERROR_ACCESS);
  CHECK_EQUAL(error.system_error, EROFS);
  check_message(&error, "read-only/log");
  CHECK(weir_close(log, &error) != WEIR_OK);
  weir_free(log);
  CHECK_EQUAL(open_log(directory, &log, NULL, &error), WEIR_ERROR_ACCESS); /* and reading goes on: */
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), number);
  found_free(&found);
  disk_unmount(disk);
}

/* mmap without memory: an opening says so; a log that is open goes on once there is some. */
static void mappings_run_out(const char *folder) {
  test("case 31: ENOMEM at mmap");
#ifdef WEIR_FAULT_INJECTION
  const char *directory = join(folder, "mmap");
  weir_log *log;
  weir_error error;
  for (uint64_t nth = 1;; nth++) {
    weir_fault_set("sys_map", nth, 1, ENOMEM);
    weir_status status = open_log(directory, &log, NULL, &error);
    weir_fault_set("", 0, 0, 0);
    if (status == WEIR_OK) break;
    CHECK_EQUAL(status, WEIR_ERROR_MEMORY);
    check_message(&error, "mmap");
  }
  uint64_t number = 0, refused = 0, end = now_ns() + UINT64_C(10000000000);
  uint32_t type = define_numbered(log);
  weir_counters counters = {0};
  weir_fault_set("sys_map", 1, UINT64_MAX, ENOMEM);
  for (; counters.storage == WEIR_OK && now_ns() < end; weir_count(log, &counters)) {
    if (capture_numbered(log, type, 0, number, FILLER, NULL) == WEIR_ACCEPTED) number++;
    else refused++;
  }
  CHECK_EQUAL(counters.storage, WEIR_ERROR_MEMORY);
  weir_fault_set("", 0, 0, 0);
  refused += capture_more(log, type, &number, 500);
  close_and_free(log);
  CHECK_EQUAL(judge_whole(directory, number), refused);
#else
  (void)folder;
#endif
}

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
    if(!CHECK(missing > 0 && missing <= end - first)) fprintf(stderr,"left %lu when %lu missing %lu first %lu end %lu\n",left,when,missing,first,end);
    weir_reader_close(reader);
    remove_tree(directory);
  }
}

/* ---- 34, 35: what calls may answer ------------------------------------------------------------------------------- */

static void without_fallocate(const char *folder) {
  test("case 34: fallocate is not supported: blocks come to be by being written");
  const char *directory = join(folder, "no-fallocate");
  disk_calls.allocate_error = EOPNOTSUPP;
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
  judge_and_go_on(directory, number + 100);

  test("case 34: a file system without fallocate (ext2), which fills up");
  const char *disk = join(folder, "ext2");
  if (!disk_ready(test_name) || !disk_make(join(folder, "image"), 32 << 20, "ext2", "", disk)) return;
  directory = join(disk, "log");
  log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  disk_leave_free(disk, 0); /* its ballast takes fallocate, so fill the rest by writing */
  disk_run("dd if=/dev/zero of='%s/fill' bs=4k; sync -f '%s'", disk, disk);
  weir_counters counters = {0};
  uint64_t end = now_ns() + UINT64_C(10000000000);
  number = refused = 0;
  for (; counters.storage == WEIR_OK && now_ns() < end; weir_count(log, &counters)) {
    if (capture_numbered(log, type, 0, number, FILLER, NULL) == WEIR_ACCEPTED) number++;
    else refused++;
  }
  CHECK_EQUAL(counters.storage, WEIR_ERROR_NO_SPACE);
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
 * Every size and position in the files is multiple of 4096 or eight, whatever the machine's pages are; nothing is mapped
 * at another position than 0 of its file, and what is asked of single pages (populating) is a hint whose failure costs
 * a fault. So a log is right on 16 and 64 KiB pages if it is right with a ring and segments that end inside of such a
 * page, and written by one process and read by pread.
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

/* ---- 38: a slow disk --------------------------------------------------------------------------------------------- */

/*
 * Every call that waits for the disk takes a quarter of a second. A capture makes none of them: it is accepted or
 * refused at once, which the kernel's count of times that the thread went to sleep shows without a clock.
 */
static void slow_disk(const char *folder) {
  test("case 38: a slow disk: captures do not wait for it, refusals are counted");
  const char *memory = join(folder, "memory"); /* where the pages themselves never wait for a disk */
  const char *directory = disk_ready(test_name) && disk_tmpfs(memory, 64 << 20) ? join(memory, "log") : join(folder, "slow");
  weir_log *log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  uint64_t number = 0, refused = 0, slowest = 0;
  refused = capture_more(log, type, &number, 100);
  disk_calls.pause_ns = 250000000;
  struct rusage before, after;
  REQUIRE(getrusage(RUSAGE_THREAD, &before) == 0);
  for (uint64_t i = 0; i < 400000; i++) {
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

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("disk_cases");
  char *folder = scratch();
  descriptors_run_out(folder);
  other_limits(folder);
  mappings_run_out(folder);
  unreadable_segment(folder);
  truncated_segment(folder);
  without_fallocate(folder);
  interrupted_calls(folder);
  odd_sizes(folder);
  slow_disk(folder);
  if (disk_ready("case 31, quotas and a read-only disk")) {
    quota(folder);
    read_only(folder);
  }
  scratch_remove(folder);
  return finish();
}
