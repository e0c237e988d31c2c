/*
 * failing.c: the rules of weir_failing.h, by which calls on one directory's files fail. Test only; unlike the faults of
 * system.h they leave other logs of the process alone, for users' tests run beside each other.
 */
#include "weir_failing.h"

#include "system/failing.h"

#ifdef WEIR_FAULT_INJECTION

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  MAX_RULES = 32,
  ALL_KINDS = WEIR_FAIL_CREATE | WEIR_FAIL_GROW | WEIR_FAIL_WRITE | WEIR_FAIL_SYNC | WEIR_FAIL_RENAME | WEIR_FAIL_READ,
  MAX_ERROR = 4095, /* of Linux */
};

typedef struct rule {
  char directory[PATH_MAX]; /* without links, as the kernel names what is open */
  uint32_t kinds;
  int error;
  uint64_t after, times, seen, failed;
  int number; /* 0: not in use */
} rule;

static rule rules[MAX_RULES];
static int last_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t in_force; /* so that a process without rules pays a load a call */

int weir_fail_available(void) { return 1; }

int weir_fail_begin(const char *directory, uint32_t kinds, uint64_t after, uint64_t times, int error) {
  char path[PATH_MAX];
  if (!directory || !realpath(directory, path)) return -1;
  if (kinds == 0 || (kinds & ~(uint32_t)ALL_KINDS) != 0 || error <= 0 || error > MAX_ERROR) return -1;
  int number = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_RULES && number < 0; i++) {
    if (rules[i].number != 0) continue;
    number = last_number = last_number == INT_MAX ? 1 : last_number + 1;
    rules[i] = (rule){.kinds = kinds, .error = error, .after = after, .times = times, .number = number};
    memcpy(rules[i].directory, path, sizeof path);
    __atomic_add_fetch(&in_force, 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&lock);
  return number;
}

static rule *find(int number) {
  for (int i = 0; i < MAX_RULES && number > 0; i++)
    if (rules[i].number == number) return &rules[i];
  return NULL;
}

void weir_fail_end(int number) {
  pthread_mutex_lock(&lock);
  rule *found = find(number);
  if (found) {
    found->number = 0;
    __atomic_sub_fetch(&in_force, 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&lock);
}

uint64_t weir_fail_count(int number) {
  pthread_mutex_lock(&lock);
  rule *found = find(number);
  uint64_t failed = found ? found->failed : 0;
  pthread_mutex_unlock(&lock);
  return failed;
}

static int is_below(const char *path, const char *directory) {
  size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == 0);
}

int failing_call(uint32_t kind, int fd) {
  if (__atomic_load_n(&in_force, __ATOMIC_RELAXED) == 0 || fd < 0) return 0;
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  int error = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_RULES; i++) {
    rule *each = &rules[i];
    if (each->number == 0 || (each->kinds & kind) == 0 || !is_below(path, each->directory)) continue;
    uint64_t seen = each->seen++;
    if (seen < each->after || seen - each->after >= each->times || error != 0) continue;
    each->failed++;
    error = -each->error;
  }
  pthread_mutex_unlock(&lock);
  return error;
}

#else

int weir_fail_available(void) { return 0; }

int weir_fail_begin(const char *directory, uint32_t kinds, uint64_t after, uint64_t times, int error) {
  (void)directory, (void)kinds, (void)after, (void)times, (void)error;
  return 0;
}

void weir_fail_end(int rule) { (void)rule; }

uint64_t weir_fail_count(int rule) {
  (void)rule;
  return 0;
}

#endif
