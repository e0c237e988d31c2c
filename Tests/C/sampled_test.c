/*
 * sampled_test.c: captures that the caller leaves out on purpose: counted in the ring, told of in the log once a
 * segment, at the close and in recovery, and never lost or counted twice.
 */
#include "context_check.h"
#include "drainer.h"

#include <pthread.h>
#include <signal.h>

static void sample_out(weir_log *log, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    weir_record record;
    if (!CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED)) return;
    weir_put_u64(&record, i);
    CHECK_EQUAL(weir_refuse(&record, WEIR_DROP_SAMPLED), WEIR_DROP_SAMPLED);
  }
}

/* What gap records say was sampled out, and how many they are. */
typedef struct told {
  uint64_t records, events, others;
} told;

static told read_told(const char *directory) {
  weir_reader *reader;
  weir_event event;
  told told = {0};
  REQUIRE(weir_reader_open(directory, NULL, &reader, NULL) == WEIR_OK);
  while (weir_reader_next(reader, &event, NULL, NULL) == WEIR_OK) {
    uint64_t dropped;
    if (event.type != WEIR_TYPE_GAP) continue;
    const char *name = weir_drop_name(WEIR_DROP_SAMPLED);
    if (event.payload_bytes != 24 + strlen(name) || memcmp(event.payload + 8, name, strlen(name)) != 0) {
      told.others++;
      continue;
    }
    memcpy(&dropped, event.payload + 8 + strlen(name), 8);
    told.records++;
    told.events += dropped;
  }
  weir_reader_close(reader);
  return told;
}

static uint64_t counted(weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters.dropped[WEIR_DROP_SAMPLED];
}

static uint64_t summed(const char *directory) {
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(directory, &stat, NULL), WEIR_OK);
  CHECK_EQUAL(stat.damaged, 0);
  return stat.dropped[WEIR_DROP_SAMPLED];
}

static void at_the_close(void) {
  test("what was sampled out is told of at the close, not at each drain");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_said(directory, 0, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  for (uint64_t i = 1; i <= 10; i++) {
    CHECK_EQUAL(capture_said(log, type, 0, i), WEIR_ACCEPTED);
    sample_out(log, 100);
    CHECK_EQUAL(counted(log), 100 * i);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    CHECK_EQUAL(read_told(directory).records, 0);
    CHECK_EQUAL(summed(directory), 100 * i); /* the log does not say so yet, the ring does */
  }
  close_said(log);
  told told = read_told(directory);
  CHECK_EQUAL(told.records, 1);
  CHECK_EQUAL(told.events, 1000);
  CHECK_EQUAL(told.others, 0);
  CHECK_EQUAL(summed(directory), 1000);
  CHECK_EQUAL(check_said(directory), 10);
  scratch_remove(folder);
}

static void once_a_segment(void) {
  test("what was sampled out is told of once a segment");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_said(directory, 1, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  uint64_t sampled = 0;
  weir_counters counters;
  do {
    for (int i = 0; i < 100; i++) CHECK_EQUAL(capture_said(log, type, 0, 0), WEIR_ACCEPTED);
    sample_out(log, 10);
    sampled += 10;
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    weir_count(log, &counters);
    CHECK_EQUAL(summed(directory), sampled); /* some of it told of, some not */
  } while (counters.segments < 5);
  told before = read_told(directory);
  CHECK(before.records >= 3 && before.records <= 4);
  CHECK(before.events > sampled / 2 && before.events <= sampled);
  close_said(log);
  told after = read_told(directory);
  CHECK(after.records >= 4 && after.records <= 5);
  CHECK_EQUAL(after.events, sampled);
  CHECK_EQUAL(summed(directory), sampled);
  scratch_remove(folder);
}

static void killed(void) {
  test("what a killed process sampled out is counted by recovery, once");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint64_t sampled = 0;
  for (uint64_t life = 1; life <= 4; life++) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_log *log = open_said(directory, life % 2 == 0, NULL);
      uint32_t type = define_said(log);
      for (int i = 0; i < 300; i++) {
        sample_out(log, life);
        capture_said(log, type, 0, 0);
      }
      raise(SIGKILL);
    }
    CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    sampled += 300 * life;
    CHECK_EQUAL(summed(directory), sampled);
    CHECK_EQUAL(read_told(directory).events, sampled);
  }
  weir_recovery recovery;
  weir_log *log = open_said(directory, 0, &recovery);
  REQUIRE(log);
  CHECK_EQUAL(recovery.sampled, 1200);
  CHECK_EQUAL(recovery.dropped, 0);
  close_said(log);
  CHECK_EQUAL(summed(directory), sampled);
  CHECK_EQUAL(read_told(directory).events, sampled);
  CHECK_EQUAL(check_said(directory), 1200);
  scratch_remove(folder);
}

