/*
 * overflow_lanes_test.c: while the drainer stands still, captures go on in overflow lanes: none is refused, each is in
 * the log once and in order, also after a kill; the memory is given back; and what is beyond it is refused and counted.
 *
 * The drainer is held in the host's function that it calls after a pass, where it stands as still as before a disk.
 */
#include "capture_check.h"

#include <pthread.h>

#include "capture/overflow_lanes.h"
#include "drainer.h"
#include "system/system.h"
#include "weir_failing.h"

enum { LANE = 64 << 10, EVENT_BYTES = 1000, FILLER = 456, RECORD = 504, LANES = 4, MOST = 4000 };

/* ---- A drainer that stands still --------------------------------------------------------------------------------- */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int hold, held;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void stand_still(void *context) {
  (void)context;
  pthread_mutex_lock(&gate.lock);
  gate.held = gate.hold;
  pthread_cond_broadcast(&gate.changed);
  while (gate.hold) pthread_cond_wait(&gate.changed, &gate.lock);
  gate.held = 0;
  pthread_mutex_unlock(&gate.lock);
}

static void set_gate(int hold) {
  pthread_mutex_lock(&gate.lock);
  gate.hold = hold;
  pthread_cond_broadcast(&gate.changed);
  pthread_mutex_unlock(&gate.lock);
}

static void await_held(void) {
  pthread_mutex_lock(&gate.lock);
  while (!gate.held) pthread_cond_wait(&gate.changed, &gate.lock);
  pthread_mutex_unlock(&gate.lock);
}

/* ---- A log ------------------------------------------------------------------------------------------------------- */

/* Where a ring is in memory. */
static const char *memory_folder(void) { return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL; }

static char *memory_scratch(void) {
  char *path = malloc(4096);
  REQUIRE(path);
  snprintf(path, 4096, "%s/weir-overflow-XXXXXX", memory_folder());
  REQUIRE(mkdtemp(path));
  return path;
}

static weir_options stalling_options(const char *ring, uint64_t overflow_lanes) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = LANES;
  options.lane_bytes = LANE;
  options.max_event_bytes = EVENT_BYTES;
  options.segment_bytes = 1 << 20;
  options.ring_directory = ring;
  options.overflow_bytes = overflow_lanes * LANE;
  return options;
}

static weir_log *open_log(const char *directory, const weir_options *options) {
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  weir_on_drained(log, stand_still, NULL);
  return log;
}

static intake *intake_in(weir_log *log) { return &((event_log *)log)->intake; }

/* Captures one event, after which the drainer stands still. */
static void stop_drainer(weir_log *log, uint32_t type, uint64_t producer, uint64_t *number) {
  set_gate(1);
  CHECK_EQUAL(capture_numbered(log, type, producer, (*number)++, FILLER, NULL), WEIR_ACCEPTED);
  await_held();
}

/* Captures until three quarters of the lane's room are used, and the log knows that the drainer stands still. */
static void fill_lane(weir_log *log, uint32_t type, uint64_t producer, uint64_t *number) {
  const ring_header *header = intake_in(log)->ring.header;
  uint64_t room = header->lane_bytes - header->record_bytes - RECORD_SLACK_BYTES;
  for (uint64_t i = 0; i < room * 3 / 4 / RECORD; i++) {
    CHECK_EQUAL(capture_numbered(log, type, producer, (*number)++, FILLER, NULL), WEIR_ACCEPTED);
  }
  CHECK_AWAIT(overflow_lanes_wanted(intake_in(log)));
}

/* How many overflow lanes have their blocks. */
static uint32_t ready(weir_log *log) { return __atomic_load_n(&intake_in(log)->overflow_ready, __ATOMIC_RELAXED); }

static uint32_t free_lanes(weir_log *log) {
  const intake *intake = intake_in(log);
  uint32_t free = 0;
  for (uint32_t i = intake->first_overflow; i < lanes_in_play(intake); i++) {
    const lane *lane = &intake->lanes[i];
    free += lane_is_ready(lane) && !lane_is_taken(lane) && lane->control->head == lane->control->tail;
  }
  return free;
}

