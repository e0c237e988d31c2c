/*
 * paths_test.c: the ways to a lane that are not the ordinary one, and what they leave behind: more threads than lanes,
 * threads that come and go by the thousand, captures within captures, captures from destructors of thread keys, threads
 * that end half-way, many logs in one process, a wall clock that jumps, the smallest and the largest event.
 */
#include "capture_check.h"
#include "drainer.h"

#include <pthread.h>
#include <sys/syscall.h>

static void small_options(weir_options *options) {
  weir_options_init(options);
  options->lane_count = 4;
  options->lane_bytes = 8192;
  options->max_event_bytes = 1024;
  options->segment_bytes = 256 << 10;
}

static weir_log *open_with(const char *directory, const weir_options *options) {
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

/* Closes, and holds what is in the log against what was accepted and refused. */
static void close_and_check(weir_log *log, const char *directory, uint64_t accepted, uint64_t refused) {
  weir_counters counters;
  weir_count(log, &counters);
  uint64_t dropped = 0;
  for (int reason = 0; reason < WEIR_DROP_REASONS; reason++) dropped += counters.dropped[reason];
  CHECK_EQUAL(counters.accepted, accepted);
  CHECK_EQUAL(dropped, refused);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count, accepted);
  CHECK_EQUAL(found.gaps, refused);
  found_free(&found);
}

static uint32_t lanes_in_use(weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters.lanes_in_use;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef struct visit {
  weir_log *log;
  uint32_t type;
  uint64_t number, events, accepted, refused;
  pthread_barrier_t *start, *end;
  pthread_t thread;
} visit;

static void *visit_log(void *context) {
  visit *self = context;
  if (self->start) pthread_barrier_wait(self->start);
  for (uint64_t i = 0; i < self->events; i++) {
    int32_t drop = capture_numbered(self->log, self->type, self->number, self->accepted, i % 32, NULL);
    if (drop == WEIR_ACCEPTED) self->accepted++;
    else self->refused += CHECK(drop == WEIR_DROP_FULL || drop == WEIR_DROP_NO_LANE);
  }
  if (self->end) pthread_barrier_wait(self->end); /* nobody gives a lane back before everybody has captured */
  return NULL;
}

static void crowd_on_few_lanes(void) {
  enum { THREADS = 100 };
  test("case 14: a hundred threads on three lanes: all are served or counted, and the lanes are free afterwards");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  weir_log *log = open_with(directory, &options);
  pthread_barrier_t start, end;
  REQUIRE(pthread_barrier_init(&start, NULL, THREADS) == 0 && pthread_barrier_init(&end, NULL, THREADS) == 0);
  static visit visits[THREADS];
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < THREADS; i++) {
    visits[i] = (visit){.log = log, .type = type, .number = i, .events = 200, .start = &start, .end = &end};
    REQUIRE(pthread_create(&visits[i].thread, NULL, visit_log, &visits[i]) == 0);
  }
  uint64_t accepted = 0, refused = 0;
  for (uint64_t i = 0; i < THREADS; i++) {
    REQUIRE(pthread_join(visits[i].thread, NULL) == 0);
    accepted += visits[i].accepted;
    refused += visits[i].refused;
  }
  CHECK_EQUAL(accepted + refused, THREADS * 200);
  CHECK(accepted > 0);
  CHECK_EQUAL(lanes_in_use(log), 0);
  close_and_check(log, directory, accepted, refused);
  pthread_barrier_destroy(&start);
  pthread_barrier_destroy(&end);
  scratch_remove(folder);
}

