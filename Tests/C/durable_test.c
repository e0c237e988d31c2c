/*
 * durable_test.c: waiting for the disk. What is said to be durable was synced, in a file whose sync never failed; many
 * waiters share a sync; what can't be synced is copied to another file, or is never vouched for.
 */
#include "capture_check.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "capture/bell.h"
#include "log/log.h"
#include "system/system.h"

static weir_log *open_with(const char *directory, uint64_t sync_interval_ns, uint32_t policy, uint64_t drain_ns) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 12;
  options.lane_bytes = 16384;
  options.max_event_bytes = 2048;
  options.segment_bytes = 1 << 18;
  options.sync_interval_ns = sync_interval_ns;
  options.full_policy = policy;
  options.drain_interval_ns = drain_ns;
  weir_log *log;
  REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
  return log;
}

static weir_log *open_rolling(const char *directory) { return open_with(directory, 0, WEIR_FULL_DROP_NEWEST, 1000000); }

static weir_id capture_one(weir_log *log, uint32_t type, uint64_t producer, uint64_t number, uint64_t bytes) {
  weir_id id;
  while (capture_numbered(log, type, producer, number, bytes, &id) != WEIR_ACCEPTED) sleep_ns(100000);
  return id;
}

static ino_t inode_of(const char *directory, const char *name) {
  struct stat status;
  return stat(join(directory, name), &status) == 0 ? status.st_ino : 0;
}

#define FIRST_ACTIVE "00000000000000000000.weir.active"
#define FIRST_SEALED "00000000000000000000.weir"

/* Every event numbered from 0 is in the log, once, in order. */
static void expect_all(const char *directory, uint64_t count) {
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), count);
  found_free(&found);
}

/* ---- A drainer that is done before the waiter is ----------------------------------------------------------------- */

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100 };

static event_log *stepped;
static uint64_t requests_before, waits_before;