static uint32_t lanes_in_use(weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters.lanes_in_use;
}

static uint64_t refusals(weir_log *log, uint32_t type, uint64_t producer, uint64_t *number, uint64_t count) {
  uint64_t refused = 0;
  for (uint64_t i = 0; i < count; i++) {
    int32_t answer = capture_numbered(log, type, producer, *number, FILLER, NULL);
    if (answer == WEIR_ACCEPTED) ++*number;
    else refused++;
  }
  return refused;
}

/* The same, while the prefaulter makes a lane ready after the other: the time between events lets it. */
static uint64_t refusals_in_time(weir_log *log, uint32_t type, uint64_t producer, uint64_t *number, uint64_t count) {
  uint64_t refused = 0;
  for (uint64_t i = 0; i < count; i++) {
    refused += refusals(log, type, producer, number, 1);
    if (i % 16 == 15) CHECK_AWAIT(free_lanes(log) > 0);
  }
  return refused;
}

static void check_log(const char *directory, uint64_t producers, const uint64_t *numbers, uint64_t gaps) {
  found_log found = read_log(directory);
  check_sound(&found);
  uint64_t all = 0;
  for (uint64_t i = 0; i < producers; i++) {
    CHECK_EQUAL(check_producer(&found, i), numbers[i]);
    all += numbers[i];
  }
  CHECK_EQUAL(found.count, all);
  CHECK_EQUAL(found.gaps, gaps);
  found_free(&found);
}

/* The same of one producer's events, of which so many were overwritten. */
static void check_overwritten(const char *directory, uint64_t number, uint64_t overwritten) {
  found_log found = read_log(directory);
  check_sound(&found);
  uint64_t next = 0, missing = 0, disorder = 0;
  for (uint64_t i = 0; i < found.count; i++) {
    disorder += found.events[i].number < next;
    missing += found.events[i].number - next;
    next = found.events[i].number + 1;
  }
  CHECK_EQUAL(disorder, 0);
  CHECK_EQUAL(missing, overwritten);
  CHECK_EQUAL(found.gaps, overwritten);
  CHECK_EQUAL(next, number);
  found_free(&found);
}

/* Captures one at a time, as the drainer drains it, until no overflow lane is in use or has memory. */
static void settle(weir_log *log, uint32_t type, uint64_t producer, uint64_t *number) {
  uint64_t until = now_ns() + HANG_NS;
  while (ready(log) > 0 && now_ns() < until) {
    CHECK_EQUAL(capture_numbered(log, type, producer, (*number)++, FILLER, NULL), WEIR_ACCEPTED);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    sleep_ns(1000000);
  }
  CHECK_EQUAL(ready(log), 0);
}