static void thousands_come_and_go(void) {
  enum { WAVES = 500, WIDTH = 10 };
  test("case 13: five thousand threads come and go, ten at a time on ten lanes: none is refused, none keeps its lane");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  options.lane_count = WIDTH + 1;
  options.spare_lanes = 1;
  options.full_wait_ns = UINT64_MAX;
  weir_log *log = open_with(directory, &options);
  uint32_t type = define_numbered(log);
  pthread_barrier_t end;
  REQUIRE(pthread_barrier_init(&end, NULL, WIDTH) == 0);
  uint64_t accepted = 0;
  for (int wave = 0; wave < WAVES; wave++) {
    visit visits[WIDTH];
    for (uint64_t i = 0; i < WIDTH; i++) {
      visits[i] = (visit){.log = log, .type = type, .number = (uint64_t)wave * WIDTH + i, .events = 3, .end = &end};
      REQUIRE(pthread_create(&visits[i].thread, NULL, visit_log, &visits[i]) == 0);
    }
    for (uint64_t i = 0; i < WIDTH; i++) {
      REQUIRE(pthread_join(visits[i].thread, NULL) == 0);
      accepted += visits[i].accepted;
    }
    if (!CHECK_EQUAL(lanes_in_use(log), 0)) break;
  }
  CHECK_EQUAL(accepted, WAVES * WIDTH * 3);
  close_and_check(log, directory, accepted, 0);
  pthread_barrier_destroy(&end);
  scratch_remove(folder);
}

/* ---- Thread ends ------------------------------------------------------------------------------------------------- */

static pthread_key_t early_key, late_key;
static uint64_t destructor_captures, destructor_passes;

static void capture_in_destructor(void *context) {
  visit *self = context;
  self->refused += capture_numbered(self->log, self->type, self->number, self->accepted, 8, NULL) != WEIR_ACCEPTED;
  self->accepted++;
  destructor_captures++;
  if (destructor_passes-- > 0) {
    pthread_setspecific(early_key, self);
    pthread_setspecific(late_key, self);
  }
}

static void *end_capturing(void *context) {
  visit *self = context;
  pthread_setspecific(early_key, self);
  pthread_setspecific(late_key, self);
  if (self->events > 0) visit_log(self);
  return NULL;
}

/* `early_key` is older than the process's first log: its destructor runs before Weir's in each pass over the keys. */
static void captures_from_destructors(void) {
  test("case 13: destructors capture before and after Weir's own, in a thread with a lane and in one without");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  weir_log *log = open_with(directory, &options);
  REQUIRE(pthread_key_create(&late_key, capture_in_destructor) == 0);
  uint32_t type = define_numbered(log);
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < 100; i++) {
    visit one = {.log = log, .type = type, .number = i, .events = i % 3};
    destructor_passes = i % 5;
    REQUIRE(pthread_create(&one.thread, NULL, end_capturing, &one) == 0);
    REQUIRE(pthread_join(one.thread, NULL) == 0);
    CHECK_EQUAL(one.refused, 0);
    accepted += one.accepted;
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK); /* so that no lane fills up */
    if (!CHECK_EQUAL(lanes_in_use(log), 0)) break;
  }
  CHECK(destructor_captures >= 200);
  pthread_key_delete(late_key);
  close_and_check(log, directory, accepted, 0);
  scratch_remove(folder);
}

/* Ends its thread with `events` captures begun within each other. */
static void *end_half_way(void *context) {
  visit *self = context;
  weir_record records[4];
  for (uint64_t i = 0; i < self->events; i++) {
    CHECK_EQUAL(weir_begin(self->log, &records[i]), WEIR_ACCEPTED);
    weir_put_u64(&records[i], self->number);
  }
  pthread_exit(NULL);
}

static void threads_end_half_way(void) {
  test("case 13: a thread that ends within captures leaves nothing of them, and its lanes are free");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  weir_log *log = open_with(directory, &options);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 30; i++) {
    visit one = {.log = log, .type = type, .number = i, .events = 1 + i % 3};
    REQUIRE(pthread_create(&one.thread, NULL, end_half_way, &one) == 0);
    REQUIRE(pthread_join(one.thread, NULL) == 0);
    if (!CHECK_EQUAL(lanes_in_use(log), 0)) break;
  }
  CHECK_EQUAL(capture_numbered(log, type, 0, 0, 8, NULL), WEIR_ACCEPTED);
  close_and_check(log, directory, 1, 0);
  scratch_remove(folder);
}

/* ---- Captures within captures ------------------------------------------------------------------------------------ */

static int32_t commit_numbered(weir_record *record, uint32_t type, uint64_t number, weir_id *id) {
  weir_put_u64(record, 0);
  weir_put_u64(record, number);
  weir_put_string(record, NULL, 0);
  return weir_commit(record, type, id);
}

