/*
 * fork_test.c: a process that forks. The child is detached: its captures are refused with that reason, it disturbs
 * nothing, does not hold the lock, and may open a log of its own. The parent does not notice.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "log/log.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

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
  test("case 15: forked children are refused, and their parent goes on capturing");
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
  test("case 15: a child that lives on does not hold the dead parent's log");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  int ready[2], lives[2];
  REQUIRE(pipe(ready) == 0 && pipe(lives) == 0);
  pid_t parent = fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    weir_log *log = open_default(directory, NULL);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < 1000; i++) capture_numbered(log, type, 0, i, 10, NULL);
    pid_t child = fork();
    char byte = 0;
    if (child == 0) {
      close(ready[1]);
      REQUIRE(write(lives[1], &byte, 1) == 1);
      for (;;) { /* lives until the pipe's other end, the test, is gone */
        if (read(ready[0], &byte, 1) <= 0) _exit(0);
        sleep_ns(1000000);
      }
    }
    /* Until its fork handlers have run, the child has what the parent had. */
    REQUIRE(read(lives[0], &byte, 1) == 1);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(parent), 1000 + SIGKILL);
  close(ready[0]);
  close(lives[0]);
  close(lives[1]);
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
  test("case 16: no descriptor of a log passes exec");
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
  test("case 15: a child frees its handle and forks again");
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

/* ---- A fork that the C library's handlers do not see ------------------------------------------------------------- */

typedef pid_t (*fork_way)(void);

static pid_t bare_clone(void) {
#if defined(__x86_64__)
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
#endif
}

/* In the child; whatever would wait for threads that it does not have ends by the alarm. */
static int bare_child_checks(weir_log *log, uint32_t type) {
  int wrong = 0;
  alarm(HANG_SECONDS);
  for (int i = 0; i < 3; i++) {
    if (capture_numbered(log, type, 9, 0, 10, NULL) != WEIR_DROP_DETACHED) wrong |= 1;
    if (weir_capture(log, type, NULL, 0, NULL) != WEIR_DROP_DETACHED) wrong |= 2;
    if (weir_capture_in_signal(log, type, NULL, 0, NULL) != WEIR_DROP_DETACHED) wrong |= 4;
  }
  if (weir_drain(log, UINT64_MAX, NULL, NULL) != WEIR_ERROR_CLOSED) wrong |= 8;
  if (weir_sync(log, UINT64_MAX, NULL, NULL) != WEIR_ERROR_CLOSED) wrong |= 16;
  weir_counters counters;
  weir_count(log, &counters);
  if (weir_close(log, NULL) != WEIR_OK) wrong |= 32;
  weir_free(log);
  return wrong;
}

/* From a thread that has a lane and from one that has none; the parent goes on on the same lane. */
static void bare_children_are_detached(const char *name, fork_way way) {
  test(name);
  for (int captured = 0; captured < 2; captured++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    weir_log *log = open_default(directory, NULL);
    REQUIRE(log);
    uint32_t type = define_numbered(log);
    uint64_t number = 0;
    if (captured) number += CHECK_EQUAL(capture_numbered(log, type, 0, number, 10, NULL), WEIR_ACCEPTED);
    for (int round = 0; round < 5; round++) {
      pid_t child = way();
      REQUIRE(child >= 0);
      if (child == 0) _exit(bare_child_checks(log, type));
      CHECK_EQUAL(wait_for(child), 0);
      if (captured) number += CHECK_EQUAL(capture_numbered(log, type, 0, number, 10, NULL), WEIR_ACCEPTED);
    }
    number += CHECK_EQUAL(capture_numbered(log, type, 0, number, 10, NULL), WEIR_ACCEPTED);
    weir_counters counters;
    weir_count(log, &counters);
    CHECK_EQUAL(counters.dropped[WEIR_DROP_DETACHED], 0);
    close_and_free(log);
    found_log found = read_log(directory);
    check_sound(&found);
    CHECK_EQUAL(check_producer(&found, 0), number);
    CHECK_EQUAL(found.count, number);
    found_free(&found);
    scratch_remove(folder);
  }
}

/* A program that another thread is just starting is such a child until it runs: it has a copy of every descriptor. */
static void a_closed_log_is_not_locked(void) {
  test("a log that was closed can be opened at once, though a program is being started");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  pid_t child = bare_clone();
  REQUIRE(child >= 0);
  while (child == 0) pause();
  close_and_free(log);
  log = open_default(directory, NULL);
  if (CHECK(log != NULL)) close_and_free(log);
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, NULL, 0) == child);
  scratch_remove(folder);
}

