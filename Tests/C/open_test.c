/*
 * open_test.c: opening and closing a log through weir.h: every refusal with its status and one line of advice,
 * nothing changed by a refused opening, offsets that run on from opening to opening, and what an idle log costs.
 */
#include "capture_check.h"
#include "drainer.h"

#include <signal.h>
#include <sys/syscall.h>

#include "system/system.h"

/* Opens `directory`, which must fail with `status`; the message must be a line, and name the path. */
static void check_refused(const char *directory, const weir_options *options, weir_status status) {
  weir_log *log = NULL;
  weir_error error;
  memset(&error, 0x55, sizeof error);
  weir_status answer = weir_open(directory, options, &log, NULL, &error);
  CHECK_EQUAL(answer, status);
  if (answer == WEIR_OK) {
    weir_free(log);
    return;
  }
  CHECK_EQUAL(error.status, answer);
  CHECK(memchr(error.message, 0, sizeof error.message) != NULL && memchr(error.path, 0, sizeof error.path) != NULL);
  CHECK(strlen(error.message) > 20 && strchr(error.message, '\n') == NULL);
  CHECK(strlen(weir_status_name(answer)) > 0);
  if (getenv("WEIR_VERBOSE")) fprintf(stderr, "  %s\n", error.message);
  CHECK_EQUAL(weir_open(directory, options, &log, NULL, NULL), status); /* `error` may be null */
}

static weir_options defaults(void) {
  weir_options options;
  weir_options_init(&options);
  return options;
}

static void write_file(const char *path, const void *bytes, size_t count, off_t at) {
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(pwrite(fd, bytes, count, at) == (ssize_t)count);
  close(fd);
}

/* A closed log with `events` events. */
static void make_log(const char *directory, uint64_t events) {
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < events; i++) CHECK_EQUAL(capture_numbered(log, type, 0, i, 10, NULL), WEIR_ACCEPTED);
  close_and_free(log);
}

/* What a sandbox answers for a call that it denies. */
static void denied_calls(void) {
  test("a call that a sandbox denies: the error names it as a cause");
  static const int errors[] = {EPERM, ENOSYS};
  for (int i = 0; i < 2; i++) {
    char *folder = scratch();
    weir_log *log;
    weir_error error;
    weir_fault_set("sys_allocate", 1, 1, errors[i]);
    CHECK(weir_open(join(folder, "log"), NULL, &log, NULL, &error) != WEIR_OK);
    weir_fault_set(NULL, 0, 0, 0);
    CHECK_EQUAL(error.system_error, errors[i]);
    if (!CHECK(strstr(error.message, "seccomp"))) fprintf(stderr, "%s\n", error.message);
    scratch_remove(folder);
  }
}

static void relative_path(void) {
  test("a log that was opened by a relative path is found by weir_directory from another working directory");
  char *folder = scratch(), before[4096];
  REQUIRE(getcwd(before, sizeof before) && chdir(folder) == 0);
  weir_log *log = open_default("log", NULL);
  REQUIRE(log && chdir("/") == 0);
  CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, 0, 10, NULL), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  found_log found = read_log(weir_directory(log));
  CHECK_EQUAL(found.count, 1);
  found_free(&found);
  close_and_free(log);
  REQUIRE(chdir(before) == 0);
  scratch_remove(folder);
}

static void wrong_directories(void) {
  test("case 50: a path that is no directory of ours is refused");
  char *folder = scratch();
  weir_options options = defaults();

  write_file(join(folder, "file"), "text", 4, 0);
  check_refused(join(folder, "file"), &options, WEIR_ERROR_DIRECTORY);

  make_log(join(folder, "log"), 3);
  REQUIRE(symlink("log", join(folder, "link")) == 0);
  check_refused(join(folder, "link"), &options, WEIR_ERROR_DIRECTORY);

  check_refused(join(folder, "no/parent"), &options, WEIR_ERROR_MISSING);
  check_refused("", &options, WEIR_ERROR_INVALID);
  options.create = 0;
  check_refused(join(folder, "absent"), &options, WEIR_ERROR_MISSING);
  CHECK(access(join(folder, "absent"), F_OK) != 0);
  options.create = 1;

  REQUIRE(mkdir(join(folder, "open"), 0700) == 0 && chmod(join(folder, "open"), 0777) == 0);
  uint64_t before = tree_checksum(folder);
  check_refused(join(folder, "open"), &options, WEIR_ERROR_UNSAFE);
  CHECK_EQUAL(tree_checksum(folder), before);

  if (geteuid() == 0) {
    printf("skipped: a directory without permission, root has every one\n");
  } else {
    REQUIRE(mkdir(join(folder, "closed"), 0500) == 0);
    check_refused(join(folder, "closed"), &options, WEIR_ERROR_ACCESS);
  }
  scratch_remove(folder);
}