static uint64_t ring_bytes(weir_log *log) {
  struct stat status;
  REQUIRE(fstat(intake_in(log)->ring.fd, &status) == 0);
  return (uint64_t)status.st_blocks * 512;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void grows_and_shrinks(const char *ring, const char *name) {
  test(name);
  char *folder = scratch();
  const char *directory = join(folder, "log");
  const weir_options options = stalling_options(ring, 64);
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0, before = 0;
  for (int round = 0; round < 2; round++) {
    stop_drainer(log, type, 0, &number);
    fill_lane(log, type, 0, &number);
    if (round == 0) before = ring_bytes(log);
    CHECK_EQUAL(refusals_in_time(log, type, 0, &number, MOST), 0);
    CHECK(ring_bytes(log) > before + (uint64_t)MOST * RECORD / 2);
    set_gate(0);
    settle(log, type, 0, &number);
    /* The control pages stay. */
    CHECK(ring_bytes(log) <= before + 64 * 4096 + (64 << 10));
  }
  close_and_free(log);
  check_log(directory, 1, &number, 0);
  scratch_remove(folder);
}

static void counts_threads(const char *ring) {
  test("a lane that is being made ready, or whose memory is given back, is not in use");
  char *folder = scratch();
  const weir_options options = stalling_options(ring, 64);
  weir_log *log = open_log(join(folder, "log"), &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0, until = now_ns() + HANG_NS;
  stop_drainer(log, type, 0, &number);
  fill_lane(log, type, 0, &number);
  CHECK_EQUAL(refusals(log, type, 0, &number, 16), 0); /* has the prefaulter woken */
  uint32_t most = 1;
  while (ready(log) < 4 && now_ns() < until) most = lanes_in_use(log) > most ? lanes_in_use(log) : most;
  set_gate(0);
  while (ready(log) > 0 && now_ns() < until) most = lanes_in_use(log) > most ? lanes_in_use(log) : most;
  CHECK_EQUAL(ready(log), 0);
  CHECK_EQUAL(most, 1);
  close_and_free(log);
  scratch_remove(folder);
}

static uint32_t taken_overflow(weir_log *log) {
  const intake *intake = intake_in(log);
  uint32_t taken = 0;
  for (uint32_t i = intake->first_overflow; i < intake->lane_count; i++) {
    taken += lane_holder(&intake->lanes[i]) == HELD_BY_THREAD;
  }
  return taken;
}

static void given_back(const char *ring) {
  test("a thread gives its overflow lanes back as soon as it captures again");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  const weir_options options = stalling_options(ring, 64);
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  fill_lane(log, type, 0, &number);
  CHECK_EQUAL(refusals_in_time(log, type, 0, &number, 5 * LANE / RECORD / 2), 0);
  CHECK_EQUAL(taken_overflow(log), 1); /* the one before was left for more than one capture */
  set_gate(0);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  /* At most a sixteenth of the lane until the thread sees that it is drained, one event more to leave, and one. */
  for (int i = 0; i < LANE / 16 / RECORD + 3 && taken_overflow(log) > 0; i++) {
    CHECK_EQUAL(refusals(log, type, 0, &number, 1), 0);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  }
  CHECK_EQUAL(taken_overflow(log), 0);
  settle(log, type, 0, &number);
  close_and_free(log);
  check_log(directory, 1, &number, 0);
  scratch_remove(folder);
}

static void beyond_the_budget(const char *ring) {
  test("what overflow_bytes has no room for is refused, and counted");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  const weir_options options = stalling_options(ring, 3);
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  fill_lane(log, type, 0, &number);
  uint64_t refused = refusals(log, type, 0, &number, 16);
  CHECK_AWAIT(ready(log) == 3);
  refused += refusals(log, type, 0, &number, MOST);
  CHECK(number * RECORD > 4 * (LANE - EVENT_BYTES - 600) && number * RECORD <= 4 * LANE + RECORD);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_FULL], refused);
  CHECK(refused > 0);
  set_gate(0);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  settle(log, type, 0, &number);
  close_and_free(log);
  check_log(directory, 1, &number, refused);
  scratch_remove(folder);
}

static void large_events(const char *ring) {
  test("where the largest event takes more than half of a lane, a stall has overflow lanes, too");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = stalling_options(ring, 16);
  options.lane_bytes = 2 * LANE;
  options.max_event_bytes = WEIR_MAX_EVENT_BYTES;
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  fill_lane(log, type, 0, &number);
  CHECK_EQUAL(refusals_in_time(log, type, 0, &number, 4 * LANE / RECORD), 0);
  set_gate(0);
  close_and_free(log);
  check_log(directory, 1, &number, 0);
  scratch_remove(folder);
}

static void waits(const char *ring) {
  test("a capture that waits for room goes on in an overflow lane once there is one");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = stalling_options(ring, 64);
  options.full_wait_ns = HANG_NS;
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  CHECK_EQUAL(refusals(log, type, 0, &number, 4 * LANE / RECORD), 0); /* its lane is full before the log knows why */
  set_gate(0);
  close_and_free(log);
  check_log(directory, 1, &number, 0);
  scratch_remove(folder);
}