static void step_on(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/*
 * After each instruction of the waiter. Once it has asked for a drain it goes on only when the drainer has come to its
 * end and sleeps; unless the drainer can see by then that somebody waits, when it stands at the sealer's mutex instead.
 */
static void on_step(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  uint64_t requested = __atomic_load_n(&stepped->intake.requests.made, __ATOMIC_ACQUIRE);
  if (requested == requests_before) return;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  if (__atomic_load_n(&stepped->sealer.wait_count, __ATOMIC_ACQUIRE) != waits_before) return;
  bell_ring(&stepped->intake);
  while (__atomic_load_n(&stepped->intake.requests.done, __ATOMIC_ACQUIRE) < requested ||
         !__atomic_load_n(&stepped->intake.producer.asleep, __ATOMIC_ACQUIRE)) {
    sleep_ns(100000);
  }
}

static void test_early_drainer(void) {
  test("a wait ends although the drainer was done with what it asked for before it was in the list");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  stepped = (event_log *)log;
  /* All is drained and touched, so that nothing but the wait has a thread to wake. */
  while (!__atomic_load_n(&stepped->intake.producer.asleep, __ATOMIC_ACQUIRE) ||
         __atomic_load_n(&stepped->sealer.stale, __ATOMIC_ACQUIRE)) {
    sleep_ns(1000000);
  }
  struct sigaction start = {.sa_sigaction = step_on, .sa_flags = SA_SIGINFO}, step = start, before[2];
  step.sa_sigaction = on_step;
  REQUIRE(sigaction(SIGUSR2, &start, &before[0]) == 0 && sigaction(SIGTRAP, &step, &before[1]) == 0);
  requests_before = __atomic_load_n(&stepped->intake.requests.made, __ATOMIC_ACQUIRE);
  waits_before = __atomic_load_n(&stepped->sealer.wait_count, __ATOMIC_ACQUIRE);
  weir_error error = {0};
  REQUIRE(raise(SIGUSR2) == 0); /* from its return on, instruction by instruction */
  weir_status status = weir_sync(log, UINT64_C(60000000000), NULL, &error);
  CHECK_EQUAL(status, WEIR_OK);
  CHECK(__atomic_load_n(&stepped->intake.requests.made, __ATOMIC_ACQUIRE) != requests_before);
  sigaction(SIGUSR2, &before[0], NULL);
  sigaction(SIGTRAP, &before[1], NULL);
  REQUIRE(weir_close(log, NULL) == WEIR_OK);
  weir_free(log);
  scratch_remove(path);
}

#else
static void test_early_drainer(void) {}
#endif

/* ---- Group commit ------------------------------------------------------------------------------------------------ */

enum { WAITERS = 8, WAITS = 200 };

typedef struct group {
  weir_log *log;
  uint32_t type;
  uint64_t producer;
} group;

static void *wait_often(void *argument) {
  group *group = argument;
  for (uint64_t number = 0; number < WAITS; number++) {
    weir_id id = capture_one(group->log, group->type, group->producer, number, 40);
    CHECK_EQUAL(weir_durable(group->log, id, UINT64_MAX, NULL), WEIR_OK);
    CHECK_EQUAL(weir_durable(group->log, id, 0, NULL), WEIR_OK); /* it stays so */
  }
  return NULL;
}

static void test_group_commit(void) {
  test("group commit: many waiters share a sync");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  group groups[WAITERS];
  pthread_t threads[WAITERS];
  uint32_t type = define_numbered(log);
  weir_fault_set("sys_sync_data", UINT64_MAX, 0, 0); /* counts */
  for (uint64_t i = 0; i < WAITERS; i++) {
    groups[i] = (group){.log = log, .type = type, .producer = i};
    REQUIRE(pthread_create(&threads[i], NULL, wait_often, &groups[i]) == 0);
  }
  for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
  uint64_t syncs = weir_fault_count();
  weir_fault_set(NULL, 0, 0, 0);
  CHECK(syncs < WAITERS * WAITS);
  CHECK_EQUAL(weir_durable_offset(log), WAITERS * WAITS);
  close_and_free(log);
  found_log found = read_log(path);
  check_sound(&found);
  for (uint64_t i = 0; i < WAITERS; i++) CHECK_EQUAL(check_producer(&found, i), WAITS);
  found_free(&found);
  scratch_remove(path);
}

static void test_watermark(void) {
  test("case 23: the watermark moves with a sync and by nothing else");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  CHECK_EQUAL(weir_durable_offset(log), 0);
  capture_one(log, type, 0, 0, 40);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(weir_durable_offset(log), 0);
  weir_id second = capture_one(log, type, 0, 1, 40);
  CHECK_EQUAL(weir_durable(log, second, UINT64_MAX, NULL), WEIR_OK);
  CHECK_EQUAL(weir_durable_offset(log), 2);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.durable_offset, 2);
  uint64_t next = 0;
  capture_one(log, type, 0, 2, 40);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, &next, NULL), WEIR_OK);
  CHECK_EQUAL(next, 3);
  capture_one(log, type, 0, 3, 40);
  weir_id last = capture_one(log, type, 0, 4, 40);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  CHECK_EQUAL(weir_durable_offset(log), 5); /* all of a log that was closed well */
  CHECK_EQUAL(weir_durable(log, last, UINT64_MAX, NULL), WEIR_OK);
  weir_free(log);
  log = open_rolling(path);
  CHECK_EQUAL(weir_durable_offset(log), 5);
  CHECK_EQUAL(weir_durable(log, last, UINT64_MAX, NULL), WEIR_ERROR_INVALID);
  close_and_free(log);
  scratch_remove(path);
}

static _Atomic uint64_t told_ok, told_failed;

static void be_told(void *context, weir_status status, const weir_error *error) {
  CHECK((status == WEIR_OK) == (error == NULL));
  CHECK(context == (void *)&told_ok);
  if (status == WEIR_OK) told_ok++;
  else told_failed++;
}

