/*
 * threadless_test.c: logs without threads: none is started, the callers do all the work, one at a time, and what a log
 * with threads promises holds: order, full lanes, bounds, waits for the disk, forks. threadless_failure_test.c has the
 * disks that fail, and the kills.
 */
#include "threadless_check.h"

#include <dirent.h>
#include <pthread.h>

static uint64_t threads_of_process(void) {
  uint64_t count = 0;
  DIR *tasks = opendir("/proc/self/task");
  REQUIRE(tasks);
  for (struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* ---- What is there ----------------------------------------------------------------------------------------------- */

static void no_threads(void) {
  test("no thread is started, by the opening or by any later call");
  char *path = scratch();
  uint64_t before = threads_of_process();
  weir_log *log = open_small(path, 0, 4, NULL);
  CHECK(threads_of_process() > before); /* so the count can tell */
  close_and_free(log);
  CHECK_EQUAL(threads_of_process(), before);
  log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  CHECK_EQUAL(threads_of_process(), before);
  for (uint64_t i = 0; i < 1000; i++) CHECK_EQUAL(capture_or_drain(log, type, 0, i, FILLER, NULL), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK(counters_of(log).segments > 3);
  CHECK_EQUAL(threads_of_process(), before);
  close_and_free(log);
  check_log(path, 1000);
  scratch_remove(path);
}

static void in_the_lane_until_drained(void) {
  test("an event is in its lane until somebody drains; then readers see it; after a sync the disk has it");
  char *path = scratch();
  weir_recovery recovery;
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  weir_id id;
  uint64_t next;
  for (uint64_t i = 0; i < 5; i++) CHECK_EQUAL(capture_numbered(log, type, 0, i, 10, &id), WEIR_ACCEPTED);
  sleep_ns(5000000);
  CHECK_EQUAL(counters_of(log).drained, 0);
  CHECK_EQUAL(weir_drain(log, 0, &next, NULL), WEIR_OK); /* nobody else works: no time is needed */
  CHECK_EQUAL(next, 5);
  check_log(path, 5);
  CHECK_EQUAL(weir_durable_offset(log), 0);
  CHECK_EQUAL(weir_sync(log, 0, &next, NULL), WEIR_OK);
  CHECK_EQUAL(next, 5);
  CHECK_EQUAL(weir_durable_offset(log), 5);
  CHECK_EQUAL(capture_numbered(log, type, 0, 5, 10, &id), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_OK);
  CHECK_EQUAL(weir_durable_offset(log), 6);
  CHECK_EQUAL(capture_numbered(log, type, 0, 6, 10, &id), WEIR_ACCEPTED);
  close_and_free(log);
  CHECK_EQUAL(stat_of(path).lane_events, 0);
  log = open_threadless(path, &recovery);
  CHECK_EQUAL(recovery.was_clean, 1);
  CHECK_EQUAL(recovery.first_offset, 7);
  close_and_free(log);
  check_log(path, 7);
  scratch_remove(path);
}

static void wrong_combinations(void) {
  test("options that need a thread are refused, with what to do instead");
  char *path = scratch();
  const struct {
    size_t at;
    uint64_t value;
    uint64_t bytes;
    const char *says, *remedy;
  } wrong[] = {
      {offsetof(weir_options, full_wait_ns), 1, 8, "full_wait_ns", "weir_drain"},
      {offsetof(weir_options, full_wait_ns), UINT64_MAX, 8, "full_wait_ns", "weir_drain"},
      {offsetof(weir_options, sync_interval_ns), 1000000, 8, "sync_interval_ns", "weir_sync"},
      {offsetof(weir_options, batch_threads), 1, 4, "batch_threads", "weir_batch_directory"},
      {offsetof(weir_options, clock), WEIR_CLOCK_TICK, 4, "clock", "another clock"},
      {offsetof(weir_options, threadless), 2, 4, "threadless", "0 to 1"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    weir_options options = threadless_options();
    memcpy((char *)&options + wrong[i].at, &wrong[i].value, wrong[i].bytes);
    weir_log *log;
    weir_error error;
    CHECK_EQUAL(weir_open(path, &options, &log, NULL, &error), WEIR_ERROR_INVALID);
    CHECK(log == NULL);
    if (!CHECK(strstr(error.message, wrong[i].says) && strstr(error.message, wrong[i].remedy))) puts(error.message);
  }
  scratch_remove(path);
}

/* A copy by size and time takes what a drain stored: the files have a later time than before the drain. */
static void times_of_files(void) {
  test("the files' times are past the last drain");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  static const char *const names[] = {"ring", "00000000000000000000.weir.active"};
  for (uint64_t i = 0; i < 3; i++) {
    struct stat before[2], after;
    CHECK_EQUAL(capture_numbered(log, type, 0, i, 10, NULL), WEIR_ACCEPTED);
    for (int f = 0; f < 2; f++) REQUIRE(stat(join(path, names[f]), &before[f]) == 0);
    sleep_ns(20000000); /* file systems count time by ticks */
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    for (int f = 0; f < 2; f++) {
      REQUIRE(stat(join(path, names[f]), &after) == 0);
      CHECK(after.st_mtim.tv_sec > before[f].st_mtim.tv_sec || after.st_mtim.tv_nsec > before[f].st_mtim.tv_nsec);
    }
  }
  close_and_free(log);
  scratch_remove(path);
}

/* ---- Full lanes and bounds --------------------------------------------------------------------------------------- */

static void full_lane(void) {
  test("a full lane refuses the newest, each counted; after a drain it has room");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  uint64_t number = 0, refused = 0;
  for (int round = 0; round < 40; round++) {
    uint64_t before = number;
    number = fill(log, type, number, 300, WEIR_DROP_FULL);
    CHECK(number - before > 10);
    refused++;
    for (int i = 0; i < round % 3; i++, refused++) {
      CHECK_EQUAL(capture_numbered(log, type, 0, number, 300, NULL), WEIR_DROP_FULL);
    }
    CHECK_EQUAL(counters_of(log).dropped[WEIR_DROP_FULL], refused);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  }
  CHECK_EQUAL(counters_of(log).storage, WEIR_OK);
  close_and_free(log);
  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), number);
  CHECK_EQUAL(found.gaps, refused);
  found_free(&found);
  scratch_remove(path);
}

static void full_lane_evicts(void) {
  test("a full lane that drops the oldest does so without a drainer, and counts them");
  char *path = scratch();
  weir_options options = threadless_options();
  options.full_policy = WEIR_FULL_DROP_OLDEST;
  weir_log *log = open_with(path, &options, NULL);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 2000; i++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, i, 300, NULL), WEIR_ACCEPTED);
    if (i % 517 == 0) CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  }
  weir_counters counters = counters_of(log);
  CHECK(counters.overwritten > 1000);
  close_and_free(log);
  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(found.count + counters.overwritten, 2000);
  CHECK_EQUAL(found.gaps, counters.overwritten);
  CHECK_EQUAL(found.events[found.count - 1].number, 1999);
  found_free(&found);
  scratch_remove(path);
}