static void no_overflow(void) {
  test("with overflow_bytes 0 a full lane refuses");
  char *folder = scratch();
  const weir_options options = stalling_options(NULL, 0);
  weir_log *log = open_log(join(folder, "log"), &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  CHECK(refusals(log, type, 0, &number, 4 * LANE / RECORD) > 2 * LANE / RECORD);
  CHECK_EQUAL(intake_in(log)->lane_count, LANES);
  set_gate(0);
  close_and_free(log);
  scratch_remove(folder);
}

static void full_memory(const char *ring) {
  test("where there is no memory for an overflow lane, captures are refused, until there is");
  if (!weir_fail_available()) return;
  char *folder = scratch();
  const char *directory = join(folder, "log");
  const weir_options options = stalling_options(ring, 64);
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  int rule = weir_fail_begin(ring, WEIR_FAIL_GROW, 0, UINT64_MAX, ENOSPC);
  CHECK(rule > 0);
  fill_lane(log, type, 0, &number);
  uint64_t refused = refusals(log, type, 0, &number, LANE / RECORD);
  CHECK(refused > 0);
  CHECK_AWAIT(weir_fail_count(rule) > 0);
  weir_fail_end(rule);
  CHECK_AWAIT(free_lanes(log) > 0);
  int32_t answer = WEIR_DROP_FULL;
  CHECK_AWAIT((answer = capture_numbered(log, type, 0, number, FILLER, NULL)) == WEIR_ACCEPTED || !++refused);
  number += answer == WEIR_ACCEPTED;
  CHECK_EQUAL(refusals_in_time(log, type, 0, &number, MOST), 0);
  set_gate(0);
  close_and_free(log);
  check_log(directory, 1, &number, refused);
  scratch_remove(folder);
}

static void drops_oldest(const char *ring) {
  test("under WEIR_FULL_DROP_OLDEST events are overwritten only once there is no overflow lane left");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = stalling_options(ring, 8);
  options.full_policy = WEIR_FULL_DROP_OLDEST;
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  fill_lane(log, type, 0, &number);
  CHECK_EQUAL(refusals_in_time(log, type, 0, &number, 5 * LANE / RECORD), 0);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.overwritten, 0);
  CHECK_EQUAL(refusals(log, type, 0, &number, MOST), 0);
  weir_count(log, &counters);
  CHECK(counters.overwritten > MOST / 2);
  set_gate(0);
  close_and_free(log);
  check_overwritten(directory, number, counters.overwritten);
  scratch_remove(folder);
}

/* A thread leaves the log, whose next capture then looks anew for the lane that it has. */
static void turn_to(weir_log *other, uint32_t type) {
  CHECK_EQUAL(capture_numbered(other, type, 0, 0, 0, NULL), WEIR_ACCEPTED);
}

static void begin_in_vain(weir_log *log) {
  weir_record record;
  if (CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED)) weir_cancel(&record);
}

/*
 * Lanes that have room for one event each, a thread whose lane is full, a drainer that stands still, as it seems to
 * have for long, and two overflow lanes that are ready.
 */
static weir_log *open_narrow(const char *directory, const char *ring, uint32_t *type, uint64_t *number) {
  weir_options options = stalling_options(ring, 2);
  options.max_event_bytes = LANE - 200;
  options.full_policy = WEIR_FULL_DROP_OLDEST;
  weir_log *log = open_log(directory, &options);
  intake *intake = intake_in(log);
  *type = define_numbered(log);
  stop_drainer(log, *type, 0, number);
  CHECK_EQUAL(refusals(log, *type, 0, number, 1), 0);
  __atomic_store_n(&intake->seen_end, intake->ring.header->log_end, __ATOMIC_RELAXED);
  __atomic_store_n(&intake->seen_at, 1, __ATOMIC_RELAXED);
  overflow_lanes_watch(intake);
  CHECK_AWAIT(ready(log) == 2);
  return log;
}

/* Captures `before` events, begins one in vain, captures to another log, and then `after` events: all in order. */
static void begun_in_vain(const char *ring, uint64_t before, uint64_t after) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint32_t type;
  uint64_t number = 0;
  weir_log *log = open_narrow(directory, ring, &type, &number);
  weir_options options = stalling_options(ring, 0);
  weir_log *other = NULL;
  REQUIRE(weir_open(join(folder, "other"), &options, &other, NULL, NULL) == WEIR_OK);
  uint32_t of_other = define_numbered(other);
  CHECK_EQUAL(refusals(log, type, 0, &number, before), 0);
  begin_in_vain(log);
  turn_to(other, of_other);
  CHECK_EQUAL(refusals(log, type, 0, &number, after), 0);
  weir_counters counters;
  weir_count(log, &counters);
  set_gate(0);
  close_and_free(other);
  close_and_free(log);
  check_overwritten(directory, number, counters.overwritten);
  scratch_remove(folder);
}

