/*
 * retention_clock_test.c: retention by age, and a wall clock that is wrong for a while. Within a boot nothing is removed
 * early, and nothing stays, for what the wall clock says; what is of an earlier boot is removed for it only where it
 * has been so for an hour, or another boot says the same.
 *
 * The clocks of this process are shifted: the library asks for them by clock_gettime, which is the one below.
 */
#include "retention_check.h"

#include <sched.h>
#include <sys/syscall.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define MINUTE INT64_C(60000000000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)

/* Ahead of the machine's own: a time to wait until is never in the past. */
static _Atomic int64_t monotonic_shift = 10 * DAY, wall_shift;

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  int64_t ns = time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
  if (clock == CLOCK_REALTIME) ns += wall_shift;
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE) ns += monotonic_shift;
  time->tv_sec = ns / 1000000000;
  time->tv_nsec = ns % 1000000000;
  return result;
}

static int64_t wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void elapse(int64_t ns) {
  monotonic_shift += ns;
  wall_shift += ns;
}

/* The machine starts anew. */
static void boot(void) {
  static uint8_t id[16];
  id[0]++;
  weir_fault_boot_id(id);
  elapse(MINUTE);
}

static void set_wall(int64_t ns) { wall_shift += ns - wall_ns(); }

/* ---- One log ----------------------------------------------------------------------------------------------------- */

enum { EVENTS = 700 }; /* some segments full */

static char *folder;
static const char *directory;
static uint64_t captured;

static void begin(const char *name) {
  test(name);
  folder = scratch();
  directory = join(folder, "log");
  captured = 0;
  wall_shift = 0;
  boot();
}

static weir_log *open_retaining(int64_t retain_ns) {
  weir_options options = small_options();
  options.retain_ns = (uint64_t)retain_ns;
  options.clock = WEIR_CLOCK_MONOTONIC; /* the processor's own counter is not shifted */
  return open_with(directory, &options, NULL);
}

static void capture(weir_log *log) {
  CHECK_EQUAL(capture_watched(log, define_numbered(log), captured, EVENTS, 0), EVENTS);
  captured += EVENTS;
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
}

/* Opens, captures and closes. Answers how many events have ever been removed. */
static uint64_t session(int64_t retain_ns) {
  weir_log *log = open_retaining(retain_ns);
  capture(log);
  close_and_free(log);
  return check_conserved(directory, captured, 0).removed;
}

/* The same without an event: what an opening alone removes. */
static uint64_t look(int64_t retain_ns) {
  close_and_free(open_retaining(retain_ns));
  return check_conserved(directory, captured, 0).removed;
}

static void end(void) {
  weir_fault_boot_id(NULL);
  scratch_remove(folder);
}

/* ---- Within a boot ----------------------------------------------------------------------------------------------- */

static void test_ahead_for_a_while(void) {
  begin("a wall clock that is a year ahead for a while removes nothing of what was captured since the machine started");
  weir_log *log = open_retaining(7 * DAY);
  capture(log);
  wall_shift += YEAR;
  capture(log);
  close_and_free(log);
  CHECK_EQUAL(check_conserved(directory, captured, 0).removed, 0);
  CHECK_EQUAL(session(7 * DAY), 0);
  wall_shift -= YEAR;
  CHECK_EQUAL(session(7 * DAY), 0);
  elapse(6 * DAY);
  CHECK_EQUAL(session(7 * DAY), 0);
  elapse(2 * DAY);
  CHECK_EQUAL(session(7 * DAY), 4 * EVENTS);
  end();
}

static void test_without_a_battery(void) {
  begin("a machine that starts in 1970 and is told the time later loses nothing");
  set_wall(100 * MINUTE);
  weir_log *log = open_retaining(7 * DAY);
  capture(log);
  wall_shift = 0;
  capture(log);
  close_and_free(log);
  CHECK_EQUAL(check_conserved(directory, captured, 0).removed, 0);
  CHECK_EQUAL(session(7 * DAY), 0);
  end();
}

static void test_set_back(void) {
  begin("events of a wall clock that was a year ahead, and was set right, are removed when they are old");
  wall_shift = YEAR;
  weir_log *log = open_retaining(DAY);
  capture(log);
  wall_shift = 0;
  capture(log);
  close_and_free(log);
  CHECK_EQUAL(session(DAY), 0);
  elapse(DAY + HOUR);
  CHECK_EQUAL(session(DAY), 3 * EVENTS);
  wall_shift -= YEAR; /* the same where the present is a year behind */
  elapse(DAY + HOUR);
  CHECK_EQUAL(session(DAY), 4 * EVENTS);
  end();
}

/*
 * A session of a process in a time namespace whose monotonic clock is a day ahead; `removed` is what was removed by its
 * end. 0: this process may not make such a namespace.
 */