static void test_bad_ids(void) {
  test("ids of no event");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  weir_id id = capture_one(log, define_numbered(log), 0, 0, 40), wrong = id;
  weir_error error;
  wrong.opening++;
  CHECK_EQUAL(weir_durable(log, wrong, 0, &error), WEIR_ERROR_INVALID);
  CHECK(strstr(error.message, "id") != NULL);
  wrong = id;
  wrong.sequence += 1000;
  CHECK_EQUAL(weir_durable(log, wrong, 0, &error), WEIR_ERROR_INVALID);
  wrong.sequence = UINT64_MAX;
  CHECK_EQUAL(weir_durable(log, wrong, 0, &error), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_durable_notify(log, wrong, be_told, (void *)&told_ok, &error), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_durable_notify(log, id, NULL, NULL, &error), WEIR_ERROR_INVALID);
  close_and_free(log);
  scratch_remove(path);
}

/* ---- Without waiting --------------------------------------------------------------------------------------------- */

static void test_notify(void) {
  test("whoever does not wait is told once, at the close at the latest");
  enum { EVENTS = 500 };
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  told_ok = told_failed = 0;
  weir_id id = {0, 0};
  for (uint64_t number = 0; number < EVENTS; number++) {
    id = capture_one(log, type, 0, number, 200);
    CHECK_EQUAL(weir_durable_notify(log, id, be_told, (void *)&told_ok, NULL), WEIR_OK);
  }
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  CHECK_EQUAL(told_ok, EVENTS);
  CHECK_EQUAL(weir_durable_notify(log, id, be_told, (void *)&told_ok, NULL), WEIR_OK);
  CHECK_EQUAL(told_ok, EVENTS + 1);
  CHECK_EQUAL(told_failed, 0);
  weir_free(log);
  scratch_remove(path);
}

/* ---- The drainer's word ------------------------------------------------------------------------------------------ */

typedef struct follower {
  weir_log *log;
  uint64_t calls;
  uint64_t seen; /* the log's end at the last call */
} follower;

static void follow(void *context) {
  follower *follower = context;
  weir_counters counters;
  weir_count(follower->log, &counters);
  __atomic_store_n(&follower->seen, counters.next_offset, __ATOMIC_RELEASE);
  __atomic_add_fetch(&follower->calls, 1, __ATOMIC_RELEASE);
}

static void test_drained(void) {
  test("whoever follows the log is told of what is drained before weir_drain returns, until that is ended");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  follower first = {.log = log}, second = {.log = log};
  weir_on_drained(log, follow, &first);
  for (uint64_t number = 0; number < 100; number++) {
    uint64_t calls = __atomic_load_n(&first.calls, __ATOMIC_ACQUIRE), end;
    capture_one(log, type, 0, number, 40);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, &end, NULL), WEIR_OK);
    CHECK(__atomic_load_n(&first.calls, __ATOMIC_ACQUIRE) > calls);
    CHECK_EQUAL(__atomic_load_n(&first.seen, __ATOMIC_ACQUIRE), end);
  }
  uint64_t calls = __atomic_load_n(&first.calls, __ATOMIC_ACQUIRE);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(__atomic_load_n(&first.calls, __ATOMIC_ACQUIRE), calls); /* nothing came */
  weir_on_drained(log, follow, &second);
  capture_one(log, type, 0, 100, 40);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK(second.calls > 0);
  weir_on_drained(log, NULL, NULL);
  uint64_t last = second.calls;
  capture_one(log, type, 0, 101, 40);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  CHECK_EQUAL(first.calls, calls);
  CHECK_EQUAL(second.calls, last);
  weir_on_drained(log, follow, &first); /* of a closed log nothing comes */
  weir_free(log);
  CHECK_EQUAL(first.calls, calls);
  scratch_remove(path);
}