static void limit_refuses(void) {
  test("at the byte limit captures are refused, until what was delivered is removed");
  char *path = scratch();
  weir_options options = threadless_options();
  options.max_bytes = least_limit(WEIR_LIMIT_REFUSE) + 4 * SEGMENT;
  options.remove_delivered = 1;
  weir_log *log = open_with(path, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  weir_error error;
  for (int round = 0; round < 3; round++) {
    uint64_t before = number;
    number = use_up(log, type, number, WEIR_ERROR_NO_SPACE, &error);
    CHECK(number > before);
    CHECK(strstr(error.message, "max_bytes"));
    CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_ERROR_NO_SPACE);
    CHECK(stat_of(path).total_bytes <= options.max_bytes);
    weir_set_delivered(log, UINT64_MAX);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_OK);
    CHECK(counters_of(log).delivered_removed > 0);
  }
  CHECK_EQUAL(counters_of(log).expired + counters_of(log).displaced, 0);
  close_and_free(log);
  weir_stat stat = stat_of(path);
  CHECK_EQUAL(stat.events + stat.removed, number);
  scratch_remove(path);
}

static void limit_displaces(uint64_t lane_bytes, uint64_t segments, uint64_t retain_segments) {
  char *path = scratch();
  weir_options options = threadless_options(), small = options;
  options.lane_bytes = lane_bytes;
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + segments * SEGMENT;
  options.max_bytes += ring_file_bytes(&options) - ring_file_bytes(&small);
  options.retain_bytes = retain_segments * SEGMENT;
  weir_log *log = open_with(path, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t above = 0;
  enum { EVENTS = 3000 };
  for (uint64_t i = 0; i < EVENTS; i++) {
    CHECK_EQUAL(capture_or_drain(log, type, 0, i, FILLER, NULL), WEIR_ACCEPTED);
    if (i % 50 == 0) above += stat_of(path).total_bytes > options.max_bytes;
  }
  CHECK_EQUAL(above, 0);
  weir_counters counters = counters_of(log);
  CHECK(retain_segments ? counters.expired > 0 : counters.displaced > 0);
  close_and_free(log);
  check_conserved(path, EVENTS, 0);
  scratch_remove(path);
}

static void age_limit(void) {
  test("segments that are too old are removed by whoever works next");
  char *path = scratch();
  weir_options options = threadless_options();
  options.retain_ns = 1000000;
  weir_log *log = open_with(path, &options, NULL);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 1000; i++) {
    CHECK_EQUAL(capture_or_drain(log, type, 0, i, FILLER, NULL), WEIR_ACCEPTED);
    if (i % 100 == 0) sleep_ns(2000000);
  }
  CHECK(counters_of(log).expired > 0);
  close_and_free(log);
  check_conserved(path, 1000, 0);
  scratch_remove(path);
}

