/*
 * check.h: what the C tests are made of: checks that are counted, scratch folders, a seed that is printed and accepted.
 *
 * A test program calls test(name) before each group of checks and ends with `return finish();`. WEIR_SEED=n repeats a
 * run; without it the seed is taken from the clock. A failed check prints where it stands and the run goes on.
 */
#ifndef WEIR_TESTS_CHECK_H
#define WEIR_TESTS_CHECK_H

#define _GNU_SOURCE 1 /* nftw, sched_setaffinity: include this file first */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "weir.h"

/* A program of several files defines CHECKS_ARE_SHARED in all of them, and these three in one. */
#ifdef CHECKS_ARE_SHARED
extern _Atomic uint64_t checks_passed, checks_failed;
extern const char *test_name;
#else
static _Atomic uint64_t checks_passed, checks_failed;
static const char *test_name = "";
#endif

static inline void test(const char *name) {
  test_name = name;
  if (getenv("WEIR_VERBOSE")) fprintf(stderr, "- %s\n", name);
}

static inline int check_at(int good, const char *what, const char *file, int line) {
  if (good) {
    checks_passed++;
  } else if (checks_failed++ < 50) {
    fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, test_name, what);
  }
  return good;
}

static inline int check_equal_at(uint64_t a, uint64_t b, const char *what, const char *file, int line) {
  char text[256];
  snprintf(text, sizeof text, "%s (%" PRIu64 " and %" PRIu64 ")", what, a, b);
  return check_at(a == b, text, file, line);
}

#define CHECK(condition) check_at((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(a, b) check_equal_at((uint64_t)(a), (uint64_t)(b), #a " == " #b, __FILE__, __LINE__)

/* A condition that the tests themselves need; without it the run means nothing. */
static inline void require_at(int good, const char *what, const char *file, int line) {
  if (good) return;
  fprintf(stderr, "%s:%d: %s: cannot go on: %s (%s)\n", file, line, test_name, what, strerror(errno));
  exit(2);
}

#define REQUIRE(condition) require_at((condition) != 0, #condition, __FILE__, __LINE__)

static inline int finish(void) {
  printf("%" PRIu64 " passed, %" PRIu64 " failed\n", (uint64_t)checks_passed, (uint64_t)checks_failed);
  return checks_failed != 0;
}

/* ---- Random numbers --------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static inline void random_start(const char *program) {
  const char *given = getenv("WEIR_SEED");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  random_state = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
  printf("%s: WEIR_SEED=%" PRIu64 "\n", program, random_state);
  fflush(stdout);
}

/* splitmix64, from 0 to limit - 1. */
static inline uint64_t random_below(uint64_t limit) {
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (z ^ z >> 31) % limit;
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static inline int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status, (void)kind, (void)walk;
  return remove(path);
}

static inline void remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

/* A new folder's path, to be given to scratch_remove. Only its owner may write there. */
static inline char *scratch(void) {
  const char *base = getenv("TMPDIR");
  char *path = malloc(4096);
  REQUIRE(path);
  snprintf(path, 4096, "%s/weir-test-XXXXXX", base && *base ? base : "/tmp");
  REQUIRE(mkdtemp(path));
  return path;
}

static inline void scratch_remove(char *path) {
  remove_tree(path);
  free(path);
}

/* `folder`/`name`, good until the thousandth call after. */
static inline const char *join(const char *folder, const char *name) {
  static char *paths[1000];
  static unsigned next;
  char **path = &paths[next++ % 1000];
  free(*path);
  *path = malloc(strlen(folder) + strlen(name) + 2);
  REQUIRE(*path);
  sprintf(*path, "%s/%s", folder, name);
  return *path;
}

static uint64_t tree_sum;

static inline int add_file(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)walk;
  uint64_t sum = 0;
  for (const char *c = path; *c; c++) sum = sum * 31 + (uint8_t)*c;
  sum = sum * 31 + (uint64_t)status->st_mode;
  FILE *file = kind == FTW_F ? fopen(path, "rb") : NULL;
  static uint8_t bytes[1 << 16];
  size_t count;
  while (file && (count = fread(bytes, 1, sizeof bytes, file)) > 0) {
    for (size_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
  }
  if (file) fclose(file);
  tree_sum += sum; /* a sum, so that the order of listing does not count */
  return 0;
}

/* A number that changes with any name, mode or content under `path`. */
static inline uint64_t tree_checksum(const char *path) {
  tree_sum = 0;
  nftw(path, add_file, 16, FTW_PHYS);
  return tree_sum;
}

static inline int add_blocks(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)path, (void)kind, (void)walk;
  tree_sum += (uint64_t)status->st_blocks * 512;
  return 0;
}

/* Bytes that the file system has allocated to everything under `path`. */
static inline uint64_t tree_bytes(const char *path) {
  tree_sum = 0;
  nftw(path, add_blocks, 16, FTW_PHYS);
  return tree_sum;
}

/* The child's exit status, or 1000 plus the signal that ended it. */
static inline int wait_for(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) < 0) REQUIRE(errno == EINTR);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static inline void sleep_ns(uint64_t ns) {
  struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {}
}

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Waiting ---------------------------------------------------------------------------------------------------- */

/*
 * No check goes by who is quicker: a test waits for a state, however long the machine takes to come to it. Only what
 * hangs takes so long, so that a limit is never met by a test that a busy machine merely holds up.
 */
enum { HANG_SECONDS = 300 };
#define HANG_NS (HANG_SECONDS * UINT64_C(1000000000))

/* Waits until `condition` holds: 1. It is 0 only where it never comes to hold. */
#define AWAIT(condition)                                                                      \
  ({                                                                                          \
    uint64_t until_ = now_ns() + HANG_NS;                                                     \
    int holds_;                                                                               \
    while (!(holds_ = (condition) != 0) && now_ns() < until_) sleep_ns(200000);               \
    holds_;                                                                                   \
  })

/* Waits, and fails where the condition never comes to hold. */
#define CHECK_AWAIT(condition) check_at(AWAIT(condition), "never: " #condition, __FILE__, __LINE__)

#endif
