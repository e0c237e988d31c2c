/*
 * syncs.c: what it costs to wait for the disk. First the ways to sync a stretch of a preallocated segment, in turns;
 * then weir_durable by 1, 8 and 64 threads at once, with the number of syncs that served them.
 *
 *     make bench-sync DIR=/a/folder/on/the/disk/in/question
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "weir.h"

enum { ROUNDS = 4, SYNCS = 300, CAPACITY = 8 << 20 };

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static void must(int good, const char *what) {
  if (good) return;
  perror(what);
  exit(1);
}

typedef enum way { MAPPED, MAPPED_MSYNC, WRITTEN } way;

typedef struct strategy {
  const char *name;
  way way;
  int ahead; /* the file was synced once, zeros and all, before the first event */
} strategy;

static const strategy strategies[] = {
    {"mapped, fdatasync", MAPPED, 0},
    {"mapped, written ahead, fdatasync", MAPPED, 1},
    {"mapped, msync of the stretch", MAPPED_MSYNC, 0},
    {"mapped, written ahead, msync of the stretch", MAPPED_MSYNC, 1},
    {"pwrite, fdatasync", WRITTEN, 0},
    {"pwrite, written ahead, fdatasync", WRITTEN, 1},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static double times[STRATEGIES][ROUNDS * SYNCS], firsts[STRATEGIES][ROUNDS];

static void append(const strategy *strategy, int fd, uint8_t *map, size_t at, const uint8_t *bytes, size_t count) {
  if (strategy->way == WRITTEN) must(pwrite(fd, bytes, count, (off_t)at) == (ssize_t)count, "pwrite");
  else memcpy(map + at, bytes, count);
  if (strategy->way == MAPPED_MSYNC) {
    size_t from = at & ~(size_t)4095, to = (at + count + 4095) & ~(size_t)4095;
    must(msync(map + from, to - from, MS_SYNC) == 0, "msync");
  } else {
    must(fdatasync(fd) == 0, "fdatasync");
  }
}

static void run(const char *folder, int which, int round, size_t count) {
  const strategy *strategy = &strategies[which];
  static uint8_t bytes[65536];
  memset(bytes, 7, sizeof bytes);
  char path[8192];
  snprintf(path, sizeof path, "%s/syncs", folder);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  must(fd >= 0 && fallocate(fd, 0, 0, CAPACITY) == 0, path);
  uint8_t *map = mmap(NULL, CAPACITY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  must(map != MAP_FAILED, "mmap");
  for (size_t at = 0; at < CAPACITY; at += 4096) map[at] = 0;
  if (strategy->ahead) must(fdatasync(fd) == 0, "fdatasync");
  for (int i = 0; i < SYNCS; i++) {
    double from = now_us();
    append(strategy, fd, map, (size_t)i * count % CAPACITY, bytes, count);
    double took = now_us() - from;
    if (i == 0) firsts[which][round] = took;
    times[which][round * SYNCS + i] = took;
  }
  munmap(map, CAPACITY);
  close(fd);
  unlink(path);
}

static void compare_strategies(const char *folder) {
  static const size_t counts[] = {256, 4096, 65536};
  printf("%-45s %9s %11s %11s %11s\n", "an append and its sync", "bytes", "median us", "p99 us", "first us");
  for (int size = 0; size < 3; size++) {
    for (int round = 0; round < ROUNDS; round++) {
      for (int which = 0; which < STRATEGIES; which++) run(folder, which, round, counts[size]);
    }
    for (int which = 0; which < STRATEGIES; which++) {
      qsort(times[which], ROUNDS * SYNCS, sizeof(double), by_size);
      qsort(firsts[which], ROUNDS, sizeof(double), by_size);
      printf("%-45s %9zu %11.0f %11.0f %11.0f\n", strategies[which].name, counts[size],
             times[which][ROUNDS * SYNCS / 2], times[which][ROUNDS * SYNCS * 99 / 100], firsts[which][ROUNDS / 2]);
    }
  }
}

/* ---- Group commit ------------------------------------------------------------------------------------------------ */

enum { MOST_THREADS = 64, WAITS = 500 };

typedef struct waiter {
  weir_log *log;
  double times[WAITS];
} waiter;

static void *wait_often(void *argument) {
  waiter *waiter = argument;
  for (int i = 0; i < WAITS; i++) {
    double from = now_us();
    uint8_t payload[9] = {0};
    weir_id id;
    while (weir_capture(waiter->log, WEIR_TYPE_DYNAMIC, payload, sizeof payload, &id) != WEIR_ACCEPTED) usleep(50);
    must(weir_durable(waiter->log, id, UINT64_MAX, NULL) == WEIR_OK, "weir_durable");
    waiter->times[i] = now_us() - from;
  }
  return NULL;
}

static void wait_in_groups(const char *folder, int count) {
  static waiter waiters[MOST_THREADS];
  static double all[MOST_THREADS * WAITS];
  pthread_t threads[MOST_THREADS];
  char path[8192];
  snprintf(path, sizeof path, "%s/log", folder);
  weir_options options;
  weir_options_init(&options);
  options.lane_count = MOST_THREADS + 2;
  weir_log *log;
  weir_error error;
  must(weir_open(path, &options, &log, NULL, &error) == WEIR_OK, "weir_open");
  weir_counters before, after;
  weir_count(log, &before);
  double from = now_us();
  for (int i = 0; i < count; i++) {
    waiters[i].log = log;
    must(pthread_create(&threads[i], NULL, wait_often, &waiters[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  double took = now_us() - from;
  weir_count(log, &after);
  for (int i = 0; i < count; i++) memcpy(all + i * WAITS, waiters[i].times, sizeof waiters[i].times);
  qsort(all, (size_t)(count * WAITS), sizeof *all, by_size);
  printf("%7d %12d %14.0f %11.0f %11.0f %11llu\n", count, count * WAITS, count * WAITS / (took / 1e6),
         all[count * WAITS / 2], all[count * WAITS * 99 / 100], (unsigned long long)(after.syncs - before.syncs));
  weir_close(log, NULL);
  weir_free(log);
}

int main(int count, char **arguments) {
  char folder[4000];
  snprintf(folder, sizeof folder, "%s/weir-syncs-XXXXXX", count > 1 ? arguments[1] : ".");
  must(mkdtemp(folder) != NULL, folder);
  compare_strategies(folder);
  printf("\n%7s %12s %14s %11s %11s %11s\n", "threads", "events", "events/s", "median us", "p99 us", "syncs");
  static const int groups[] = {1, 8, MOST_THREADS};
  for (int i = 0; i < 3; i++) wait_in_groups(folder, groups[i]);
  char command[4200];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) != 0;
}