/* ---- Calls of the host's ----------------------------------------------------------------------------------------- */

typedef struct calls {
  pthread_t caller;
  uint64_t drained, refused, elsewhere;
  uint64_t told, failed;
  weir_log *log;
} calls;

static void on_drained(void *context) {
  calls *calls = context;
  calls->drained++;
  calls->elsewhere += !pthread_equal(pthread_self(), calls->caller);
}

static void on_refused(void *context) {
  calls *calls = context;
  calls->refused++;
  calls->elsewhere += !pthread_equal(pthread_self(), calls->caller);
}

static void on_durable(void *context, weir_status status, const weir_error *error) {
  calls *calls = context;
  if (status == WEIR_OK && !error) calls->told++;
  else calls->failed++;
  calls->elsewhere += !pthread_equal(pthread_self(), calls->caller);
}

static void host_calls(void) {
  test("the host's functions are called on the thread that works, before the call returns");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  calls calls = {.caller = pthread_self(), .log = log};
  weir_on_drained(log, on_drained, &calls);
  weir_on_refused(log, on_refused, &calls);
  uint64_t number = 0;
  weir_id id;
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(calls.drained, 0); /* nothing was there */
  while (capture_numbered(log, type, 0, number, 300, &id) == WEIR_ACCEPTED) number++;
  CHECK_EQUAL(calls.drained + calls.refused, 0);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(calls.drained, 1);
  CHECK_EQUAL(calls.refused, 1);

  CHECK_EQUAL(weir_durable_notify(log, id, on_durable, &calls, NULL), WEIR_OK);
  CHECK_EQUAL(calls.told, 0);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK); /* syncs for who waits */
  CHECK_EQUAL(calls.told, 1);
  CHECK_EQUAL(weir_durable_notify(log, id, on_durable, &calls, NULL), WEIR_OK);
  CHECK_EQUAL(calls.told, 2); /* it is durable already */
  CHECK_EQUAL(capture_numbered(log, type, 0, number++, 300, &id), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_durable_notify(log, id, on_durable, &calls, NULL), WEIR_OK);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(calls.told, 3);
  CHECK_EQUAL(capture_numbered(log, type, 0, number++, 300, &id), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_durable_notify(log, id, on_durable, &calls, NULL), WEIR_OK);
  close_and_free(log);
  CHECK_EQUAL(calls.told, 4);
  CHECK_EQUAL(calls.failed + calls.elsewhere, 0);
  check_log(path, number);
  scratch_remove(path);
}