static int session_elsewhere(int64_t retain_ns, uint64_t removed) {
  enum { NO_NAMESPACE = 77 };
  pid_t maker = fork();
  REQUIRE(maker >= 0);
  if (maker == 0) {
    int offsets = unshare(CLONE_NEWTIME) == 0 ? open("/proc/self/timens_offsets", O_WRONLY) : -1;
    if (offsets < 0 || dprintf(offsets, "monotonic 86400 0\n") < 0) _exit(NO_NAMESPACE);
    pid_t inhabitant = fork(); /* who is born there lives there */
    if (inhabitant == 0) {
      uint64_t failed_before = checks_failed;
      CHECK_EQUAL(session(retain_ns), removed);
      _exit(checks_failed > failed_before);
    }
    _exit(inhabitant < 0 ? 2 : wait_for(inhabitant));
  }
  int status = wait_for(maker);
  if (status == NO_NAMESPACE) return 0;
  CHECK_EQUAL(status, 0);
  captured += EVENTS;
  return 1;
}

static void test_time_namespace(void) {
  begin("a process in another time namespace removes nothing early, nor has others remove what it captured");
  CHECK_EQUAL(session(HOUR), 0);
  if (session_elsewhere(HOUR, 0)) {
    CHECK_EQUAL(session(HOUR), 0);
    elapse(3 * HOUR);
    CHECK_EQUAL(session(HOUR), 3 * EVENTS); /* what was sealed there is not of tomorrow */
    CHECK(session_elsewhere(HOUR, 3 * EVENTS));
  } else {
    printf("skipped: a time namespace, which takes root\n");
  }
  end();
}

/* ---- Across boots ------------------------------------------------------------------------------------------------ */

static void test_right_clocks(void) {
  begin("what is of an earlier boot is removed by the wall clock, once that has kept step for an hour");
  CHECK_EQUAL(session(DAY), 0);
  boot();
  elapse(2 * DAY);
  CHECK_EQUAL(session(DAY), 0);
  elapse(30 * MINUTE);
  CHECK_EQUAL(look(DAY), 0);
  elapse(31 * MINUTE);
  CHECK_EQUAL(look(DAY), EVENTS);
  end();
}

static void test_ahead_at_the_start(void) {
  begin("a wall clock that is a year ahead when the machine starts, and is set right, removes nothing");
  CHECK_EQUAL(session(DAY), 0);
  boot();
  wall_shift += YEAR;
  CHECK_EQUAL(session(DAY), 0);
  elapse(30 * MINUTE);
  CHECK_EQUAL(look(DAY), 0);
  weir_log *log = open_retaining(DAY);
  wall_shift -= YEAR;
  close_and_free(log);
  elapse(31 * MINUTE);
  CHECK_EQUAL(look(DAY), 0);
  elapse(2 * HOUR);
  CHECK_EQUAL(look(DAY), 0);
  end();
}

static void test_dated_later(void) {
  begin("of an earlier boot that was told the time late, the events are dated by the time that it was told");
  set_wall(100 * MINUTE);
  weir_log *log = open_retaining(DAY);
  capture(log);
  wall_shift = 0;
  capture(log);
  close_and_free(log);
  boot();
  CHECK_EQUAL(session(DAY), 0);
  elapse(2 * HOUR);
  CHECK_EQUAL(look(DAY), 0);
  end();
}

static void test_never_told(void) {
  begin("what was captured in 1970 is kept until this boot has lasted so long");
  set_wall(100 * MINUTE);
  CHECK_EQUAL(session(DAY), 0);
  boot();
  wall_shift = 0;
  CHECK_EQUAL(session(DAY), 0);
  elapse(23 * HOUR);
  CHECK_EQUAL(look(DAY), 0);
  elapse(2 * HOUR);
  CHECK(look(DAY) >= EVENTS);
  end();
}

static void test_behind(void) {
  begin("a wall clock that is behind for good does not keep an earlier boot's events for ever");
  CHECK_EQUAL(session(DAY), 0);
  boot();
  wall_shift -= YEAR;
  CHECK_EQUAL(session(DAY), 0);
  elapse(23 * HOUR);
  CHECK_EQUAL(look(DAY), 0);
  elapse(2 * HOUR);
  CHECK(look(DAY) >= EVENTS);
  end();
}

static void test_short_runs(void) {
  begin("of a program that runs for minutes a boot, what two boots say is old is removed");
  CHECK_EQUAL(session(DAY), 0);
  boot();
  elapse(2 * DAY);
  CHECK_EQUAL(session(DAY), 0); /* the word of this boot's clock alone */
  boot();
  CHECK_EQUAL(session(DAY), EVENTS);
  end();
}

int main(void) {
  random_start("retention_clock_test");
  test_ahead_for_a_while();
  test_without_a_battery();
  test_set_back();
  test_time_namespace();
  test_right_clocks();
  test_ahead_at_the_start();
  test_dated_later();
  test_never_told();
  test_behind();
  test_short_runs();
  return finish();
}
