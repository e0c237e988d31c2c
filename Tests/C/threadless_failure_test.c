/*
 * threadless_failure_test.c: logs without threads on a disk that fails: whoever works is told, nothing is lost, and the
 * log goes on once the disk is mended. And SIGKILL before each call of the system, in the opening, the use and the
 * close: what was accepted is there, under its id.
 */
#include "threadless_check.h"

#include "weir_failing.h"

static void failed_sync(void) {
  test("case 32: a sync that failed is told of, its file is copied, and later waits succeed");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  weir_error error;
  for (uint64_t i = 0; i < 3; i++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, i, 10, NULL), WEIR_ACCEPTED);
    int rule = weir_fail_begin(path, WEIR_FAIL_SYNC, 0, 1, EIO);
    CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_ERROR_IO);
    CHECK_EQUAL(weir_fail_count(rule), 1);
    weir_fail_end(rule);
    CHECK_EQUAL(weir_durable_offset(log), i);
    CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_OK);
    CHECK_EQUAL(weir_durable_offset(log), i + 1);
  }
  CHECK_EQUAL(counters_of(log).lost, 0);
  close_and_free(log);
  check_log(path, 3);
  scratch_remove(path);
}

static void no_sync_for_long(void) {
  test("a disk that syncs nothing stops the log after a few segments; once it is mended the log goes on");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  weir_error error;
  int rule = weir_fail_begin(path, WEIR_FAIL_SYNC, 0, UINT64_MAX, EIO);
  uint64_t number = use_up(log, type, 0, WEIR_ERROR_IO, &error);
  CHECK_EQUAL(sealer_waiting(&((event_log *)log)->sealer), LEAST_WAITING_SEGMENTS);
  weir_fail_end(rule);
  CHECK_AWAIT(weir_drain(log, UINT64_MAX, NULL, &error) == WEIR_OK); /* the copies are tried twice a second */
  CHECK_EQUAL(counters_of(log).lost, 0);
  close_and_free(log);
  check_log(path, number);
  scratch_remove(path);
}

static void nothing_removed(void) {
  test("once a name may not be on the disk, no segment is removed to make room");
  char *path = scratch();
  weir_options options = threadless_options();
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + 3 * SEGMENT;
  weir_log *log = open_with(path, &options, NULL);
  uint32_t type = define_numbered(log);
  weir_error error;
  uint64_t number = fill(log, type, 0, FILLER, WEIR_DROP_FULL);
  weir_fault_set("sys_sync_directory", 1, 1, EIO);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_ERROR_IO);
  weir_fault_set("", 0, 0, 0);
  number = use_up(log, type, number, WEIR_ERROR_IO, &error);
  CHECK_EQUAL(counters_of(log).displaced, 0);
  CHECK_EQUAL(weir_close(log, &error), WEIR_ERROR_IO);
  weir_free(log);
  log = open_with(path, &options, NULL);
  close_and_free(log);
  check_conserved(path, number, 0);
  scratch_remove(path);
}

static void full_disk(void) {
  test("case 30: a full disk is an error of the drain; nothing is lost, and a later drain succeeds");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  weir_error error;
  int rule = weir_fail_begin(path, WEIR_FAIL_GROW, 0, UINT64_MAX, ENOSPC);
  number = use_up(log, type, number, WEIR_ERROR_NO_SPACE, &error);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_ERROR_NO_SPACE);
  weir_fail_end(rule);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_OK); /* at once: it does not take the old answer */
  CHECK_EQUAL(capture_numbered(log, type, 0, number++, FILLER, NULL), WEIR_ACCEPTED);
  rule = weir_fail_begin(path, WEIR_FAIL_GROW, 0, UINT64_MAX, ENOSPC);
  number = fill(log, type, number, FILLER, WEIR_DROP_FULL);
  weir_fail_end(rule);
  close_and_free(log);
  check_log(path, number);
  scratch_remove(path);
}

/* What is done to a log, by a process that is killed in it, or while calls of it fail. */
typedef struct testimony {
  _Atomic uint64_t accepted;
  _Atomic int ended;
  weir_id ids[4096];
} testimony;
static testimony *told;

enum { VICTIM_EVENTS = 900 };

/* Answers an error that came up, if any. */
static weir_status use(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  weir_status first = WEIR_OK;
  for (uint64_t end = from + count, tries = 0; told->accepted < end && tries < 2 * count; tries++) {
    weir_status status = WEIR_OK;
    weir_id id;
    uint64_t number = told->accepted;
    int32_t answer = capture_numbered(log, type, 0, number, number % 5 ? FILLER : 3, &id);
    if (answer == WEIR_ACCEPTED) {
      told->ids[number] = id;
      told->accepted = number + 1;
    }
    if (answer != WEIR_ACCEPTED || number % 7 == 0) status = weir_drain(log, UINT64_MAX, NULL, NULL);
    if (number % 97 == 0) status = weir_sync(log, UINT64_MAX, NULL, NULL);
    if (first == WEIR_OK) first = status;
  }
  return first;
}