/* ---- A fork within captures -------------------------------------------------------------------------------------- */

/* In the child: what the parent began ends here in every way there is, and none of it is an event. */
static int child_ends_captures(weir_log *log, uint32_t type, weir_record records[3], int round) {
  int wrong = 0;
  for (int i = 0; i < 3; i++) {
    weir_record *record = &records[(i + round) % 3];
    weir_put_u64(record, 9);
    weir_put_u64(record, 0);
    weir_put_string(record, "in the child", 12);
    if ((i + round) % 4 == 0) weir_cancel(record);
    else if ((i + round) % 4 == 1 && weir_refuse(record, WEIR_DROP_INVALID) != WEIR_DROP_DETACHED) wrong |= 1;
    else if ((i + round) % 4 >= 2 && weir_commit(record, type, NULL) != WEIR_DROP_DETACHED) wrong |= 2;
  }
  if (weir_capture(log, type, NULL, 0, NULL) != WEIR_DROP_DETACHED) wrong |= 4;
  if (weir_close(log, NULL) != WEIR_OK) wrong |= 8;
  weir_free(log);
  return wrong;
}

/* Three captures begun within each other, on the thread's lane and on borrowed ones; then the fork. */
static void child_commits_what_parent_began(void) {
  test("case 15: what a parent began is refused when its child commits it, and kept when the parent does");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  uint32_t types[2] = {define_numbered(log), WEIR_TYPE_DYNAMIC};
  uint64_t number = 0;
  for (int round = 0; round < 24; round++) {
    weir_record records[3];
    for (int i = 0; i < 3; i++) CHECK_EQUAL(weir_begin(log, &records[i]), WEIR_ACCEPTED);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(child_ends_captures(log, types[round / 12], records, round));
    CHECK_EQUAL(wait_for(child), 0);
    for (int i = 2; i >= 0; i--) {
      weir_put_u64(&records[i], (uint64_t)i);
      weir_put_u64(&records[i], number);
      weir_put_string(&records[i], NULL, 0);
      CHECK_EQUAL(weir_commit(&records[i], types[0], NULL), WEIR_ACCEPTED);
    }
    number++;
  }
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count, 3 * number);
  for (uint64_t i = 0; i < 3; i++) CHECK_EQUAL(check_producer(&found, i), number);
  CHECK_EQUAL(found.gaps, 0);
  found_free(&found);
  scratch_remove(folder);
}

/* ---- Others who are told of the fork before Weir is -------------------------------------------------------------- */

static uint8_t *ring_address;   /* of the log to be forked with; null: their handler does nothing */
static uint8_t *theirs[2];      /* what they mapped in the child */

/* As an allocator does that starts anew in the child. Where there is room in the ring's place, it may be given that. */
static void they_map_memory(void) {
  if (!ring_address) return;
  enum { FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };
  theirs[0] = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
  theirs[1] = mmap(ring_address + 4096, 4096, PROT_READ | PROT_WRITE, FLAGS | MAP_FIXED_NOREPLACE, -1, 0);
  for (int i = 0; i < 2; i++) {
    if (theirs[i] != MAP_FAILED) *theirs[i] = 0x5a;
  }
}

static void memory_of_others_stays(void) {
  test("memory that another's fork handler maps in the child is left alone");
  char *folder = scratch();
  weir_log *log = open_default(join(folder, "log"), NULL);
  REQUIRE(log);
  ring_address = ((event_log *)log)->intake.ring.bytes;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int wrong = 0;
    for (int i = 0; i < 2; i++) wrong |= (theirs[i] != MAP_FAILED && *theirs[i] != 0x5a) << i;
    _exit(wrong);
  }
  CHECK_EQUAL(wait_for(child), 0);
  ring_address = NULL;
  close_and_free(log);
  scratch_remove(folder);
}

int main(void) {
  random_start("fork_test");
  REQUIRE(pthread_atfork(NULL, NULL, they_map_memory) == 0); /* before Weir's, which come with its first log */
  memory_of_others_stays();
  children_are_detached();
  child_outlives_parent();
  child_frees_and_forks();
  bare_children_are_detached("a bare clone's child is refused, and its parent goes on capturing", bare_clone);
  bare_children_are_detached("a child of _Fork is refused, and its parent goes on capturing", _Fork);
  child_commits_what_parent_began();
  nothing_passes_exec();
  a_closed_log_is_not_locked();
  return finish();
}