/* ---- Several callers --------------------------------------------------------------------------------------------- */

static _Atomic int holding, held;

static void hold_work(void *context) {
  (void)context;
  held = 1;
  while (holding) sleep_ns(100000);
}

static void *drain_once(void *log) {
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  return NULL;
}

static void one_works_at_a_time(void) {
  test("who finds another at work waits for as long as it gave; captures go on");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  weir_on_drained(log, hold_work, NULL);
  weir_id id;
  holding = 1;
  held = 0;
  CHECK_EQUAL(capture_numbered(log, type, 0, 0, 10, NULL), WEIR_ACCEPTED);
  pthread_t worker;
  REQUIRE(pthread_create(&worker, NULL, drain_once, log) == 0);
  CHECK_AWAIT(held);
  CHECK_EQUAL(capture_numbered(log, type, 0, 1, 10, &id), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_drain(log, 2000000, NULL, NULL), WEIR_ERROR_TIMEOUT);
  CHECK_EQUAL(weir_sync(log, 2000000, NULL, NULL), WEIR_ERROR_TIMEOUT);
  CHECK_EQUAL(weir_durable(log, id, 2000000, NULL), WEIR_ERROR_TIMEOUT);
  holding = 0;
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_OK);
  CHECK_EQUAL(pthread_join(worker, NULL), 0);
  close_and_free(log);
  check_log(path, 2);
  scratch_remove(path);
}

enum { CALLERS = 4, EACH = 1500 };
typedef struct caller {
  weir_log *log;
  uint32_t type;
  uint64_t producer, accepted;
  int until_closed;
} caller;

static void *call_at_random(void *context) {
  caller *caller = context;
  uint64_t random = caller->producer * 77 + 1, closed = 0;
  while (caller->until_closed ? !closed : caller->accepted < EACH) {
    weir_id id;
    random = random * UINT64_C(6364136223846793005) + 1;
    weir_status status = WEIR_OK;
    int32_t answer = capture_numbered(caller->log, caller->type, caller->producer, caller->accepted, FILLER, &id);
    if (answer == WEIR_ACCEPTED) caller->accepted++;
    closed = answer == WEIR_DROP_CLOSED;
    uint64_t choice = (random >> 40) % 64;
    if (answer == WEIR_DROP_FULL || choice < 8) status = weir_drain(caller->log, UINT64_MAX, NULL, NULL);
    else if (choice == 8) status = weir_sync(caller->log, UINT64_MAX, NULL, NULL);
    else if (choice == 9 && answer == WEIR_ACCEPTED) status = weir_durable(caller->log, id, UINT64_MAX, NULL);
    else if (choice == 10) counters_of(caller->log);
    else if (choice == 11) weir_set_delivered(caller->log, weir_durable_offset(caller->log));
    int good = status == WEIR_OK || (caller->until_closed && status == WEIR_ERROR_CLOSED);
    if (!CHECK(good)) fprintf(stderr, "%s\n", weir_status_name(status));
    if (status != WEIR_OK) break;
  }
  return NULL;
}

