/*
 * clock_test.c: the time of an event, by each of the clocks that an opening can choose. Whatever the clock, an event's
 * time is that of its capture, to the clock's resolution, also for the first one after the drainer has slept, and also
 * when another process reads it.
 */
#include "capture_check.h"
#include "drainer.h"

static int64_t wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

enum { EVENTS = 2000, PAUSES = 3, EACH = 100 };

/* What the rates and offsets of clocks are measured to. */
enum { SLACK_NS = 5000000 };

static int64_t coarse_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void test_clock(const char *name, uint32_t clock) {
  test(name);
  char *path = scratch();
  weir_options options;
  weir_options_init(&options);
  options.clock = clock;
  weir_log *log;
  weir_error error;
  weir_status status = weir_open(path, &options, &log, NULL, &error);
  if (clock == WEIR_CLOCK_TSC && status == WEIR_ERROR_PLATFORM) {
    printf("skipped: %s, this machine's counter is not to be trusted\n", name);
    scratch_remove(path);
    return;
  }
  REQUIRE(status == WEIR_OK);
  uint32_t type = define_numbered(log);
  static int64_t before[EVENTS * PAUSES], after[EVENTS * PAUSES];
  uint64_t number = 0, refused = 0;
  for (int pause = 0; pause < PAUSES; pause++) {
    CHECK_AWAIT(drainer_sleeps(log));
    /* A tick is as old as the drainer's last pass: there is none while it sleeps, and one before each drain ends. */
    int64_t pass = wall_ns();
    for (int i = 0; i < EVENTS; i++, number++) {
      if (i % EACH == EACH - 1 && clock == WEIR_CLOCK_TICK) {
        pass = wall_ns();
        CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
      }
      /* A coarse clock is as old as the kernel's last tick. */
      before[number] = clock == WEIR_CLOCK_TICK ? pass : clock == WEIR_CLOCK_COARSE ? coarse_ns() : wall_ns();
      refused += capture_numbered(log, type, 0, number, 8, NULL) != WEIR_ACCEPTED;
      after[number] = wall_ns();
    }
  }
  CHECK_EQUAL(refused, 0);
  close_and_free(log);
  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), EVENTS * PAUSES);
  uint64_t early = 0, late = 0;
  for (uint64_t i = 0; i < found.count; i++) {
    early += found.events[i].time_ns < before[found.events[i].number] - SLACK_NS;
    late += found.events[i].time_ns > after[found.events[i].number] + SLACK_NS;
  }
  CHECK_EQUAL(early, 0);
  CHECK_EQUAL(late, 0);
  found_free(&found);
  scratch_remove(path);
}

static void test_unknown(void) {
  test("a clock that there is not is refused");
  char *path = scratch();
  weir_options options;
  weir_options_init(&options);
  options.clock = WEIR_CLOCK_TICK + 1;
  weir_log *log;
  weir_error error;
  CHECK_EQUAL(weir_open(path, &options, &log, NULL, &error), WEIR_ERROR_INVALID);
  CHECK(strstr(error.message, "clock") != NULL);
  scratch_remove(path);
}

int main(void) {
  test_clock("automatic", WEIR_CLOCK_AUTO);
  test_clock("counter", WEIR_CLOCK_TSC);
  test_clock("monotonic", WEIR_CLOCK_MONOTONIC);
  test_clock("coarse", WEIR_CLOCK_COARSE);
  test_clock("tick", WEIR_CLOCK_TICK);
  test_unknown();
  return finish();
}
