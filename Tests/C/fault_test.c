/*
 * fault_test.c: system calls that fail. Whatever fails, and whenever: the process lives, an error is one line that says
 * what to do, no descriptor stays open, and the next opening without a fault has everything that was accepted, under
 * the offsets that a reader had seen before it.
 */
#include "capture_check.h"

#include <dirent.h>
#include <sys/resource.h>

#include "system.h"

static uint64_t descriptors(void) {
  uint64_t count = 0;
  DIR *stream = opendir("/proc/self/fd");
  REQUIRE(stream);
  while (readdir(stream)) count++;
  closedir(stream);
  return count;
}

/* Small segments, so that a few hundred events roll several times. */
static weir_status open_rolling(const char *directory, weir_log **log, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.lane_bytes = 16384;
  options.max_event_bytes = 2048;
  options.segment_bytes = 1 << 18;
  memset(error, 0, sizeof *error);
  *log = NULL;
  return weir_open(directory, &options, log, NULL, error);
}

static void check_message(weir_status status, const weir_error *error) {
  if (status == WEIR_OK) return;
  CHECK_EQUAL(error->status, status);
  CHECK(strlen(error->message) > 20);
}

/* Captures until so many are accepted, or for a moment on a log that cannot grow. Answers the next number. */
static uint64_t capture_some(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  uint64_t number = from, end = now_ns() + 50000000;
  while (number < from + count && now_ns() < end) {
    if (capture_numbered(log, type, 0, number, 400, NULL) == WEIR_ACCEPTED) number++;
    else sleep_ns(20000);
  }
  return number;
}

static uint64_t use(weir_log *log, uint64_t number, int fault_at_close, const char *operation, uint64_t nth,
                    int error) {
  weir_error problem;
  uint32_t type = define_numbered(log);
  number = capture_some(log, type, number, 1000);
  check_message(weir_sync(log, 20000000, NULL, &problem), &problem);
  number = capture_some(log, type, number, 1000);
  if (fault_at_close) weir_fault_set(operation, nth, 1, error);
  check_message(weir_close(log, &problem), &problem);
  weir_free(log);
  return number;
}

static void check_all_there(const char *directory, const found_log *before, uint64_t number) {
  weir_log *log;
  weir_error error;
  if (!CHECK_EQUAL(open_rolling(directory, &log, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  close_and_free(log);
  found_log after = read_log(directory);
  check_sound(&after);
  CHECK_EQUAL(check_producer(&after, 0), number);
  uint64_t moved = 0;
  for (uint64_t i = 0; i < before->count && i < after.count; i++) {
    moved += before->events[i].offset != after.events[i].offset;
    moved += compare_ids(&before->events[i].id, &after.events[i].id) != 0;
  }
  CHECK_EQUAL(moved, 0);
  CHECK(after.count >= before->count);
  weir_verification verification;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  found_free(&after);
}

typedef enum phase { IN_OPENING, IN_USE, IN_CLOSE, PHASES } phase;

/* One log, dead with events in its lanes; the n-th call of an operation fails once. Answers whether there was one. */
static int one_fault(const char *operation, uint64_t nth, phase phase, int error) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log;
  weir_error problem;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (open_rolling(directory, &log, &problem) == WEIR_OK) capture_some(log, define_numbered(log), 0, 300);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  found_log before = read_log(directory);
  uint64_t number = before.count, open_before = descriptors();
  if (phase == IN_OPENING) weir_fault_set(operation, nth, 1, error);
  weir_status status = open_rolling(directory, &log, &problem);
  check_message(status, &problem);
  if (phase == IN_USE) weir_fault_set(operation, nth, 1, error);
  if (status == WEIR_OK) number = use(log, number, phase == IN_CLOSE, operation, nth, error);
  uint64_t seen = weir_fault_count();
  weir_fault_set("", 0, 0, 0);
  CHECK_EQUAL(descriptors(), open_before);
  check_all_there(directory, &before, number);
  found_free(&before);
  scratch_remove(folder);
  return seen >= nth;
}

static void each_fault(const char *operation, uint64_t limit) {
  static const int errors[] = {EIO, ENOSPC, EMFILE};
  static char name[100];
  for (int phase = 0; phase < PHASES; phase++) {
    for (uint64_t nth = 1; nth <= limit; nth++) {
      snprintf(name, sizeof name, "%s %" PRIu64 " fails in phase %d", operation, nth, phase);
      test(name);
      if (!one_fault(operation, nth, (enum phase)phase, errors[nth % 3])) break;
    }
  }
}

/* The kernel answers a file that grows past the limit by a signal, which would end the host. */
static void file_size_limit(void) {
  test("a limit on file sizes is an error, not a signal");
  for (uint64_t limit = 1 << 12; limit <= UINT64_C(1) << 22; limit <<= 2) {
    char *folder = scratch();
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      struct rlimit size = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &size);
      weir_log *log;
      weir_error error;
      weir_status status = weir_open(join(folder, "log"), NULL, &log, NULL, &error);
      _exit(status == WEIR_ERROR_NO_SPACE ? 0 : 1);
    }
    CHECK_EQUAL(wait_for(child), 0);
    scratch_remove(folder);
  }
}

/* EMFILE in a sync says nothing about the disk: the next sync may succeed. EIO does: no later one may. */
static void failed_syncs(void) {
  test("a sync that failed for want of a descriptor may succeed later, one that the disk failed may not");
  for (int disk = 0; disk < 2; disk++) {
    char *folder = scratch();
    weir_log *log;
    weir_error error;
    REQUIRE(open_rolling(join(folder, "log"), &log, &error) == WEIR_OK);
    CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, 0, 8, NULL), WEIR_ACCEPTED);
    weir_fault_set(disk ? "sys_sync_data" : "sys_duplicate", 1, 1, disk ? EIO : EMFILE);
    CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), disk ? WEIR_ERROR_IO : WEIR_ERROR_MEMORY);
    weir_fault_set("", 0, 0, 0);
    CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), disk ? WEIR_ERROR_IO : WEIR_OK);
    CHECK_EQUAL(weir_close(log, &error), disk ? WEIR_ERROR_IO : WEIR_OK);
    weir_free(log);
    scratch_remove(folder);
  }
}

int main(void) {
  random_start("fault_test");
  file_size_limit();
  failed_syncs();
  static const char *const retiring[] = {"sys_truncate", "sys_sync_data", "sys_rename_new", "sys_sync_directory"};
  for (int i = 0; i < 4; i++) each_fault(retiring[i], 12);
  each_fault("any", 60);
  return finish();
}