/* ---- The interval ------------------------------------------------------------------------------------------------ */

/* Whether no file is synced for a while. */
static int rests(void) {
  weir_fault_set("sys_sync_data", UINT64_MAX, 0, 0);
  sleep_ns(100000000);
  uint64_t syncs = weir_fault_count();
  weir_fault_set(NULL, 0, 0, 0);
  return syncs == 0;
}

static void test_interval(void) {
  test("with an interval the watermark follows by itself, and rests when nothing comes");
  char *path = scratch();
  weir_log *log = open_with(path, 2000000, WEIR_FULL_DROP_NEWEST, 1000000);
  /* Days: it is the interval of the syncs that ends the drainer's naps. */
  __atomic_store_n(&((event_log *)log)->options.drain_interval_ns, UINT64_C(1000000000000000), __ATOMIC_RELAXED);
  uint32_t type = define_numbered(log);
  for (uint64_t number = 0; number < 20 && checks_failed == 0; number++) {
    capture_one(log, type, 0, number, 40);
    CHECK_AWAIT(weir_durable_offset(log) > number);
    CHECK_EQUAL(weir_durable_offset(log), number + 1);
  }
  CHECK_AWAIT(rests());
  close_and_free(log);
  scratch_remove(path);
}

/* ---- A disk that fails ------------------------------------------------------------------------------------------- */

static int segment_is_ready(preparer *preparer) {
  pthread_mutex_lock(&preparer->worker.mutex);
  int ready = !preparer->wanted && preparer->ready_count >= preparer->depth;
  pthread_mutex_unlock(&preparer->worker.mutex);
  return ready;
}

/* The next sync fails. It is the sealer's: the preparer has synced the segment that comes next. */
static void fail_one_sync(weir_log *log) {
  CHECK_AWAIT(segment_is_ready(&((event_log *)log)->preparer));
  weir_fault_set("sys_sync_data", 1, 1, EIO);
}

static void test_one_failure(void) {
  test("case 32: a sync that fails once is never believed to have succeeded later");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  weir_error error;
  weir_id id = capture_one(log, type, 0, 0, 40);
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_OK);
  ino_t failed = inode_of(path, FIRST_ACTIVE);
  CHECK(failed != 0);
  id = capture_one(log, type, 0, 1, 40);
  fail_one_sync(log);
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, &error), WEIR_ERROR_IO);
  weir_fault_set(NULL, 0, 0, 0);
  CHECK_EQUAL(error.system_error, EIO);
  CHECK_EQUAL(weir_durable_offset(log), 1);
  /* Asked again, the same bytes are on the disk, in another file. */
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_OK);
  CHECK_EQUAL(weir_durable_offset(log), 2);
  CHECK(inode_of(path, FIRST_SEALED) != 0 && inode_of(path, FIRST_SEALED) != failed);
  CHECK_EQUAL(inode_of(path, FIRST_ACTIVE), 0);
  for (uint64_t number = 2; number < 1000; number++) id = capture_one(log, type, 0, number, 400);
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_OK);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.lost, 0);
  close_and_free(log);
  expect_all(path, 1000);
  scratch_remove(path);
}

static void test_failure_at_sealing(void) {
  test("case 32: the same for a segment that is being sealed");
  for (uint64_t nth = 1; nth <= 4; nth++) {
    char *path = scratch();
    weir_log *log = open_rolling(path);
    uint32_t type = define_numbered(log);
    ino_t first = inode_of(path, FIRST_ACTIVE);
    weir_fault_set("sys_sync_data", nth, 1, EIO);
    for (uint64_t number = 0; number < 3000; number++) capture_one(log, type, 0, number, 400);
    weir_status status = weir_sync(log, UINT64_MAX, NULL, NULL);
    if (status != WEIR_OK) CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    CHECK(weir_fault_count() >= nth);
    weir_fault_set(NULL, 0, 0, 0);
    CHECK(weir_durable_offset(log) >= 3000); /* gap records of refusals have offsets, too */
    if (nth == 1) CHECK(inode_of(path, FIRST_SEALED) != 0 && inode_of(path, FIRST_SEALED) != first);
    CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
    weir_free(log);
    expect_all(path, 3000);
    scratch_remove(path);
  }
}