/* Four captures begun within each other: the thread's own lane, the two spare ones, and no lane. */
static void nest(weir_log *log, uint32_t type, int outermost_first, uint64_t number) {
  weir_record records[4];
  weir_id ids[3];
  for (int i = 0; i < 3; i++) CHECK_EQUAL(weir_begin(log, &records[i]), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_begin(log, &records[3]), WEIR_DROP_NO_LANE);
  CHECK_EQUAL(weir_commit(&records[3], type, NULL), WEIR_DROP_INVALID); /* begun in vain: harmless */
  for (int i = 0; i < 3; i++) {
    int at = outermost_first ? i : 2 - i;
    CHECK_EQUAL(commit_numbered(&records[at], type, number + (uint64_t)i, &ids[at]), WEIR_ACCEPTED);
  }
  CHECK(ids[0].sequence >> 48 != ids[1].sequence >> 48);
  CHECK(ids[1].sequence >> 48 != ids[2].sequence >> 48);
  CHECK(ids[0].sequence >> 48 != ids[2].sequence >> 48);
}

static void captures_nest(void) {
  enum { ROUNDS = 1000 };
  test("three captures within each other use the spare lanes, a fourth is refused at once and counted");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  options.full_wait_ns = UINT64_MAX; /* but for a lane that the thread itself holds nobody waits */
  weir_log *log = open_with(directory, &options);
  uint32_t type = define_numbered(log);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    nest(log, type, (int)(round % 2), round * 3);
    if (!CHECK_EQUAL(lanes_in_use(log), 1)) break;
  }
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_NO_LANE], ROUNDS);
  close_and_check(log, directory, ROUNDS * 3, ROUNDS);
  scratch_remove(folder);
}

static void close_within_captures(void) {
  test("case 20: close while a thread is three captures deep: what commits is kept, and only then the log is let go");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  weir_log *log = open_with(directory, &options), *other;
  uint32_t type = define_numbered(log);
  weir_record records[3], late;
  for (int i = 0; i < 3; i++) CHECK_EQUAL(weir_begin(log, &records[i]), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_ERROR_TIMEOUT);
  CHECK_EQUAL(weir_begin(log, &late), WEIR_DROP_CLOSED);
  CHECK_EQUAL(weir_open(directory, &options, &other, NULL, NULL), WEIR_ERROR_LOCKED);
  CHECK_EQUAL(commit_numbered(&records[2], type, 0, NULL), WEIR_ACCEPTED);
  weir_cancel(&records[1]);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_ERROR_TIMEOUT); /* the outermost goes on */
  CHECK_EQUAL(commit_numbered(&records[0], type, 1, NULL), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, 2);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_CLOSED], 1);
  weir_free(log);
  close_and_free(open_with(directory, &options)); /* recovers what came after the drainer's last pass */
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count, 2);
  found_free(&found);
  scratch_remove(folder);
}

/* ---- Many logs --------------------------------------------------------------------------------------------------- */

static void many_logs(void) {
  enum { LOGS = 20, EVENTS = 300 };
  test("a thread captures to more logs than it can remember lanes of, while some of them close and open again");
  char *folder = scratch();
  weir_options options;
  small_options(&options);
  options.full_wait_ns = UINT64_MAX;
  weir_log *logs[LOGS];
  const char *directories[LOGS];
  uint32_t types[LOGS];
  uint64_t accepted[LOGS] = {0};
  for (int i = 0; i < LOGS; i++) {
    char name[16];
    snprintf(name, sizeof name, "log-%d", i);
    directories[i] = join(folder, name);
    logs[i] = open_with(directories[i], &options);
    types[i] = define_numbered(logs[i]);
  }
  for (int event = 0; event < EVENTS; event++) {
    for (int i = 0; i < LOGS; i++) {
      accepted[i] += CHECK_EQUAL(capture_numbered(logs[i], types[i], 0, accepted[i], 8, NULL), WEIR_ACCEPTED);
    }
    if (event % 50 != 49) continue;
    int again = (int)random_below(LOGS);
    close_and_free(logs[again]);
    logs[again] = open_with(directories[again], &options);
    types[again] = define_numbered(logs[again]);
  }
  for (int i = LOGS - 1; i >= 0; i--) {
    close_and_free(logs[i]);
    found_log found = read_log(directories[i]);
    check_sound(&found);
    CHECK_EQUAL(found.gaps, 0);
    if (i < 10) CHECK_EQUAL(check_producer(&found, 0), accepted[i]); /* of some, all came through one lane an opening */
    CHECK_EQUAL(found.count, accepted[i]);
    found_free(&found);
  }
  scratch_remove(folder);
}

