/*
 * guard_test.c: the live ring, or the segment that is being written, is truncated by somebody else while threads
 * capture. Without a guard the process ends by SIGBUS; with one it lives, the log says what happened, refuses captures,
 * and claims nothing; and either way the next opening has whatever the files still had.
 *
 * Runs without the sanitizers, whose own handler of SIGBUS comes first.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sys/mman.h>

#include "drainer.h"
#include "format/format.h"

/* Each thread captures so many before the file is cut, together less than a segment; and then until it is refused. */
enum { THREADS = 2, EVENTS = 2000 };

/* What the child says. */
typedef struct testimony {
  _Atomic uint64_t accepted[THREADS];
  _Atomic uint64_t drained; /* offsets below it were in the log before the file was cut */
  _Atomic int refused; /* threads that were refused events for want of storage */
  _Atomic int cut;
} testimony;

static testimony *told;
static weir_log *live;
static uint32_t live_type;
static int threadless; /* the log has no threads: whoever captures drains, and touches what was cut off */

static void *capture_thread(void *context) {
  uintptr_t thread = (uintptr_t)context;
  for (int32_t answer = WEIR_ACCEPTED; answer != WEIR_DROP_STORAGE;) {
    if (told->accepted[thread] >= EVENTS && !told->cut) {
      sleep_ns(100000);
      continue;
    }
    answer = capture_numbered(live, live_type, thread, told->accepted[thread], 100, NULL);
    if (answer == WEIR_ACCEPTED) told->accepted[thread]++;
    if (threadless && answer == WEIR_DROP_FULL) weir_drain(live, UINT64_MAX, NULL, NULL);
    if (told->accepted[thread] % 64 == 0) sleep_ns(50000);
  }
  told->refused++;
  return NULL;
}

static const char *active_segment(const char *directory) {
  static char path[8192];
  char command[8192];
  snprintf(command, sizeof command, "ls '%s' | grep active | tail -1", directory);
  FILE *output = popen(command, "r");
  char name[300] = "";
  REQUIRE(output && fscanf(output, "%299s", name) == 1);
  pclose(output);
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static void check_stopped(weir_status status, const weir_error *error) {
  CHECK_EQUAL(status, WEIR_ERROR_IO);
  /* With each cause that there may be, and what to do about it. */
  int told = strstr(error->message, "SIGBUS") && strstr(error->message, "cut short") &&
             strstr(error->message, "--reflink=never");
  if (!CHECK(told)) fprintf(stderr, "%s\n", error->message);
}

static _Atomic uint64_t calls; /* for refusals */

static void on_refusals(void *unused) {
  (void)unused;
  calls++;
}

/* Also once the drainer has told of every refusal so far. */
static void check_told(void) {
  for (int i = 0; i < 2; i++) weir_drain(live, UINT64_MAX, NULL, NULL);
  uint64_t before = calls;
  CHECK_EQUAL(capture_numbered(live, live_type, 9, 0, 10, NULL), WEIR_DROP_STORAGE);
  if (threadless) weir_drain(live, UINT64_MAX, NULL, NULL);
  CHECK(AWAIT(calls > before));
}

/* With the guard: everything says that the log is stopped. */
static void check_refusing(void) {
  weir_error error;
  weir_counters counters;
  weir_id id = {0};
  weir_id first = {weir_opening(live), 0};
  uint64_t durable = weir_durable_offset(live);
  CHECK_EQUAL(capture_numbered(live, live_type, 9, 0, 10, &id), WEIR_DROP_STORAGE);
  CHECK_EQUAL(told->refused, THREADS);
  check_told();
  check_stopped(weir_drain(live, UINT64_MAX, NULL, &error), &error);
  check_stopped(weir_sync(live, UINT64_MAX, NULL, &error), &error);
  weir_status status = weir_durable(live, first, UINT64_MAX, &error);
  CHECK(status == WEIR_OK || status == WEIR_ERROR_IO || status == WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_durable_offset(live), durable);
  const weir_field field = {"late", WEIR_KIND_U8, 0};
  const weir_definition definition = {.name = "late", .fields = &field, .field_count = 1};
  uint32_t type;
  check_stopped(weir_define(live, 0, &definition, 1, &type, &error), &error);
  weir_count(live, &counters);
  CHECK_EQUAL(counters.storage, WEIR_ERROR_IO);
  check_stopped(weir_close(live, &error), &error);
  weir_free(live);
}

static weir_log *open_live(const char *directory) {
  if (!threadless) return open_default(directory, NULL);
  weir_options options;
  weir_options_init(&options);
  options.threadless = 1;
  weir_log *log = NULL;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, NULL), WEIR_OK);
  return log;
}

static void child(const char *directory, const char *ring_not_segment, uint64_t length, int guarded) {
  uint64_t failed_before = checks_failed;
  if (guarded) weir_guard_install();
  if (guarded) weir_guard_install(); /* again: nothing */
  live = open_live(directory);
  if (!live) _exit(3);
  live_type = define_numbered(live);
  weir_on_refused(live, on_refusals, NULL);
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, capture_thread, (void *)i) == 0);
  REQUIRE(AWAIT(told->accepted[0] >= 500 && told->accepted[1] >= 500));
  const char *path = ring_not_segment ? join(directory, ring_not_segment) : active_segment(directory);
  uint64_t drained;
  REQUIRE(weir_drain(live, UINT64_MAX, &drained, NULL) == WEIR_OK);
  told->drained = drained;
  REQUIRE(truncate(path, (off_t)length) == 0);
  told->cut = 1;
  /* Without a guard nobody gets further: they capture until the drainer, or they themselves, touch what was cut off. */
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  if (!guarded) _exit(5);
  check_refusing();
  _exit(checks_failed > failed_before);
}