/* Captures until the log can't grow; answers the number of the next event. */
static uint64_t fill_until_refused(weir_log *log, uint32_t type, uint64_t number) {
  int32_t drop = WEIR_ACCEPTED;
  for (uint64_t end = now_ns() + HANG_NS; drop != WEIR_DROP_STORAGE && now_ns() < end;) {
    drop = capture_numbered(log, type, 0, number, 400, NULL);
    number += drop == WEIR_ACCEPTED;
    if (drop == WEIR_DROP_FULL) sleep_ns(100000);
  }
  CHECK_EQUAL(drop, WEIR_DROP_STORAGE);
  return number;
}

static void test_dead_disk(void) {
  test("a disk that takes nothing more: refusals are counted, nothing accepted is lost, and it may come back");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  uint64_t number = 0, before = 0;
  while (number < 100) capture_one(log, type, 0, number++, 400);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, &before, NULL), WEIR_OK);
  weir_fault_set("sys_sync_data", 1, UINT64_MAX, EIO);
  number = fill_until_refused(log, type, number);
  weir_error error;
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_ERROR_IO);
  CHECK_EQUAL(weir_durable_offset(log), before);
  weir_fault_set(NULL, 0, 0, 0);
  weir_id id = capture_one(log, type, 0, number++, 400);
  weir_status status = weir_durable(log, id, UINT64_MAX, NULL);
  if (status != WEIR_OK) status = weir_durable(log, id, UINT64_MAX, NULL);
  CHECK_EQUAL(status, WEIR_OK);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  expect_all(path, number);
  scratch_remove(path);
}

static _Atomic int preparer_held; /* 1: hold the preparer once a preparation has failed; 2: it is held */

/* Holds the preparer where it discards the segment that it failed to prepare. */
static void hold_preparer(const weir_call *call, int after) {
  char name[16] = "";
  if (after || strstr(call->operation, "sys_unlink") == NULL) return;
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (strcmp(name, "weir-prepare") != 0) return;
  int held = 1;
  if (!atomic_compare_exchange_strong(&preparer_held, &held, 2)) return;
  while (preparer_held == 2) sleep_ns(100000);
}

static void test_mended_before_asking(void) {
  test("whoever asks once the disk is mended is not told of a try that failed before");
  char *path = scratch();
  /* With an interval each segment is synced as it is prepared. */
  weir_log *log = open_with(path, 3600000000000, WEIR_FULL_DROP_NEWEST, 1000000);
  uint32_t type = define_numbered(log);
  weir_id id = capture_one(log, type, 0, 0, 40);
  weir_fault_set("sys_sync_data", 1, UINT64_MAX, EIO);
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_ERROR_IO);
  uint64_t count = fill_until_refused(log, type, 1);
  preparer_held = 1;
  weir_fault_observe(hold_preparer);
  for (uint64_t end = now_ns() + HANG_NS; preparer_held != 2 && now_ns() < end;) sleep_ns(100000);
  REQUIRE(preparer_held == 2);
  weir_fault_set(NULL, 0, 0, 0);
  told_ok = told_failed = 0;
  CHECK_EQUAL(weir_durable_notify(log, id, be_told, (void *)&told_ok, NULL), WEIR_OK);
  preparer_held = 0;
  for (uint64_t end = now_ns() + HANG_NS; told_ok + told_failed == 0 && now_ns() < end;) sleep_ns(100000);
  weir_fault_observe(NULL);
  CHECK_EQUAL(told_ok, 1);
  CHECK_EQUAL(told_failed, 0);
  close_and_free(log);
  expect_all(path, count);
  scratch_remove(path);
}

