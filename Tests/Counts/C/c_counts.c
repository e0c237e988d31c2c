/*
 * c_counts.c: captures a million events in each of the ways that C has, and counts what the capturing thread did.
 *
 *     c_counts DIRECTORY       one line a subject, see counting_report
 *     c_counts DIRECTORY idle  how often the threads of an idle log wake up
 *
 * A burst fits into the lane, which is drained before the next one, outside of what is counted; so every capture is
 * accepted, and what is counted is a capture's own and nobody's waiting. The drainer is told to stay awake, for the
 * first capture after it has fallen asleep wakes it, with a system call: that is no steady state.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counting.h"
#include "weir.h"

enum { BURSTS = 200, BURST = 5000, SINNER_BURSTS = 2 };

static void expect(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "c_counts: %s\n", what);
  exit(1);
}

typedef struct subject {
  const char *name;
  uint32_t clock;
  uint32_t full_policy;
  uint32_t bursts;
  int32_t (*capture)(weir_log *log, uint32_t type, uint64_t number);
} subject;

static const char coupon[] = "twenty bytes of text";

static int32_t capture_inline(weir_log *log, uint32_t type, uint64_t number) {
  weir_record record;
  weir_id id;
  int32_t drop = weir_begin(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_u64(&record, number);
  weir_put_f64(&record, 19.99);
  weir_put_u32(&record, 3);
  weir_put_string(&record, coupon, sizeof coupon - 1);
  return weir_commit(&record, type, &id);
}

static int32_t capture_call(weir_log *log, uint32_t type, uint64_t number) {
  struct {
    uint64_t order;
    double total;
    uint32_t items, bytes;
    char coupon[20];
  } __attribute__((packed)) fields = {number, 19.99, 3, sizeof coupon - 1, {0}};
  memcpy(fields.coupon, coupon, sizeof fields.coupon);
  return weir_capture(log, type, &fields, sizeof fields, NULL);
}

/* A capture that interrupts another one of its thread, as an encoder that tracks does: it borrows a spare lane. */
static int32_t capture_nested(weir_log *log, uint32_t type, uint64_t number) {
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  drop = capture_inline(log, type, number);
  weir_cancel(&record);
  return drop;
}

static int32_t capture_in_signal(weir_log *log, uint32_t type, uint64_t number) {
  weir_record record;
  int32_t drop = weir_begin_in_signal(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_u64(&record, number);
  weir_put_f64(&record, 19.99);
  weir_put_u32(&record, 3);
  weir_put_string(&record, coupon, sizeof coupon - 1);
  return weir_commit(&record, type, NULL);
}

/* What must be noticed: shows that each kind of count is at work. */
static int32_t capture_and_sin(weir_log *log, uint32_t type, uint64_t number) {
  counting_sin();
  return capture_inline(log, type, number);
}

static const subject subjects[] = {
    {"c-inline", WEIR_CLOCK_AUTO, WEIR_FULL_DROP_NEWEST, BURSTS, capture_inline},
    {"c-call", WEIR_CLOCK_AUTO, WEIR_FULL_DROP_NEWEST, BURSTS, capture_call},
    {"c-nested", WEIR_CLOCK_AUTO, WEIR_FULL_DROP_NEWEST, BURSTS, capture_nested},
    {"c-in-signal", WEIR_CLOCK_AUTO, WEIR_FULL_DROP_NEWEST, BURSTS, capture_in_signal},
    {"c-tick", WEIR_CLOCK_TICK, WEIR_FULL_DROP_NEWEST, BURSTS, capture_inline},
    {"c-drop-oldest", WEIR_CLOCK_AUTO, WEIR_FULL_DROP_OLDEST, BURSTS, capture_inline},
    {"c-sinner", WEIR_CLOCK_AUTO, WEIR_FULL_DROP_NEWEST, SINNER_BURSTS, capture_and_sin},
};

static weir_log *open_log(const char *directory, const weir_options *options) {
  weir_log *log;
  weir_error error;
  if (weir_open(directory, options, &log, NULL, &error) != WEIR_OK) expect(0, error.message);
  return log;
}

static uint32_t define(weir_log *log) {
  weir_field fields[] = {{"order", WEIR_KIND_U64, 0},
                         {"total", WEIR_KIND_F64, 0},
                         {"items", WEIR_KIND_U32, 0},
                         {"coupon", WEIR_KIND_STRING, 0}};
  weir_definition definition = {.name = "checkout.completed", .fields = fields, .field_count = 4};
  weir_error error;
  uint32_t type;
  if (weir_define(log, 0, &definition, 1, &type, &error) != WEIR_OK) expect(0, error.message);
  return type;
}

/* The line that the checker reads. A drop-oldest lane is small and not waited for, so that captures overwrite. */
static void measure(const char *directory, const subject *subject) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.drain_interval_ns = 10000000000;
  options.clock = subject->clock;
  options.full_policy = subject->full_policy;
  uint64_t overwrites = subject->full_policy == WEIR_FULL_DROP_OLDEST, accepted = 0;
  if (overwrites) options.lane_bytes = 131072;
  weir_log *log = open_log(directory, &options);
  uint32_t type = define(log);
  weir_error error;
  counting sum = {0, 0, 0};
  for (uint64_t burst = 0; burst < subject->bursts; burst++) {
    if (!overwrites && weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) expect(0, error.message);
    /* The first ones of a thread, and after a drain, may have to wake the drainer. */
    for (int i = 0; i < 10; i++) subject->capture(log, type, 0);
    counting_begin(subject->name);
    for (uint64_t i = 0; i < BURST; i++) accepted += subject->capture(log, type, burst * BURST + i) == WEIR_ACCEPTED;
    counting_end(subject->name, &sum);
  }
  /* One that overwrites is refused where tracing keeps the drainer in the midst of its copying for a millisecond. */
  expect(overwrites || accepted == (uint64_t)subject->bursts * BURST, "a capture was refused");
  weir_counters counters;
  weir_count(log, &counters);
  expect(!overwrites || counters.overwritten > 0, "no event was overwritten");
  if (weir_close(log, &error) != WEIR_OK) expect(0, error.message);
  weir_free(log);
  counting_report(subject->name, accepted, &sum);
}

