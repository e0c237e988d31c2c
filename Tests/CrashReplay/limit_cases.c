/*
 * limit_cases.c: FAULTS case 31: quotas, limits of the process, a file system that becomes read-only, no memory to map
 * files with. The error says which, what is accepted is kept, and events are accepted again once the limit is lifted.
 */
#include "disk_log.h"

#include <sys/resource.h>

#include "disk.h"
#include "disk_calls.h"
#include "system/system.h"

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
      uint64_t number = 0;
      weir_status status = open_log(directory, &log, NULL, &error);
      if (status == WEIR_OK) {
        capture_till_stalled(log, define_numbered(log), &number, WEIR_ERROR_NO_SPACE, EDQUOT, "raise the quota");
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

/* The same by the calls' answers alone, for kernels without quotas. */
static void quota_answers(const char *folder) {
  test("case 31: EDQUOT, as a call answers it");
  const char *directory = join(folder, "edquot");
  weir_log *log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  disk_calls.allocate_error = EDQUOT;
  uint64_t refused = capture_till_stalled(log, type, &number, WEIR_ERROR_NO_SPACE, EDQUOT, "raise the quota");
  weir_log *other;
  weir_error error;
  CHECK_EQUAL(open_log(join(folder, "edquot2"), &other, NULL, &error), WEIR_ERROR_NO_SPACE);
  check_message(&error, "edquot2");
  disk_calls_behave();
  refused += capture_more(log, type, &number, 500);
  close_and_free(log);
  CHECK_EQUAL(judge_whole(directory, number), refused);
  judge_and_go_on(directory, number);
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
  CHECK(failures > 1 && number > 0);
  judge_and_go_on(directory, number);

  test("case 31: EMFILE, RLIMIT_NOFILE while events come in");
  directory = join(folder, "nofile2");
  weir_log *log = must_open(directory, NULL);
  uint32_t type = define_numbered(log);
  struct rlimit none = {0, before.rlim_max};
  number = 0;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  uint64_t refused = capture_till_stalled(log, type, &number, WEIR_ERROR_MEMORY, EMFILE, "nofile2");
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
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
  struct rlimit before, few = {65536, RLIM_INFINITY};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  few.rlim_max = before.rlim_max;
  uint64_t number = 0;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &few) == 0);
  uint64_t refused = capture_till_stalled(log, type, &number, WEIR_ERROR_NO_SPACE, EFBIG, "file size limit");
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
  weir_error error;
  capture_till_stalled(log, type, &number, WEIR_ERROR_ACCESS, EROFS, "read-only/log");
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
  uint64_t number = 0;
  uint32_t type = define_numbered(log);
  weir_fault_set("sys_map", 1, UINT64_MAX, ENOMEM);
  uint64_t refused = capture_till_stalled(log, type, &number, WEIR_ERROR_MEMORY, ENOMEM, "raise the limits");
  weir_fault_set("", 0, 0, 0);
  refused += capture_more(log, type, &number, 500);
  close_and_free(log);
  CHECK_EQUAL(judge_whole(directory, number), refused);
#else
  (void)folder;
#endif
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("limit_cases");
  char *folder = scratch();
  descriptors_run_out(folder);
  other_limits(folder);
  mappings_run_out(folder);
  quota_answers(folder);
  if (disk_ready("case 31, quotas and a read-only disk")) {
    quota(folder);
    read_only(folder);
  }
  scratch_remove(folder);
  return finish();
}