static void test_dead_at_close(void) {
  test("a disk that takes nothing at the close: an error, and the next opening has everything");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  for (uint64_t number = 0; number < 100; number++) capture_one(log, type, 0, number, 400);
  weir_fault_set("sys_sync_data", 1, UINT64_MAX, EIO);
  weir_error error;
  CHECK_EQUAL(weir_close(log, &error), WEIR_ERROR_IO);
  weir_fault_set(NULL, 0, 0, 0);
  CHECK_EQUAL(weir_durable_offset(log), 0);
  weir_free(log);
  expect_all(path, 100);
  close_and_free(open_rolling(path));
  expect_all(path, 100);
  scratch_remove(path);
}

static void test_unnamed(void) {
  test("a name that the disk failed to sync is never vouched for again");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  weir_id id = capture_one(log, type, 0, 0, 40);
  weir_fault_set("sys_sync_directory", 1, 1, EIO);
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_ERROR_IO);
  weir_fault_set(NULL, 0, 0, 0);
  CHECK_EQUAL(weir_durable(log, id, UINT64_MAX, NULL), WEIR_ERROR_IO);
  CHECK_EQUAL(weir_durable_offset(log), 0);
  weir_close(log, NULL);
  weir_free(log);
  expect_all(path, 1);
  scratch_remove(path);
}

static void test_nothing_to_sync(void) {
  test("a log without anything new is as durable as it was, whatever the disk says");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  weir_fault_set("sys_sync_data", 1, UINT64_MAX, EIO);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  weir_fault_set(NULL, 0, 0, 0);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  close_and_free(log);
  scratch_remove(path);
}

/* A kernel that could not write a page may drop it: here something else is in its place. */
static void test_bytes_gone(void) {
  test("case 32: events that a failing disk has lost are counted, and nothing is vouched for after that");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  capture_one(log, type, 0, 0, 40);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  capture_one(log, type, 0, 1, 1000);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  capture_one(log, type, 0, 2, 40);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  int fd = open(join(path, FIRST_ACTIVE), O_RDWR);
  uint8_t bytes[8192];
  int64_t count = pread(fd, bytes, sizeof bytes, 0), at = 0;
  uint8_t wanted = filler_byte(0, 1, 500);
  for (int64_t i = 600; i + 400 < count && at == 0; i++) {
    int same = bytes[i] == wanted;
    for (uint64_t j = 1; same && j < 200; j++) same = bytes[i + (int64_t)j] == filler_byte(0, 1, 500 + j);
    if (same) at = i;
  }
  REQUIRE(at != 0);
  uint8_t gone = (uint8_t)~wanted;
  REQUIRE(pwrite(fd, &gone, 1, at) == 1);
  close(fd);
  fail_one_sync(log);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_ERROR_IO);
  weir_fault_set(NULL, 0, 0, 0);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_ERROR_IO);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_ERROR_IO);
  CHECK_EQUAL(weir_durable_offset(log), 1);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.lost, 1);
  weir_close(log, NULL);
  weir_free(log);
  found_log found = read_log(path);
  CHECK_EQUAL(found.count, 2);
  CHECK_EQUAL(found.skipped, 1);
  found_free(&found);
  scratch_remove(path);
}

/* Opens, captures and dies in a child, with a sync that failed on the way. Answers the inode of the file it was of. */
static ino_t die_after_failed_sync(const char *path) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log = open_rolling(path);
    uint32_t type = define_numbered(log);
    for (uint64_t number = 0; number < 50; number++) capture_one(log, type, 0, number, 100);
    weir_fault_set("sys_sync_data", 1, UINT64_MAX, EIO);
    weir_status status = weir_sync(log, UINT64_MAX, NULL, NULL);
    kill(getpid(), status == WEIR_ERROR_IO ? SIGKILL : SIGTERM);
  }
  int status;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return inode_of(path, FIRST_ACTIVE);
}

