/*
 * wall_step_test.c: the wall clock is set back and forth while events are captured and drained. No event is lost, none
 * is there twice or out of order. Each has a wall time of a clock that was set at some moment. The monotonic times do
 * not change with the wall clock.
 *
 * The wall clock of this process is shifted: the library asks for it by clock_gettime, which is the one below.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#define HOUR INT64_C(3600000000000)

/* What the clock is set to, beside the machine's own. */
static const int64_t shifts[] = {0, HOUR, -HOUR, 365 * 24 * HOUR, -3650 * 24 * HOUR};

enum { SHIFTS = sizeof shifts / sizeof *shifts, EVENTS = 20000, EACH = 500 };

/* The largest error of the measured rates and offsets of clocks. */
enum { SLACK_NS = 5000000 };

static _Atomic int64_t wall_shift;

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return result;
  int64_t ns = time->tv_sec * INT64_C(1000000000) + time->tv_nsec + wall_shift;
  time->tv_sec = ns / 1000000000;
  time->tv_nsec = ns % 1000000000;
  return result;
}

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static _Atomic int is_over;

static void *step(void *nothing) {
  for (unsigned number = 0; !is_over; number++) {
    wall_shift = shifts[number % SHIFTS];
    sched_yield();
  }
  return nothing;
}

/* Whether a wall time less its monotonic time is that of one of the shifts. `base` is that of the machine's own. */
static int is_set(int64_t difference, int64_t base) {
  for (int i = 0; i < SHIFTS; i++) {
    int64_t off = difference - base - shifts[i];
    if (off > -SLACK_NS && off < SLACK_NS) return 1;
  }
  return 0;
}

static void test_steps(const char *name, uint32_t clock) {
  test(name);
  char *path = scratch();
  weir_options options;
  weir_options_init(&options);
  options.clock = clock;
  weir_log *log;
  weir_error error;
  wall_shift = 0;
  /* The largest of several: a pause between the two readings makes the difference smaller. */
  int64_t base = INT64_MIN;
  for (int i = 0; i < 20; i++) {
    int64_t wall = clock_ns(CLOCK_REALTIME);
    int64_t difference = wall - clock_ns(CLOCK_MONOTONIC);
    if (difference > base) base = difference;
  }
  REQUIRE(weir_open(path, &options, &log, NULL, &error) == WEIR_OK);
  uint32_t type = define_numbered(log);
  static int64_t before[EVENTS], after[EVENTS];
  pthread_t thread;
  is_over = 0;
  REQUIRE(pthread_create(&thread, NULL, step, NULL) == 0);
  uint64_t refused = 0;
  for (uint64_t number = 0; number < EVENTS; number++) {
    before[number] = clock_ns(CLOCK_MONOTONIC);
    refused += capture_numbered(log, type, 0, number, 8, NULL) != WEIR_ACCEPTED;
    after[number] = clock_ns(CLOCK_MONOTONIC);
    if (number % EACH == EACH - 1) CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  }
  is_over = 1;
  pthread_join(thread, NULL);
  CHECK_EQUAL(refused, 0);
  close_and_free(log);
  wall_shift = 0;

  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), EVENTS);
  found_free(&found);

  weir_reader_options reading;
  weir_reader_options_init(&reading);
  weir_reader *reader;
  REQUIRE(weir_reader_open(path, &reading, &reader, &error) == WEIR_OK);
  weir_event event;
  weir_skip skip;
  uint64_t number = 0, unknown = 0, outside = 0, back = 0, unset = 0;
  int64_t last = 0;
  while (weir_reader_next(reader, &event, &skip, &error) == WEIR_OK) {
    if (!name_is(&event, "numbered")) continue;
    REQUIRE(number < EVENTS);
    unknown += event.monotonic_ns == INT64_MIN;
    outside += event.monotonic_ns < before[number] - SLACK_NS || event.monotonic_ns > after[number] + SLACK_NS;
    back += event.monotonic_ns < last - SLACK_NS;
    unset += !is_set(event.time_ns - event.monotonic_ns, base);
    last = event.monotonic_ns;
    number++;
  }
  weir_reader_close(reader);
  CHECK_EQUAL(number, EVENTS);
  CHECK_EQUAL(unknown, 0);
  CHECK_EQUAL(outside, 0);
  CHECK_EQUAL(back, 0);
  CHECK_EQUAL(unset, 0);
  scratch_remove(path);
}

/* What is captured after the clock was set is dated by it, from the next opening on at the latest. */
static void test_set_for_good(void) {
  test("a clock that was set dates what the next opening captures");
  char *path = scratch();
  for (int i = 0; i < SHIFTS; i++) {
    wall_shift = shifts[i];
    weir_options options;
    weir_options_init(&options);
    weir_log *log;
    weir_error error;
    REQUIRE(weir_open(path, &options, &log, NULL, &error) == WEIR_OK);
    int64_t from = clock_ns(CLOCK_REALTIME);
    CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, (uint64_t)i, 8, NULL), WEIR_ACCEPTED);
    int64_t to = clock_ns(CLOCK_REALTIME);
    close_and_free(log);
    found_log found = read_log(path);
    check_sound(&found);
    if (CHECK_EQUAL(found.count, i + 1)) {
      CHECK(found.events[i].time_ns >= from - SLACK_NS);
      CHECK(found.events[i].time_ns <= to + SLACK_NS);
    }
    found_free(&found);
  }
  wall_shift = 0;
  scratch_remove(path);
}

int main(void) {
  test_steps("automatic", WEIR_CLOCK_AUTO);
  test_steps("monotonic", WEIR_CLOCK_MONOTONIC);
  test_set_for_good();
  return finish();
}