static void concurrent_callers(int closes) {
  test(closes ? "a close beside callers that drain, sync and wait" : "several callers drain, sync and wait at once");
  char *path = scratch();
  weir_options options = threadless_options();
  options.lane_count = CALLERS + 2;
  weir_log *log = open_with(path, &options, NULL);
  caller callers[CALLERS];
  pthread_t threads[CALLERS];
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < CALLERS; i++) {
    callers[i] = (caller){.log = log, .type = type, .producer = i, .until_closed = closes};
    REQUIRE(pthread_create(&threads[i], NULL, call_at_random, &callers[i]) == 0);
  }
  if (closes) sleep_ns(5000000 + random_below(20000000));
  if (closes) CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
  close_and_free(log);
  found_log found = read_log(path);
  check_sound(&found);
  for (uint64_t i = 0; i < CALLERS; i++) CHECK_EQUAL(check_producer(&found, i), callers[i].accepted);
  found_free(&found);
  scratch_remove(path);
}

static _Atomic int stop;

static void *capture_without_end(void *context) {
  caller *caller = context;
  while (!stop) {
    if (capture_numbered(caller->log, caller->type, caller->producer, caller->accepted, FILLER, NULL) == WEIR_ACCEPTED)
      caller->accepted++;
  }
  return NULL;
}

/* A log whose lanes hold several segments: no pass of the drainer ends without the next one. */
static weir_log *open_long_lanes(const char *directory) {
  weir_options options = threadless_options();
  options.lane_count = CALLERS + 2;
  options.lane_bytes = 1 << 20;
  options.retain_bytes = 4 * SEGMENT;
  return open_with(directory, &options, NULL);
}

static void capture_more(void *context) {
  caller *caller = context;
  for (int i = 0; i < 100 && caller->accepted < EACH; i++) {
    caller->accepted += capture_numbered(caller->log, caller->type, 1, caller->accepted, FILLER, NULL) == WEIR_ACCEPTED;
  }
}

static void drains_what_was_there(void) {
  test("a drain takes what was captured before it, though more is captured at each of its passes");
  char *path = scratch();
  weir_log *log = open_long_lanes(path);
  caller caller = {.log = log, .type = define_numbered(log)};
  uint64_t number = fill(log, caller.type, 0, FILLER, WEIR_DROP_FULL);
  weir_on_drained(log, capture_more, &caller);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK(caller.accepted > 100);
  CHECK_EQUAL(counters_of(log).drained, number);
  close_and_free(log);
  scratch_remove(path);
}

/* Waits for an event while somebody else is between two passes, which are for what was there before. */
typedef struct waiter {
  weir_log *log;
  weir_id id;
} waiter;

static void *wait_for_event(void *context) {
  waiter *waiter = context;
  CHECK_EQUAL(weir_durable(waiter->log, waiter->id, UINT64_MAX, NULL), WEIR_OK);
  CHECK_EQUAL(weir_durable_offset(waiter->log), counters_of(waiter->log).next_offset);
  return NULL;
}

static void waits_beside_a_drain(void) {
  test("who begins to wait between two passes of another is not told before the disk has the event");
  char *path = scratch();
  weir_log *log = open_long_lanes(path);
  const sealer *sealer = &((event_log *)log)->sealer;
  uint32_t type = define_numbered(log);
  pthread_t worker, second;
  uint64_t number = fill(log, type, 0, FILLER, WEIR_DROP_FULL);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK); /* and tells of the refusal */
  number = fill(log, type, number, FILLER, WEIR_DROP_FULL) - number;
  weir_on_drained(log, hold_work, NULL);
  holding = 1;
  held = 0;
  REQUIRE(pthread_create(&worker, NULL, drain_once, log) == 0);
  CHECK_AWAIT(held);
  waiter waiter = {.log = log};
  CHECK_EQUAL(capture_numbered(log, type, 1, 0, FILLER, &waiter.id), WEIR_ACCEPTED);
  REQUIRE(pthread_create(&second, NULL, wait_for_event, &waiter) == 0);
  CHECK_AWAIT(__atomic_load_n(&sealer->wait_count, __ATOMIC_RELAXED) == 1);
  holding = 0;
  pthread_join(worker, NULL);
  pthread_join(second, NULL);
  close_and_free(log);
  scratch_remove(path);
}