/* The next opening has what was drained in files that were not cut, and nothing that nobody captured. */
static void check_reopened(const char *directory, int segment_is_whole) {
  weir_recovery recovery;
  weir_log *log = open_default(directory, &recovery);
  if (!log) return;
  CHECK_EQUAL(capture_numbered(log, define_numbered(log), 7, 0, 10, NULL), WEIR_ACCEPTED);
  close_and_free(log);
  found_log found = read_log(directory);
  CHECK_EQUAL(found.end, WEIR_END);
  CHECK_EQUAL(found.wrong, 0);
  uint64_t count[THREADS] = {0}, disorder = 0, beyond = 0, below = 0;
  for (uint64_t i = 0; i < found.count; i++) {
    if (found.events[i].producer >= THREADS) continue;
    uint64_t thread = found.events[i].producer;
    disorder += found.events[i].number < count[thread];
    count[thread] = found.events[i].number + 1;
    beyond += found.events[i].number > told->accepted[thread]; /* the one in flight may be there */
    below += found.events[i].offset < told->drained;
  }
  CHECK_EQUAL(disorder + beyond, 0);
  /* A lane that was full for a moment has left a notice, which has an offset too. */
  if (segment_is_whole) CHECK(below <= told->drained && below + found.notices >= told->drained);
  found_free(&found);
}

static void cut(const char *name, const char *file, uint64_t length, int guarded) {
  static char text[200];
  snprintf(text, sizeof text, "%s truncated to %" PRIu64 " bytes, %s a guard%s", name, length,
           guarded ? "with" : "without", threadless ? ", without threads" : "");
  test(text);
  memset((void *)told, 0, sizeof *told);
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pid_t victim = fork();
  REQUIRE(victim >= 0);
  if (victim == 0) child(directory, file, length, guarded);
  int status = wait_for(victim);
  CHECK_EQUAL(status, guarded ? 0 : 1000 + SIGBUS);
  check_reopened(directory, file != NULL);
  scratch_remove(folder);
}

static void test_remaining_pages(void) {
  test("of a ring that was cut, the lanes that are left are recovered");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pid_t victim = fork();
  REQUIRE(victim >= 0);
  if (victim == 0) {
    weir_options options;
    weir_options_init(&options);
    options.drain_interval_ns = 10000000000; /* its most, so that the drainer naps long enough to be held */
    weir_log *log;
    REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
    uint32_t type = define_numbered(log);
    hold_drainer(log); /* so that a kill finds the events in the lane */
    for (uint64_t i = 0; i < 100; i++) capture_numbered(log, type, 0, i, 50, NULL);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(victim), 1000 + SIGKILL);
  REQUIRE(truncate(join(directory, "ring"), 1 << 20) == 0); /* the first lane's records, not the types at the end */
  weir_recovery recovery;
  weir_log *log = open_default(directory, &recovery);
  CHECK_EQUAL(recovery.events_from_lanes, 100);
  CHECK_EQUAL(recovery.ring_replaced, 1);
  if (log) close_and_free(log);
  scratch_remove(folder);
}

/* ---- Signals that are not ours ----------------------------------------------------------------------------------- */

static _Atomic int host_saw;
static void host_handler(int signal) {
  (void)signal;
  host_saw++;
  _exit(42);
}

/* Touches a page that lies past the end of a file of the host's own. */
static void touch_own_page(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  REQUIRE(fd >= 0);
  volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(page != MAP_FAILED);
  *page = 1;
}

static void test_others(void) {
  test("a SIGBUS that is none of a log's goes where it went before");
  char *folder = scratch();
  for (int kind = 0; kind < 4; kind++) {
    pid_t victim = fork();
    REQUIRE(victim >= 0);
    if (victim == 0) {
      if (kind % 2 == 1) signal(SIGBUS, host_handler);
      weir_guard_install();
      weir_log *log = open_default(join(folder, kind < 2 ? "a" : "b"), NULL);
      REQUIRE(log);
      if (kind < 2) touch_own_page(join(folder, "own"));
      else raise(SIGBUS);
      _exit(1);
    }
    CHECK_EQUAL(wait_for(victim), kind % 2 == 1 ? 42 : 1000 + SIGBUS);
  }
  scratch_remove(folder);
}

int main(void) {
  random_start("guard_test");
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(told != MAP_FAILED);
  for (int way = 0; way < 4; way++) {
    int guarded = way % 2;
    threadless = way / 2;
    cut("case 36: the live ring", "ring", 0, guarded);
    cut("case 36: the live ring", "ring", 4096, guarded);
    cut("case 36: the live ring", "ring", 3 << 20, guarded);
    cut("case 36: the segment being written", NULL, 0, guarded);
    cut("case 36: the segment being written", NULL, 8192, guarded);
  }
  threadless = 0;
  test_remaining_pages();
  test_others();
  return finish();
}