static void wrong_files(void) {
  test("case 50: a link or a foreign kind of file in place of the ring or a segment is refused");
  static const char *const names[] = {"ring", "00000000000000000000.weir", "lock"};
  for (int i = 0; i < 3; i++) {
    for (int kind = 0; kind < 2; kind++) {
      char *folder = scratch();
      const char *directory = join(folder, "log");
      make_log(directory, 3);
      const char *path = join(directory, names[i]), *elsewhere = join(folder, "elsewhere");
      REQUIRE(rename(path, elsewhere) == 0);
      REQUIRE(kind ? mkdir(path, 0700) == 0 : symlink(elsewhere, path) == 0);
      uint64_t before = tree_checksum(folder);
      weir_options options = defaults();
      check_refused(directory, &options, WEIR_ERROR_UNSAFE);
      CHECK_EQUAL(tree_checksum(folder), before);
      scratch_remove(folder);
    }
  }
}

static void newer_versions(void) {
  test("case 44: a ring or segment of a newer version is refused, and nothing changes on disk");
  static const char *const names[] = {"ring", "00000000000000000000.weir"};
  for (int i = 0; i < 2; i++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    make_log(directory, 3);
    const uint16_t major = 2;
    write_file(join(directory, names[i]), &major, 2, 8);
    uint64_t before = tree_checksum(folder);
    weir_options options = defaults();
    check_refused(directory, &options, WEIR_ERROR_VERSION);
    CHECK_EQUAL(tree_checksum(folder), before);
    scratch_remove(folder);
  }
}

static void lost_rings(void) {
  test("a ring that is gone, cut or garbage is replaced, reported, and no offset is given twice");
  for (int fault = 0; fault < 3; fault++) {
    char *folder = scratch();
    const char *directory = join(folder, "log"), *ring = join(directory, "ring");
    make_log(directory, 5);
    if (fault == 0) REQUIRE(unlink(ring) == 0);
    if (fault == 1) REQUIRE(truncate(ring, 100) == 0);
    if (fault == 2) write_file(ring, "garbage garbage garbage garbage ", 32, 0);
    weir_recovery recovery;
    weir_log *log = open_default(directory, &recovery);
    if (log) {
      CHECK_EQUAL(recovery.ring_replaced, 1);
      CHECK(recovery.first_offset >= 5);
      CHECK_EQUAL(capture_numbered(log, define_numbered(log), 1, 0, 10, NULL), WEIR_ACCEPTED);
      close_and_free(log);
      found_log found = read_log(directory);
      check_sound(&found);
      CHECK_EQUAL(found.count, 6);
      found_free(&found);
    }
    scratch_remove(folder);
  }
}

/*
 * A process in the making, which has every descriptor of this one and with them the lock. By the bare system call, as
 * posix_spawn makes them: what closes descriptors in a fork does not run there.
 */
static pid_t start_holding(uint64_t ns) {
  pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child != 0) return child;
  struct timespec time = {.tv_nsec = (long)ns};
  syscall(SYS_nanosleep, &time, NULL);
  syscall(SYS_exit_group, 0);
  return 0;
}

static void locked_for_a_moment(void) {
  test("an opening right after a close waits for a process that is just being started to let go of the lock");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_fault_set("sys_lock", 1, 20, EAGAIN);
  weir_log *third = open_default(directory, NULL);
  weir_fault_set("", 0, 0, 0);
  REQUIRE(third);
  close_and_free(third);
  weir_status status = WEIR_ERROR_LOCKED;
  /* On a busy machine it may live on for longer than it is waited for. */
  for (uint64_t until = now_ns() + HANG_NS; status == WEIR_ERROR_LOCKED && now_ns() < until;) {
    weir_log *log = open_default(directory, NULL), *second = NULL;
    REQUIRE(log);
    pid_t child = start_holding(30000000);
    REQUIRE(child > 0);
    close_and_free(log);
    status = weir_open(directory, NULL, &second, NULL, NULL);
    if (status == WEIR_OK) close_and_free(second);
    CHECK_EQUAL(wait_for(child), 0);
  }
  CHECK_EQUAL(status, WEIR_OK);
  scratch_remove(folder);
}