static void test_recovery_after_failure(void) {
  test("case 32: nor by the recovery of a process that died after it, nor by the one after a recovery's own");
  char *path = scratch();
  ino_t failed = die_after_failed_sync(path);
  CHECK(failed != 0);
  weir_log *log = open_rolling(path);
  CHECK(inode_of(path, FIRST_SEALED) != 0 && inode_of(path, FIRST_SEALED) != failed);
  close_and_free(log);
  expect_all(path, 50);
  scratch_remove(path);

  path = scratch();
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    log = open_rolling(path);
    for (uint64_t number = 0; number < 50; number++) capture_one(log, define_numbered(log), 0, number, 100);
    weir_drain(log, UINT64_MAX, NULL, NULL);
    kill(getpid(), SIGKILL);
  }
  REQUIRE(waitpid(child, NULL, 0) == child);
  failed = inode_of(path, FIRST_ACTIVE);
  weir_options options;
  weir_options_init(&options);
  weir_error error;
  weir_fault_set("sys_sync_data", 1, 1, EIO);
  CHECK_EQUAL(weir_open(path, &options, &log, NULL, &error), WEIR_ERROR_IO);
  weir_fault_set(NULL, 0, 0, 0);
  close_and_free(open_rolling(path));
  CHECK(inode_of(path, FIRST_SEALED) != 0 && inode_of(path, FIRST_SEALED) != failed);
  expect_all(path, 50);
  scratch_remove(path);
}

/* ---- Overwritten ------------------------------------------------------------------------------------------------- */

static void test_overwritten(void) {
  test("an event that was overwritten is not said to be durable");
  char *path = scratch();
  weir_log *log = open_with(path, 0, WEIR_FULL_DROP_OLDEST, 10000000000);
  uint32_t type = define_numbered(log);
  enum { EVENTS = 8000 }; /* more than the lane, the active segment and the one prepared after it hold */
  static weir_id ids[EVENTS];
  weir_fault_set("sys_allocate", 1, UINT64_MAX, ENOSPC);
  for (uint64_t number = 0; number < EVENTS; number++) {
    /* One is refused where a drainer that has claimed the lane is not let run for a millisecond. */
    int32_t outcome = WEIR_DROP_FULL;
    for (uint64_t until = now_ns() + HANG_NS; outcome != WEIR_ACCEPTED && now_ns() < until;) {
      outcome = capture_numbered(log, type, 0, number, 200, &ids[number]);
    }
    CHECK_EQUAL(outcome, WEIR_ACCEPTED);
  }
  weir_fault_set(NULL, 0, 0, 0);
  /* A drain that was under way still found no room, and tells so whoever began to wait before it ended. */
  CHECK_AWAIT(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
  uint64_t durable = 0, lost = 0;
  for (uint64_t number = EVENTS; number-- > 0;) {
    weir_status status = weir_durable(log, ids[number], UINT64_MAX, NULL);
    durable += status == WEIR_OK;
    lost += status == WEIR_ERROR_LOST;
    CHECK(status == WEIR_OK || status == WEIR_ERROR_LOST);
  }
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(durable + lost, EVENTS);
  CHECK(counters.overwritten > 0);
  CHECK(lost >= counters.overwritten); /* more, where nothing is known any more */
  close_and_free(log);
  found_log found = read_log(path);
  CHECK(found.count >= durable);
  found_free(&found);
  scratch_remove(path);
}

int main(void) {
  test_early_drainer();
  test_group_commit();
  test_watermark();
  test_bad_ids();
  test_notify();
  test_drained();
  test_interval();
  test_one_failure();
  test_failure_at_sealing();
  test_dead_disk();
  test_mended_before_asking();
  test_dead_at_close();
  test_unnamed();
  test_nothing_to_sync();
  test_bytes_gone();
  test_recovery_after_failure();
  test_overwritten();
  return finish();
}