static void captures_beside_a_drain(void) {
  test("a drain ends although others capture faster than it drains");
  char *path = scratch();
  weir_log *log = open_long_lanes(path);
  caller callers[CALLERS];
  pthread_t threads[CALLERS];
  uint32_t type = define_numbered(log);
  stop = 0;
  for (uint64_t i = 0; i < CALLERS; i++) {
    callers[i] = (caller){.log = log, .type = type, .producer = i};
    REQUIRE(pthread_create(&threads[i], NULL, capture_without_end, &callers[i]) == 0);
  }
  for (int i = 0; i < 8 || counters_of(log).expired == 0; i++) {
    if (!CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK)) break;
  }
  stop = 1;
  uint64_t accepted = 0;
  for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < CALLERS; i++) accepted += callers[i].accepted;
  close_and_free(log);
  weir_stat stat = stat_of(path);
  CHECK_EQUAL(stat.events + stat.removed, accepted);
  CHECK(stat.removed > 0);
  scratch_remove(path);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static int in_child(weir_log *log, uint32_t type) {
  int wrong = 0;
  wrong |= capture_numbered(log, type, 9, 0, 10, NULL) != WEIR_DROP_DETACHED;
  wrong |= (weir_drain(log, UINT64_MAX, NULL, NULL) != WEIR_ERROR_CLOSED) << 1;
  wrong |= (weir_sync(log, UINT64_MAX, NULL, NULL) != WEIR_ERROR_CLOSED) << 2;
  wrong |= (weir_durable(log, (weir_id){0}, UINT64_MAX, NULL) != WEIR_ERROR_CLOSED) << 3;
  wrong |= (weir_close(log, NULL) != WEIR_OK) << 4;
  return wrong;
}

static void forks(void) {
  test("case 15: a child is refused, also where it was forked while somebody worked");
  char *path = scratch();
  weir_log *log = open_threadless(path, NULL);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 4; i++) {
    pthread_t worker;
    int beside = i % 2;
    CHECK_EQUAL(capture_numbered(log, type, 0, i, 10, NULL), WEIR_ACCEPTED);
    weir_on_drained(log, beside ? hold_work : NULL, NULL);
    holding = beside;
    held = 0;
    if (beside) REQUIRE(pthread_create(&worker, NULL, drain_once, log) == 0);
    if (beside) CHECK_AWAIT(held);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(in_child(log, type));
    CHECK_EQUAL(wait_for(child), 0);
    holding = 0;
    if (beside) CHECK_EQUAL(pthread_join(worker, NULL), 0);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  }
  close_and_free(log);
  check_log(path, 4);
  scratch_remove(path);
}

int main(void) {
  random_start("threadless_test");
  no_threads();
  in_the_lane_until_drained();
  wrong_combinations();
  times_of_files();
  full_lane();
  full_lane_evicts();
  limit_refuses();
  test("at the byte limit the oldest segments make room");
  limit_displaces(LANE, 0, 0);
  limit_displaces(LANE, 3, 0);
  limit_displaces(1 << 19, 0, 0); /* a drain fills several segments: those that are full make room for the others */
  test("segments beyond the bound of bytes are removed");
  limit_displaces(LANE, 8, 2);
  age_limit();
  host_calls();
  one_works_at_a_time();
  forks();
  for (int i = 0; i < 3; i++) concurrent_callers(0);
  for (int i = 0; i < 10; i++) concurrent_callers(1);
  drains_what_was_there();
  waits_beside_a_drain();
  captures_beside_a_drain();
  return finish();
}