static uint64_t mapped_pages(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  REQUIRE(file && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  return pages;
}

typedef struct three_logs {
  weir_log *logs[3];
  uint32_t types[3];
  uint64_t accepted;
} three_logs;

static void *capture_to_three(void *context) {
  three_logs *three = context;
  for (int i = 0; i < 3; i++) {
    CHECK_EQUAL(capture_numbered(three->logs[i], three->types[i], 0, three->accepted, 8, NULL), WEIR_ACCEPTED);
  }
  three->accepted++;
  return NULL;
}

static void ended_threads(void) {
  enum { THREADS = 3000, WARM_UP = 100 };
  test("threads that captured to more logs than their own memory remembers, and ended, leave no memory mapped");
  char *folder = scratch();
  weir_options options;
  small_options(&options);
  options.full_wait_ns = UINT64_MAX;
  three_logs three = {0};
  const char *directories[] = {join(folder, "a"), join(folder, "b"), join(folder, "c")};
  uint64_t before = 0;
  for (int i = 0; i < 3; i++) {
    three.logs[i] = open_with(directories[i], &options);
    three.types[i] = define_numbered(three.logs[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    if (i == WARM_UP) before = mapped_pages();
    REQUIRE(pthread_create(&thread, NULL, capture_to_three, &three) == 0);
    pthread_join(thread, NULL);
  }
  /* A page of each thread would be THREADS - WARM_UP pages; the logs' own files come and go. */
  CHECK(mapped_pages() < before + (THREADS - WARM_UP) / 2);
  for (int i = 0; i < 3; i++) {
    close_and_free(three.logs[i]);
    found_log found = read_log(directories[i]);
    CHECK_EQUAL(found.count, THREADS);
    CHECK_EQUAL(found.gaps, 0);
    found_free(&found);
  }
  scratch_remove(folder);
}

/* ---- The wall clock ---------------------------------------------------------------------------------------------- */

static _Atomic int64_t wall_jump; /* seconds */

/* In place of the C library's: the same clocks, but a wall clock that jumps when told to. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += wall_jump;
  return result;
}

static int64_t wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

enum { JUMPS = 3, SLACK_NS = 50000000 };

static int near(int64_t time, int64_t from, int64_t to) { return time >= from - SLACK_NS && time <= to + SLACK_NS; }

/*
 * What is promised: an event's time is that of the wall clock before the jump or after it, for those captured up to the
 * next calibration, a second later; after that it is the new clock's; and it never changes once it was read.
 */
static void wall_clock_jumps(uint32_t clock) {
  static const int64_t jumps[JUMPS] = {86400 * 365 * INT64_C(30), -86400 * 365 * INT64_C(60), -3600};
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  options.clock = clock;
  wall_jump = 0;
  weir_log *log = open_with(directory, &options);
  uint32_t type = define_numbered(log);
  int64_t old_from[JUMPS], new_from[JUMPS], new_to[JUMPS], settled_from[JUMPS], settled_to[JUMPS];
  for (uint64_t i = 0; i < JUMPS; i++) {
    old_from[i] = wall_ns();
    wall_jump += jumps[i];
    new_from[i] = wall_ns();
    CHECK_EQUAL(capture_numbered(log, type, i, 0, 8, NULL), WEIR_ACCEPTED);
    new_to[i] = wall_ns();
    CHECK_AWAIT(drainer_sleeps(log));
    ((event_log *)log)->drainer.clock.measure_at = 0; /* as if the second had passed */
    CHECK_EQUAL(capture_numbered(log, type, i, 1, 8, NULL), WEIR_ACCEPTED);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK); /* by a pass that began with a calibration */
    settled_from[i] = wall_ns();
    CHECK_EQUAL(capture_numbered(log, type, i, 2, 8, NULL), WEIR_ACCEPTED);
    settled_to[i] = wall_ns();
  }
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  found_log live = read_log(directory);
  close_and_free(log);
  close_and_free(open_with(directory, &options));
  wall_jump = 0;
  found_log found = read_log(directory);
  check_sound(&found);
  if (CHECK_EQUAL(found.count, 3 * JUMPS) && CHECK_EQUAL(live.count, 3 * JUMPS)) {
    for (uint64_t i = 0; i < JUMPS; i++) {
      int64_t first = found.events[3 * i].time_ns, last = found.events[3 * i + 2].time_ns;
      CHECK(near(first, old_from[i], new_to[i] - jumps[i] * 1000000000) || near(first, new_from[i], new_to[i]));
      CHECK(near(last, settled_from[i], settled_to[i]));
      for (uint64_t k = 0; k < 3; k++) CHECK_EQUAL(found.events[3 * i + k].time_ns, live.events[3 * i + k].time_ns);
    }
  }
  found_free(&live);
  found_free(&found);
  scratch_remove(folder);
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

/* An event of no bytes, of one, of the most allowed, and of more: the last is refused whole. */
static void sizes_with(uint64_t most) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  small_options(&options);
  options.max_event_bytes = most;
  options.lane_bytes = 4 << 20;
  options.segment_bytes = 8 << 20;
  weir_log *log = open_with(directory, &options);
  uint32_t type = define_numbered(log);
  uint8_t *payload = malloc(most + 16);
  REQUIRE(payload);
  for (uint64_t i = 0; i < most + 16; i++) payload[i] = (uint8_t)random_below(256);
  const uint64_t sizes[] = {0, 1, most - 1, most};
  CHECK_EQUAL(weir_capture(log, type, NULL, 0, NULL), WEIR_ACCEPTED);
  for (int i = 1; i < 4; i++) CHECK_EQUAL(weir_capture(log, type, payload, sizes[i], NULL), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_capture(log, type, payload, most + 9, NULL), WEIR_DROP_TOO_LARGE);
  if (most % 8 == 0) CHECK_EQUAL(weir_capture(log, type, payload, most + 1, NULL), WEIR_DROP_TOO_LARGE);
  CHECK_EQUAL(weir_capture(log, type, payload, UINT64_MAX, NULL), WEIR_DROP_TOO_LARGE);
  close_and_free(log);
  weir_reader *reader;
  weir_event event;
  int found = 0;
  REQUIRE(weir_reader_open(directory, NULL, &reader, NULL) == WEIR_OK);
  while (weir_reader_next(reader, &event, NULL, NULL) == WEIR_OK) {
    if (!name_is(&event, "numbered")) continue; /* the gap records of what was refused */
    if (!CHECK(found < 4)) break;
    CHECK_EQUAL(event.payload_bytes, sizes[found]);
    CHECK(sizes[found] == 0 || memcmp(event.payload, payload, sizes[found]) == 0);
    found++;
  }
  CHECK_EQUAL(found, 4);
  weir_reader_close(reader);
  free(payload);
  scratch_remove(folder);
}

int main(void) {
  random_start("paths_test");
  REQUIRE(pthread_key_create(&early_key, capture_in_destructor) == 0); /* before the process's first log */
  captures_from_destructors();
  crowd_on_few_lanes();
  thousands_come_and_go();
  threads_end_half_way();
  captures_nest();
  close_within_captures();
  many_logs();
  ended_threads();
  test("case 49: the wall clock jumps by years either way, the processor's counter keeping time");
  wall_clock_jumps(WEIR_CLOCK_AUTO);
  test("case 49: the wall clock jumps by years either way, the monotonic clock keeping time");
  wall_clock_jumps(WEIR_CLOCK_MONOTONIC);
  test("case 47: the smallest and the largest event");
  for (uint64_t most = 64; most <= 1 << 20; most = most * 7 + 1) sizes_with(most);
  sizes_with(WEIR_MAX_EVENT_BYTES);
  sizes_with(1 << 20);
  return finish();
}