/* ---- Idle -------------------------------------------------------------------------------------------------------- */

/* The times that the process's other threads went to sleep of their own, as the kernel has it. */
static uint64_t sleeps_of_others(void) {
  uint64_t sum = 0;
  DIR *tasks = opendir("/proc/self/task");
  expect(tasks != NULL, "/proc is not there");
  for (struct dirent *entry; (entry = readdir(tasks));) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
    char path[300], line[200];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    FILE *status = fopen(path, "r");
    expect(status != NULL, path);
    while (fgets(line, sizeof line, status)) {
      unsigned long long count;
      if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1) sum += count;
    }
    fclose(status);
  }
  closedir(tasks);
  return sum;
}

static void measure_seconds(weir_log *log, uint32_t type, int seconds, int captures_a_second, const char *name) {
  weir_counters before, after;
  weir_count(log, &before);
  uint64_t sleeps = sleeps_of_others();
  for (int i = 0; i < seconds * captures_a_second; i++) {
    expect(capture_inline(log, type, 1) == WEIR_ACCEPTED, "a capture was refused");
    usleep(1000000 / captures_a_second);
  }
  if (captures_a_second == 0) sleep(seconds);
  sleeps = sleeps_of_others() - sleeps;
  weir_count(log, &after);
  printf("%s seconds=%d wakeups=%llu sleeps=%llu\n", name, seconds,
         (unsigned long long)(after.wakeups - before.wakeups), (unsigned long long)sleeps);
}

/* Longer than the pause between two touches of the files, each of which is a wake-up. */
enum { REST_MS = 1200 };

/* Waits until the log has fallen asleep. A log that never does goes on, and is found awake. */
static void await_rest(void) {
  uint64_t sleeps = sleeps_of_others();
  for (int ms = 0, rested_ms = 0; ms < 60000 && rested_ms < REST_MS; ms += 100) {
    usleep(100000);
    uint64_t now = sleeps_of_others();
    rested_ms = now == sleeps ? rested_ms + 100 : 0;
    sleeps = now;
  }
}

static void measure_idle(const char *directory) {
  weir_log *log = open_log(directory, NULL);
  uint32_t type = define(log);
  measure_seconds(log, type, 1, 20, "busy");
  await_rest();
  measure_seconds(log, type, 3, 0, "idle");
  weir_free(log);
}

int main(int argc, char **argv) {
  expect(argc == 2 || (argc == 3 && strcmp(argv[2], "idle") == 0), "usage: c_counts DIRECTORY [idle]");
  if (argc == 3) {
    measure_idle(argv[1]);
    return 0;
  }
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) measure(argv[1], &subjects[i]);
  return 0;
}