/* With or without threads: either recovers what the other left. */
static weir_status open_either(const char *directory, int threadless, weir_log **log) {
  weir_options options = threadless_options();
  options.threadless = (uint32_t)threadless;
  options.retain_bytes = 0;
  return weir_open(directory, &options, log, NULL, NULL);
}

static void victim(const char *directory, uint64_t nth) {
  weir_log *log;
  weir_fault_set("any", nth, 1, WEIR_FAULT_KILL);
  if (open_either(directory, 1, &log) != WEIR_OK) _exit(2);
  if (use(log, define_numbered(log), 0, VICTIM_EVENTS) != WEIR_OK) _exit(3);
  if (weir_close(log, NULL) != WEIR_OK) _exit(4);
  told->ended = 1;
  _exit(0);
}

/* What is there is what was acknowledged, under its id, and at most the one event in flight. */
static found_log judge(const char *directory) {
  found_log found = read_log(directory);
  check_sound(&found);
  uint64_t there = check_producer(&found, 0), moved = 0;
  CHECK(there >= told->accepted && there <= told->accepted + 1);
  for (uint64_t i = 0; i < found.count && i < told->accepted; i++) {
    moved += compare_ids(&found.events[i].id, &told->ids[i]) != 0;
  }
  CHECK_EQUAL(moved, 0);
  return found;
}

static void kills(void) {
  uint64_t nth = 1, kills = 0;
  static char name[100];
  for (int ended = 0; !ended && checks_failed == 0; nth++) {
    snprintf(name, sizeof name, "killed before call %" PRIu64 " of the system", nth);
    test(name);
    char *folder = scratch();
    const char *directory = join(folder, "log");
    memset((void *)told, 0, offsetof(testimony, ids));
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) victim(directory, nth);
    int status = wait_for(child);
    CHECK(status == 1000 + SIGKILL || (status == 0 && told->ended));
    ended = told->ended;
    kills += !ended;
    if (access(join(directory, "ring"), F_OK) == 0) {
      found_log before = judge(directory);
      weir_log *log;
      if (CHECK_EQUAL(open_either(directory, nth % 2, &log), WEIR_OK)) close_and_free(log);
      found_log after = judge(directory);
      CHECK_EQUAL(before.count, after.count);
      for (uint64_t i = 0; i < before.count && i < after.count; i++) {
        if (!CHECK_EQUAL(before.events[i].offset, after.events[i].offset)) break;
      }
      found_free(&before);
      found_free(&after);
    }
    scratch_remove(folder);
  }
  printf("%" PRIu64 " kills, the last of them before call %" PRIu64 "\n", kills, nth - 1);
}

/* The n-th call fails, once or from then on: errors are told, nothing hangs, nothing is lost. */
static void faults(int closing) {
  static const int errors[] = {ENOSPC, EIO, ENOMEM, EMFILE, EINTR};
  static char name[100];
  uint64_t nth = 1, told_of = 0;
  for (int happened = 1; happened && checks_failed == 0; nth++) {
    int lasts = (int)random_below(2), error = errors[random_below(5)];
    snprintf(name, sizeof name, "call %" PRIu64 "%s fails with %s%s", nth, lasts ? " and later ones" : "",
             strerror(error), closing ? ", a close included" : "");
    test(name);
    char *folder = scratch();
    const char *directory = join(folder, "log");
    weir_log *log;
    memset((void *)told, 0, offsetof(testimony, ids));
    REQUIRE(open_either(directory, 1, &log) == WEIR_OK);
    uint32_t type = define_numbered(log);
    use(log, type, 0, 200);
    weir_fault_set("any", nth, lasts ? UINT64_MAX : 1, error);
    told_of += use(log, type, 200, VICTIM_EVENTS) != WEIR_OK;
    if (closing) weir_close(log, NULL);
    happened = weir_fault_count() >= nth;
    weir_fault_set("", 0, 0, 0);
    if (!closing) {
      weir_error problem;
      uint64_t before = told->accepted;
      if (!CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &problem), WEIR_OK)) fprintf(stderr, "%s\n", problem.message);
      use(log, type, before, 1);
      CHECK_EQUAL(told->accepted, before + 1);
    }
    weir_close(log, NULL);
    weir_free(log);
    if (CHECK_EQUAL(open_either(directory, (int)random_below(2), &log), WEIR_OK)) close_and_free(log);
    found_log found = judge(directory);
    found_free(&found);
    scratch_remove(folder);
  }
  printf("%" PRIu64 " calls failed, of which callers were told %" PRIu64 " times\n", nth - 1, told_of);
}

int main(void) {
  random_start("threadless_failure_test");
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(told != MAP_FAILED);
  failed_sync();
  no_sync_for_long();
  nothing_removed();
  full_disk();
  kills();
  faults(0);
  faults(1);
  return finish();
}
