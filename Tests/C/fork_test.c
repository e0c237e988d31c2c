/*
 * fork_test.c: a process that forks. The child is detached: its captures are refused with that reason, it disturbs
 * nothing, does not hold the lock, and may open a log of its own. The parent does not notice.
 */
#include "capture_check.h"

#include <pthread.h>

static weir_log *shared_log;
static uint32_t shared_type;
static _Atomic int stop;
static uint64_t accepted[4];

/* Captures all the time, but not without end: what it writes must fit on a small disk. */
static void *produce(void *context) {
  uint64_t number = (uint64_t)(uintptr_t)context;
  for (uint64_t tries = 1; !stop; tries++) {
    if (tries % 100 == 0 || tries > 100000) sleep_ns(1000000);
    if (tries > 100000) continue;
    accepted[number] += capture_numbered(shared_log, shared_type, number, accepted[number], 40, NULL) == WEIR_ACCEPTED;
  }
  return NULL;
}

/* In the child; answers a bit for each thing that is wrong. */
static int child_checks(const char *directory, const char *elsewhere) {
  int wrong = 0;
  for (int i = 0; i < 10; i++) {
    if (capture_numbered(shared_log, shared_type, 9, 0, 10, NULL) != WEIR_DROP_DETACHED) wrong |= 1;
    if (weir_capture(shared_log, shared_type, NULL, 0, NULL) != WEIR_DROP_DETACHED) wrong |= 2;
  }
  if (weir_drain(shared_log, UINT64_MAX, NULL, NULL) != WEIR_ERROR_CLOSED) wrong |= 4;
  if (weir_sync(shared_log, UINT64_MAX, NULL, NULL) != WEIR_ERROR_CLOSED) wrong |= 4;
  weir_options options;
  weir_options_init(&options);
  weir_log *own = NULL;
  if (weir_open(directory, &options, &own, NULL, NULL) != WEIR_ERROR_LOCKED) wrong |= 8;
  if (weir_open(elsewhere, &options, &own, NULL, NULL) != WEIR_OK) return wrong | 16;
  uint32_t type = define_numbered(own);
  for (uint64_t i = 0; i < 100; i++) {
    if (capture_numbered(own, type, 0, i, 10, NULL) != WEIR_ACCEPTED) wrong |= 32;
  }
  if (weir_close(own, NULL) != WEIR_OK) wrong |= 64;
  weir_free(own);
  weir_close(shared_log, NULL);
  weir_free(shared_log);
  if (checks_failed) wrong |= 128;
  return wrong;
}

static void children_are_detached(void) {
  test("forked children are refused, and their parent goes on capturing");
  char *folder = scratch();
  const char *directory = join(folder, "parent"), *elsewhere = join(folder, "child");
  shared_log = open_default(directory, NULL);
  REQUIRE(shared_log);
  shared_type = define_numbered(shared_log);
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; i++) REQUIRE(pthread_create(&threads[i], NULL, produce, (void *)i) == 0);
  for (int round = 0; round < 10; round++) {
    weir_record record;
    int begun = round % 2;
    if (begun) CHECK_EQUAL(weir_begin(shared_log, &record), WEIR_ACCEPTED);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(child_checks(directory, elsewhere));
    if (begun) {
      weir_put_u64(&record, 3);
      weir_put_u64(&record, accepted[3]++);
      weir_put_string(&record, NULL, 0);
      CHECK_EQUAL(weir_commit(&record, shared_type, NULL), WEIR_ACCEPTED);
    }
    CHECK_EQUAL(wait_for(child), 0);
    CHECK_EQUAL(capture_numbered(shared_log, shared_type, 3, accepted[3]++, 10, NULL), WEIR_ACCEPTED);
    found_log found = read_log(elsewhere);
    check_sound(&found);
    CHECK_EQUAL(found.count, 100);
    found_free(&found);
    remove_tree(elsewhere);
  }
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  weir_counters counters;
  weir_count(shared_log, &counters);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_DETACHED], 0); /* the child's refusals are the child's */
  close_and_free(shared_log);
  found_log found = read_log(directory);
  check_sound(&found);
  for (uint64_t i = 0; i < 4; i++) CHECK_EQUAL(check_producer(&found, i), accepted[i]);
  found_free(&found);
  scratch_remove(folder);
}

static void child_outlives_parent(void) {
  test("a child that lives on does not hold the dead parent's log");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  pid_t parent = fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    weir_log *log = open_default(directory, NULL);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < 1000; i++) capture_numbered(log, type, 0, i, 10, NULL);
    pid_t child = fork();
    if (child == 0) {
      char byte;
      close(ready[1]);
      for (;;) { /* lives until the pipe's other end, the test, is gone */
        if (read(ready[0], &byte, 1) <= 0) _exit(0);
        sleep_ns(1000000);
      }
    }
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(parent), 1000 + SIGKILL);
  close(ready[0]);
  weir_recovery recovery;
  weir_log *log = open_default(directory, &recovery);
  if (log) {
    CHECK_EQUAL(recovery.events_from_lanes + recovery.events_in_segments, 1000);
    close_and_free(log);
  }
  close(ready[1]);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), 1000);
  found_free(&found);
  scratch_remove(folder);
}

static void nothing_passes_exec(void) {
  test("no descriptor of a log passes exec");
  char *folder = scratch();
  weir_log *log = open_default(join(folder, "log"), NULL);
  REQUIRE(log);
  CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, 0, 10, NULL), WEIR_ACCEPTED);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    execlp("sh", "sh", "-c", "ls -l /proc/self/fd | grep -q \"$0\"", folder, (char *)NULL);
    _exit(3);
  }
  CHECK_EQUAL(wait_for(child), 1); /* grep found nothing */
  close_and_free(log);
  scratch_remove(folder);
}

static void child_frees_and_forks(void) {
  test("a child frees its handle and forks again");
  for (int captured = 0; captured < 2; captured++) {
    char *folder = scratch();
    weir_log *log = open_default(join(folder, "log"), NULL);
    REQUIRE(log);
    if (captured) CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, 0, 10, NULL), WEIR_ACCEPTED);
    sleep_ns(20000000); /* so that the log's threads wait for work, on what the child must not destroy */
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_free(log);
      memset(malloc(sizeof(weir_counters) << 10), 0xff, sizeof(weir_counters) << 10); /* over what was freed, perhaps */
      pid_t grandchild = fork();
      if (grandchild == 0) _exit(0);
      _exit(wait_for(grandchild));
    }
    CHECK_EQUAL(wait_for(child), 0);
    close_and_free(log);
    scratch_remove(folder);
  }
}

int main(void) {
  random_start("fork_test");
  children_are_detached();
  child_outlives_parent();
  child_frees_and_forks();
  nothing_passes_exec();
  return finish();
}