static void locked(void) {
  test("case 19: a second writer is refused, in this process and in another, until the first closes");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = defaults();
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  check_refused(directory, &options, WEIR_ERROR_LOCKED);

  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *second = NULL;
    _exit(weir_open(directory, &options, &second, NULL, NULL) == WEIR_ERROR_LOCKED ? 0 : 1);
  }
  CHECK_EQUAL(wait_for(child), 0);
  CHECK_EQUAL(capture_numbered(log, define_numbered(log), 1, 0, 10, NULL), WEIR_ACCEPTED);

  weir_error error;
  CHECK_EQUAL(weir_close(log, &error), WEIR_OK);
  weir_log *second = open_default(directory, NULL); /* the first handle is closed, not yet freed */
  CHECK_EQUAL(weir_close(log, &error), WEIR_OK);    /* again: nothing happens, to the new one neither */
  if (second) {
    CHECK_EQUAL(capture_numbered(second, define_numbered(second), 1, 1, 10, NULL), WEIR_ACCEPTED);
    close_and_free(second);
  }
  weir_free(log);
  weir_free(NULL);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 1), 2);
  found_free(&found);
  scratch_remove(folder);
}

typedef struct bad_option {
  size_t at;
  size_t size;
  uint64_t value;
} bad_option;

#define OPTION(member, value) {offsetof(weir_options, member), sizeof(((weir_options *)0)->member), value}

static void options_out_of_range(void) {
  test("an option out of range is refused before anything is made");
  static const bad_option bad[] = {
      OPTION(struct_bytes, 0),        OPTION(struct_bytes, 4096),         OPTION(lane_count, 0),
      OPTION(lane_count, 1),          OPTION(lane_count, WEIR_MAX_LANES + 1), OPTION(spare_lanes, 0),
      OPTION(spare_lanes, 16),        OPTION(clock, 9),                   OPTION(lane_bytes, 0),
      OPTION(lane_bytes, 1000000),    OPTION(lane_bytes, 65536),          OPTION(lane_bytes, UINT64_C(1) << 63),
      OPTION(segment_bytes, 0),       OPTION(segment_bytes, UINT64_C(1) << 40), OPTION(max_event_bytes, 63),
      OPTION(max_event_bytes, (1 << 20) + 1), OPTION(drain_interval_ns, 0), OPTION(drain_interval_ns, UINT64_MAX),
  };
  char *folder = scratch();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    weir_options options = defaults();
    memcpy((char *)&options + bad[i].at, &bad[i].value, bad[i].size);
    check_refused(join(folder, "log"), &options, WEIR_ERROR_INVALID);
    CHECK(access(join(folder, "log"), F_OK) != 0);
    remove_tree(join(folder, "log"));
  }
  scratch_remove(folder);
}

static void reopening(void) {
  test("fifty openings: offsets run on, ids differ, everything is there");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint64_t number = 0, next_offset = 0, openings[50];
  for (int i = 0; i < 50; i++) {
    weir_recovery recovery;
    weir_log *log = open_default(directory, &recovery);
    if (!log) break;
    CHECK_EQUAL(recovery.was_clean, 1);
    CHECK_EQUAL(recovery.first_offset, next_offset);
    CHECK_EQUAL(recovery.events_from_lanes + recovery.torn_bytes + recovery.damaged_blocks, 0);
    CHECK_EQUAL(recovery.missing_events, 0);
    CHECK_EQUAL(recovery.opening, weir_opening(log));
    CHECK_EQUAL(recovery.previous_opening, i ? openings[i - 1] : 0);
    CHECK(strcmp(weir_directory(log), directory) == 0);
    openings[i] = recovery.opening;
    uint32_t type = define_numbered(log);
    uint64_t count = random_below(40);
    for (uint64_t n = 0; n < count; n++) {
      CHECK_EQUAL(capture_numbered(log, type, 0, number++, random_below(100), NULL), WEIR_ACCEPTED);
    }
    weir_error error;
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, &next_offset, &error), WEIR_OK);
    weir_counters counters;
    weir_count(log, &counters);
    CHECK_EQUAL(counters.accepted, count);
    CHECK_EQUAL(counters.drained, count);
    CHECK_EQUAL(counters.next_offset, next_offset);
    close_and_free(log);
  }
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), number);
  CHECK(found.count == 0 || found.events[found.count - 1].offset + 1 == number);
  found_free(&found);
  scratch_remove(folder);
}