static void overwritten_to_the_end(const char *ring) {
  test("under WEIR_FULL_DROP_OLDEST a thread stays in an overflow lane whose events were all overwritten");
  /* There is no third overflow lane: the third event overwrites the second, and what is begun the third. */
  begun_in_vain(ring, 3, 2);
}

static void entered_in_vain(const char *ring) {
  test("a thread stays in an overflow lane that it captured nothing to yet, although the lane is drained");
  begun_in_vain(ring, 1, 1); /* in the first overflow lane; what is begun, in the second */
}

/* ---- Kills ------------------------------------------------------------------------------------------------------- */

/* Captures in a child that is killed while its drainer stands still, or after that, `extra` drained events later. */
static uint64_t die(const char *directory, const weir_options *options, int resumed, uint64_t *refused) {
  int line[2];
  REQUIRE(pipe(line) == 0);
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log = open_log(directory, options);
    uint32_t type = define_numbered(log);
    uint64_t number = 0;
    stop_drainer(log, type, 0, &number);
    fill_lane(log, type, 0, &number);
    uint64_t told[2] = {0, refusals_in_time(log, type, 0, &number, MOST)};
    if (told[1] > 0) _exit(2);
    if (resumed) set_gate(0);
    if (resumed) told[1] = refusals(log, type, 0, &number, random_below(MOST)); /* faster than lanes are made */
    told[0] = number;
    if (write(line[1], told, sizeof told) != sizeof told) _exit(3);
    raise(SIGKILL);
  }
  uint64_t told[2] = {0, 0};
  close(line[1]);
  REQUIRE(read(line[0], told, sizeof told) == sizeof told);
  close(line[0]);
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  *refused = told[1];
  return told[0];
}

static void killed(const char *ring) {
  test("a host that is killed meanwhile loses nothing");
  for (int round = 0; round < 6; round++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    const weir_options options = stalling_options(ring, 64);
    uint64_t refused = 0, number = die(directory, &options, round % 2, &refused);
    if (round < 2) check_log(directory, 1, &number, refused); /* a reader of the dead ring */
    weir_recovery recovery;
    weir_log *log = NULL;
    REQUIRE(weir_open(directory, &options, &log, &recovery, NULL) == WEIR_OK);
    CHECK_EQUAL(recovery.missing_events, 0);
    close_and_free(log);
    check_log(directory, 1, &number, refused);
    scratch_remove(folder);
  }
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { PRODUCERS = 6 }; /* more than there are lanes to own: the last ones borrow */

typedef struct producer {
  weir_log *log;
  uint32_t type;
  uint64_t producer, number, refused;
} producer;

static uint32_t stop;

static void *produce(void *context) {
  producer *producer = context;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    producer->refused += refusals(producer->log, producer->type, producer->producer, &producer->number, 1);
    if (producer->number % 16 == 0) sleep_ns(50000);
  }
  return NULL;
}

