/*
 * ids_test.c: random ids: no id twice, in several threads, in a child of a fork and in its parent, and where the kernel
 * refuses random numbers or memory.
 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/system.h"
#include "weir_ids.h"

enum { THREADS = 40, EACH = 5000, CHILDREN = 3 };

typedef struct id {
  uint64_t parts[2];
} id;

static int compare(const void *left, const void *right) { return memcmp(left, right, sizeof(id)); }

static void *make(void *context) {
  id *ids = context;
  for (int i = 0; i < EACH; i++) CHECK(weir_random_id(ids[i].parts));
  return NULL;
}

static void check_different(id *ids, int count) {
  qsort(ids, (size_t)count, sizeof *ids, compare);
  for (int i = 1; i < count; i++) CHECK(compare(&ids[i - 1], &ids[i]) != 0);
}

static pthread_barrier_t all_there;

static void *make_with_others(void *context) {
  pthread_barrier_wait(&all_there);
  return make(context);
}

static void test_threads(void) {
  test("several threads get no id twice, and no half of one");
  static id ids[THREADS * EACH];
  pthread_t threads[THREADS];
  pthread_barrier_init(&all_there, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, make_with_others, &ids[i * EACH]) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  check_different(ids, THREADS * EACH);
  static id halves[2 * THREADS * EACH];
  for (int i = 0; i < THREADS * EACH; i++) {
    halves[2 * i].parts[0] = ids[i].parts[0];
    halves[2 * i + 1].parts[0] = ids[i].parts[1];
  }
  check_different(halves, 2 * THREADS * EACH);
}

static void test_forks(void) {
  test("children and their parent get different ids, although the parent had some left");
  static id ids[(CHILDREN + 1) * EACH];
  CHECK(weir_random_id(ids[0].parts));
  for (int child = 0; child < CHILDREN; child++) {
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      id own[EACH];
      make(own);
      _exit(write(pipes[1], own, sizeof own) == (ssize_t)sizeof own ? 0 : 1);
    }
    close(pipes[1]);
    uint8_t *at = (uint8_t *)&ids[child * EACH];
    uint64_t left = EACH * sizeof(id);
    for (ssize_t got; left > 0 && (got = read(pipes[0], at, left)) > 0; left -= (uint64_t)got) at += got;
    CHECK_EQUAL(left, 0);
    close(pipes[0]);
    int status;
    CHECK_EQUAL(waitpid(pid, &status, 0), pid);
    CHECK_EQUAL(status, 0);
  }
  make(&ids[CHILDREN * EACH]);
  check_different(ids, (CHILDREN + 1) * EACH);
}

static void test_refusal(void) {
#ifdef WEIR_FAULT_INJECTION
  test("where the kernel gives no random numbers, it says so");
  pid_t pid = fork(); /* a child has no numbers left */
  REQUIRE(pid >= 0);
  if (pid == 0) {
    id ids[EACH];
    weir_fault_set("sys_random", 1, UINT64_MAX, 38);
    CHECK_EQUAL(weir_random_id(ids[0].parts), 0);
    weir_fault_set("any", 0, 0, 0);
    make(ids);
    check_different(ids, EACH);
    _exit(checks_failed != 0);
  }
  int status;
  CHECK_EQUAL(waitpid(pid, &status, 0), pid);
  CHECK_EQUAL(status, 0);
#endif
}

/* In a process of its own, which has no ids yet. */
static void test_no_memory(void) {
#ifdef WEIR_FAULT_INJECTION
  test("without memory for its mark each id is asked of the kernel");
  weir_fault_set("sys_map_wiped", 1, 1, 12);
  static id ids[EACH];
  make(ids);
  weir_fault_set("any", 0, 0, 0);
  check_different(ids, EACH);
#endif
}

int main(int count, char **arguments) {
  if (count > 1) {
    test_no_memory();
    return finish();
  }
  pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    execl(arguments[0], arguments[0], "no memory", (char *)NULL);
    _exit(127);
  }
  int status;
  CHECK_EQUAL(waitpid(pid, &status, 0), pid);
  CHECK_EQUAL(status, 0);
  test_threads();
  test_forks();
  test_refusal();
  return finish();
}