static void idle(void) {
  test("an idle log: at most 32 MiB on disk, and hardly a wake-up");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  CHECK(tree_bytes(directory) <= UINT64_C(32) << 20);
  for (int captured = 0; captured < 2; captured++) {
    weir_counters before, after;
    CHECK_AWAIT(drainer_sleeps(log) && preparer_rests(log));
    weir_count(log, &before);
    sleep_ns(1000000000);
    weir_count(log, &after);
    CHECK(after.wakeups - before.wakeups < 5);
    if (captured) break;
    CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, 0, 10, NULL), WEIR_ACCEPTED);
    CHECK_AWAIT((weir_count(log, &after), after.drained == 1)); /* nobody asked for it: the capture woke the drainer */
  }
  close_and_free(log);
  scratch_remove(folder);
}

/* A service that runs without standard streams, and prints all the same. Answers a bit for each thing that is wrong. */
static int print_beside_a_log(const char *directory) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) close(fd);
  int wrong = 0;
  weir_log *log = NULL;
  if (weir_open(directory, NULL, &log, NULL, NULL) != WEIR_OK) return 1;
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 100; i++) {
    if (capture_numbered(log, type, 0, i, 10, NULL) != WEIR_ACCEPTED) wrong |= 2;
    if (i % 10 == 0 && weir_sync(log, UINT64_MAX, NULL, NULL) != WEIR_OK) wrong |= 4;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
      if (write(fd, "words of the host program\n", 26) >= 0) wrong |= 8;
    }
  }
  if (weir_close(log, NULL) != WEIR_OK) wrong |= 16;
  weir_free(log);
  return wrong;
}

static void without_standard_streams(void) {
  test("what a process without standard streams prints does not reach the log");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(print_beside_a_log(directory));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK_EQUAL(WEXITSTATUS(status), 0);
  weir_verification verification;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, NULL), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  CHECK_EQUAL(verification.events, 100);
  scratch_remove(folder);
}

static void foreign_segment(void) {
  test("case 50: a foreign file with a segment's name is moved away, and does not keep the log from being written");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  REQUIRE(mkdir(directory, 0700) == 0);
  const char *names[] = {"00000000000000000000.weir", "00000000000000000007.weir"};
  for (int i = 0; i < 2; i++) {
    FILE *file = fopen(join(directory, names[i]), "w");
    REQUIRE(file && fputs("hello", file) >= 0 && fclose(file) == 0);
  }
  for (int round = 0; round < 2; round++) {
    weir_recovery recovery;
    weir_error error = {0};
    weir_log *log;
    REQUIRE(weir_open(directory, NULL, &log, &recovery, &error) == WEIR_OK);
    CHECK_EQUAL(recovery.damaged_blocks, round == 0 ? 2 : 0);
    CHECK_EQUAL(weir_capture(log, WEIR_TYPE_DYNAMIC, "\1\0\0\0a\0\0\0\0", 9, NULL), WEIR_ACCEPTED);
    CHECK_EQUAL(weir_close(log, &error), WEIR_OK);
    weir_free(log);
  }
  weir_verification verification;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, NULL), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  CHECK_EQUAL(verification.events, 2);
  scratch_remove(folder);
}

static void id_of_a_failed_opening(void) {
  test("where an opening failed before there was a ring, the next one syncs the log's id before there is one");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log;
  weir_error error;
  weir_fault_set("sys_sync_data", 1, 1, EIO); /* of the ring's file */
  CHECK_EQUAL(weir_open(directory, NULL, &log, NULL, &error), WEIR_ERROR_IO);
  weir_fault_set("sys_sync_data", 2, 1, EIO); /* what comes after it */
  CHECK_EQUAL(weir_open(directory, NULL, &log, NULL, &error), WEIR_ERROR_IO);
  if (!CHECK(strstr(error.message, "sync") && strstr(error.path, "/lock"))) fprintf(stderr, "%s\n", error.message);
  CHECK(access(join(directory, "ring"), F_OK) != 0);
  weir_fault_set(NULL, 0, 0, 0);
  scratch_remove(folder);
}

int main(void) {
  random_start("open_test");
  id_of_a_failed_opening();
  relative_path();
  denied_calls();
  wrong_directories();
  without_standard_streams();
  wrong_files();
  foreign_segment();
  newer_versions();
  lost_rings();
  locked();
  locked_for_a_moment();
  options_out_of_range();
  reopening();
  idle();
  return finish();
}