static void threads(const char *ring) {
  test("threads, beside a drainer that stands still now and then");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  const weir_options options = stalling_options(ring, 32);
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  producer producers[PRODUCERS];
  pthread_t running[PRODUCERS];
  set_gate(0);
  __atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
  for (int i = 0; i < PRODUCERS; i++) {
    producers[i] = (producer){log, type, (uint64_t)i, 0, 0};
    REQUIRE(pthread_create(&running[i], NULL, produce, &producers[i]) == 0);
  }
  for (int i = 0; i < 6; i++) {
    set_gate(1);
    sleep_ns(60000000);
    set_gate(0);
    sleep_ns(random_below(60000000));
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < PRODUCERS; i++) REQUIRE(pthread_join(running[i], NULL) == 0);
  CHECK(intake_in(log)->lanes_in_play > LANES);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  uint64_t refused = 0, all = 0;
  for (int i = 0; i < PRODUCERS; i++) {
    refused += producers[i].refused;
    all += producers[i].number;
  }
  CHECK_EQUAL(found.count, all);
  CHECK_EQUAL(found.gaps, refused);
  /* A thread that shares lanes has no order; no more of them are out of order than can have no lane. */
  uint64_t next[PRODUCERS] = {0}, disorderly = 0;
  int disorder[PRODUCERS] = {0};
  for (uint64_t i = 0; i < found.count; i++) {
    uint64_t producer = found.events[i].producer;
    disorder[producer] |= found.events[i].number != next[producer];
    next[producer] = found.events[i].number + 1;
  }
  for (int i = 0; i < PRODUCERS; i++) disorderly += (uint64_t)disorder[i];
  CHECK(disorderly <= PRODUCERS - (LANES - 2));
  found_free(&found);
  scratch_remove(folder);
}

enum { CROWD = 12 };
static pthread_barrier_t crowd;

/* Captures once, and then, all threads at the same time, more than a lane holds. */
static void *go_on_together(void *context) {
  producer *producer = context;
  producer->refused = refusals(producer->log, producer->type, producer->producer, &producer->number, 1);
  pthread_barrier_wait(&crowd);
  pthread_barrier_wait(&crowd);
  producer->refused +=
      refusals(producer->log, producer->type, producer->producer, &producer->number, LANE * 3 / 2 / RECORD);
  return NULL;
}

static pthread_barrier_t kept;

/* Captures so many lanes' worth, then keeps the lane that it is in by now, and ends. */
static void *keep_lane(void *context) {
  producer *producer = context;
  uint64_t count = producer->number * LANE / RECORD;
  producer->number = 0;
  pthread_barrier_wait(&kept);
  producer->refused = refusals_in_time(producer->log, producer->type, producer->producer, &producer->number, count);
  pthread_barrier_wait(&kept);
  pthread_barrier_wait(&kept);
  return NULL;
}