static void *sum_up_again(void *context) {
  const char *directory = context;
  uint64_t last = 0;
  for (int i = 0; i < 300; i++) {
    uint64_t now = summed(directory);
    CHECK(now >= last);
    last = now;
  }
  return NULL;
}

static void while_it_is_told(void) {
  test("the sum of a live log counts nothing twice while the log is told of it, and never goes back");
  char *folder = scratch();
  char directory[4096];
  snprintf(directory, sizeof directory, "%s", join(folder, "log"));
  weir_log *log = open_said(directory, 1, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, sum_up_again, directory) == 0);
  uint64_t sampled = 0;
  for (int i = 0; i < 30000; i++) {
    CHECK_EQUAL(capture_said(log, type, 0, 0), WEIR_ACCEPTED);
    sample_out(log, 1);
    sampled++;
    if (i % 100 == 0) CHECK(summed(directory) == sampled);
  }
  pthread_join(thread, NULL);
  CHECK_EQUAL(summed(directory), sampled);
  close_said(log);
  CHECK_EQUAL(summed(directory), sampled);
  scratch_remove(folder);
}

/* Also from a borrowed lane, which must be given back. */
static void wakes_nobody(void) {
  test("leaving an event out wakes nobody, and gives a borrowed lane back");
  char *folder = scratch();
  weir_log *log;
  REQUIRE(weir_open(join(folder, "log"), NULL, &log, NULL, NULL) == WEIR_OK);
  weir_record outer;
  CHECK_EQUAL(weir_begin(log, &outer), WEIR_ACCEPTED);
  sample_out(log, 100); /* each of them borrows a lane, of which there are two */
  weir_cancel(&outer);
  sample_out(log, 1); /* this thread's own lane is there */
  CHECK_AWAIT(drainer_sleeps(log));
  weir_counters before, after;
  weir_count(log, &before);
  uint64_t began = now_ns();
  for (int i = 0; i < 20; i++) {
    sample_out(log, 10);
    sleep_ns(1000000);
  }
  weir_count(log, &after);
  /* Where the kernel has no membarrier, the sleep has an end after 50 ms. */
  uint64_t ends = ((event_log *)log)->intake.membarrier ? 0 : (now_ns() - began) / 50000000 + 1;
  CHECK(after.wakeups - before.wakeups <= ends);
  CHECK_EQUAL(counted(log), 301);
  close_said(log);
  CHECK_EQUAL(summed(join(folder, "log")), 301);
  scratch_remove(folder);
}

static void by_others(void) {
  test("a caller can't refuse for reasons that are not its to find");
  char *folder = scratch();
  weir_log *log = open_said(join(folder, "log"), 0, NULL);
  REQUIRE(log);
  static const int32_t not_its[] = {
      WEIR_ACCEPTED, WEIR_LOST_OVERWRITTEN, WEIR_LOST_EXPIRED, WEIR_LOST_DISPLACED, 12, -1};
  for (size_t i = 0; i < sizeof not_its / sizeof *not_its; i++) {
    weir_record record;
    CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED);
    CHECK_EQUAL(weir_refuse(&record, not_its[i]), WEIR_DROP_INVALID);
  }
  CHECK(strcmp(weir_drop_name(WEIR_DROP_SAMPLED), "sampled") == 0);
  close_said(log);
  scratch_remove(folder);
}

int main(void) {
  random_start("sampled_test");
  at_the_close();
  once_a_segment();
  killed();
  while_it_is_told();
  wakes_nobody();
  by_others();
  return finish();
}