/* A thread that keeps the overflow lane of about this number, in a log whose main thread captures and is drained. */
static pthread_t begin_to_keep(producer *producer, uint64_t lanes, uint64_t *number) {
  pthread_t thread;
  producer->number = lanes;
  REQUIRE(pthread_barrier_init(&kept, NULL, 2) == 0);
  REQUIRE(pthread_create(&thread, NULL, keep_lane, producer) == 0);
  stop_drainer(producer->log, producer->type, 0, number);
  fill_lane(producer->log, producer->type, 0, number);
  CHECK_EQUAL(refusals(producer->log, producer->type, 0, number, 16), 0); /* has the prefaulter woken */
  CHECK_AWAIT(free_lanes(producer->log) > 0);
  pthread_barrier_wait(&kept);
  pthread_barrier_wait(&kept);
  set_gate(0);
  CHECK_EQUAL(producer->refused, 0);
  CHECK_EQUAL(weir_drain(producer->log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_AWAIT(ready(producer->log) == 1);
  return thread;
}

static void end_to_keep(pthread_t thread) {
  pthread_barrier_wait(&kept);
  REQUIRE(pthread_join(thread, NULL) == 0);
  pthread_barrier_destroy(&kept);
}

static void ended_thread(const char *ring) {
  test("a thread that ends gives the memory of its overflow lane back, also in a silent log");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  const weir_options options = stalling_options(ring, 8);
  weir_log *log = open_log(directory, &options);
  uint64_t numbers[2] = {0};
  producer producer = {.log = log, .type = define_numbered(log), .producer = 1};
  pthread_t thread = begin_to_keep(&producer, 2, &numbers[0]);
  CHECK_AWAIT(__atomic_load_n(&((event_log *)log)->prefaulter.asleep, __ATOMIC_RELAXED)); /* there is nothing to do */
  end_to_keep(thread);
  CHECK_AWAIT(ready(log) == 0);
  numbers[1] = producer.number;
  close_and_free(log);
  check_log(directory, 2, numbers, 0);
  scratch_remove(folder);
}

/* With `kept_lane`, a thread keeps an overflow lane near the ring's end, which was captured to in an earlier stall. */
static void crowd_of_threads(const char *ring, uint64_t kept_lane, const char *name) {
  test(name);
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = stalling_options(ring, 2 * CROWD);
  options.lane_count = CROWD + 4;
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  producer producers[CROWD], keeper = {.log = log, .type = type, .producer = CROWD + 1};
  pthread_t running[CROWD], keeping = 0;
  REQUIRE(pthread_barrier_init(&crowd, NULL, CROWD + 1) == 0);
  for (int i = 0; i < CROWD; i++) {
    producers[i] = (producer){log, type, (uint64_t)i + 1, 0, 0};
    REQUIRE(pthread_create(&running[i], NULL, go_on_together, &producers[i]) == 0);
  }
  pthread_barrier_wait(&crowd);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  uint64_t numbers[CROWD + 2] = {0};
  if (kept_lane > 0) keeping = begin_to_keep(&keeper, kept_lane, &numbers[0]);
  stop_drainer(log, type, 0, &numbers[0]);
  fill_lane(log, type, 0, &numbers[0]);
  CHECK_EQUAL(refusals(log, type, 0, &numbers[0], 16), 0); /* has the prefaulter woken */
  CHECK_AWAIT(free_lanes(log) >= CROWD);
  pthread_barrier_wait(&crowd);
  for (int i = 0; i < CROWD; i++) {
    REQUIRE(pthread_join(running[i], NULL) == 0);
    CHECK_EQUAL(producers[i].refused, 0);
    numbers[i + 1] = producers[i].number;
  }
  pthread_barrier_destroy(&crowd);
  set_gate(0);
  if (kept_lane > 0) end_to_keep(keeping);
  numbers[CROWD + 1] = keeper.number;
  close_and_free(log);
  check_log(directory, CROWD + 2, numbers, 0);
  scratch_remove(folder);
}

static void limited(const char *ring) {
  test("below a byte limit overflow lanes leave room for what a recovery would write, and give theirs back");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = stalling_options(ring, 64);
  options.max_bytes = 10 << 20;
  weir_log *log = open_log(directory, &options);
  uint32_t type = define_numbered(log);
  uint64_t number = 0;
  stop_drainer(log, type, 0, &number);
  const retention *retention = intake_in(log)->retention;
  fill_lane(log, type, 0, &number);
  uint64_t refused = refusals(log, type, 0, &number, 16);
  CHECK_AWAIT(ready(log) > 0);
  refused += refusals(log, type, 0, &number, MOST);
  CHECK_AWAIT(__atomic_load_n(&retention->overflowing, __ATOMIC_RELAXED) == ready(log) && ready(log) > 0);
  CHECK(__atomic_load_n(&retention->used, __ATOMIC_RELAXED) <= 10 << 20);
  set_gate(0);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  settle(log, type, 0, &number);
  CHECK_EQUAL(retention->overflowing, 0);
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(directory, &stat, NULL), WEIR_OK);
  CHECK_EQUAL(stat.lanes, LANES);
  CHECK(stat.total_bytes < 10 << 20);
  close_and_free(log);
  check_log(directory, 1, &number, refused);
  scratch_remove(folder);
}

int main(void) {
  random_start("overflow_lanes_test");
  grows_and_shrinks(NULL, "with the ring beside the segments none is refused, and the memory is given back");
  no_overflow();
  if (memory_folder()) {
    char *ring = memory_scratch();
    grows_and_shrinks(ring, "with the ring in memory none is refused, and the memory is given back");
    counts_threads(ring);
    given_back(ring);
    beyond_the_budget(ring);
    large_events(ring);
    waits(ring);
    full_memory(ring);
    drops_oldest(ring);
    overwritten_to_the_end(ring);
    entered_in_vain(ring);
    killed(ring);
    threads(ring);
    ended_thread(ring);
    crowd_of_threads(ring, 0, "there is an overflow lane for each thread, when the lanes of all are full at a time");
    crowd_of_threads(ring, 2 * CROWD - 1, "the same where a thread keeps a lane near the ring's end");
    limited(ring);
    scratch_remove(ring);
  }
  return finish();
}
