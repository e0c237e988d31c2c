/*
 * overwrite_test.c: WEIR_FULL_DROP_OLDEST. A capture on a full lane overwrites the oldest events that are not in the
 * log yet. What is lost so is counted exactly, becomes gap records that account for the positions, survives a kill at
 * any point, and is never an event that is also delivered.
 */
#include "capture_check.h"

#include <pthread.h>

#include "format/format.h"
#include "system/system.h"

static weir_log *open_overwriting(const char *directory, uint64_t wait_ns, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.lane_bytes = 16384;
  options.overflow_bytes = 0;
  options.max_event_bytes = 1024;
  options.segment_bytes = 1 << 18;
  options.full_wait_ns = wait_ns;
  options.full_policy = WEIR_FULL_DROP_OLDEST;
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
  }
  return log;
}

/* No segment can be made any more: what the lanes take from now on stays there once the active segment is full. */
static void stop_the_disk(void) { weir_fault_set("sys_allocate", 1, UINT64_MAX, ENOSPC); }
static void let_the_disk_go(void) { weir_fault_set("", 0, 0, 0); }

/* The numbers of one producer ascend; of those attempted, `lost` are missing. */
static void check_losses(const found_log *found, uint64_t producer, uint64_t attempted, uint64_t lost) {
  uint64_t next = 0, missing = 0, disorder = 0;
  for (uint64_t i = 0; i < found->count; i++) {
    if (found->events[i].producer != producer) continue;
    disorder += found->events[i].number < next;
    missing += found->events[i].number - next;
    next = found->events[i].number + 1;
  }
  CHECK_EQUAL(disorder, 0);
  CHECK_EQUAL(missing + attempted - next, lost);
}

typedef struct findings {
  uint64_t count;
} findings;

static void take_finding(void *context, const weir_finding *finding) {
  fprintf(stderr, "%s: %s at %" PRIu64 ": %s\n", test_name, finding->file, finding->position, finding->problem);
  ((findings *)context)->count++;
}

static void check_verified(const char *directory) {
  findings findings = {0};
  weir_verification sums;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, take_finding, &findings, &sums, &error), WEIR_OK);
  CHECK_EQUAL(findings.count, 0);
}

/*
 * Captures, and answers how many were refused: those whose drainer was stopped by the scheduler, for longer than a
 * capture waits, while it had claimed the lane.
 */
static uint64_t capture_many(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  uint64_t refused = 0;
  for (uint64_t number = from; number < from + count; number++) {
    refused += capture_numbered(log, type, 0, number, number % 200, NULL) != WEIR_ACCEPTED;
  }
  return refused;
}

static void test_stopped_disk(void) {
  test("a log that cannot grow keeps the newest events, and says how many it lost");
  char *path = scratch();
  weir_log *log = open_overwriting(path, 0, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  stop_the_disk();
  uint64_t refused = capture_many(log, type, 0, 20000);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, 20000 - refused);
  CHECK(counters.overwritten > 10000);
  let_the_disk_go();
  CHECK_AWAIT(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK); /* that there was no room is told of once more */
  weir_count(log, &counters);
  CHECK_EQUAL(counters.drained + counters.overwritten, 20000 - refused);
  CHECK_EQUAL(counters.dropped[WEIR_LOST_OVERWRITTEN], 0);
  refused += capture_many(log, type, 20000, 10);
  close_and_free(log);
  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(found.gaps, counters.overwritten + refused);
  check_losses(&found, 0, 20010, counters.overwritten + refused);
  check_verified(path);
  found_free(&found);
  scratch_remove(path);
}

/* What a child that died had lost, by its own counts. */
typedef struct losses {
  uint64_t overwritten;
  uint64_t refused;
} losses;

/* Captures in a child that dies by SIGKILL. */
static losses overwrite_and_die(const char *path, uint64_t count) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    weir_log *log = open_overwriting(path, 0, NULL);
    uint32_t type = define_numbered(log);
    stop_the_disk();
    uint64_t refused = capture_many(log, type, 0, count);
    weir_counters counters;
    weir_count(log, &counters);
    losses told = {counters.overwritten, refused};
    if (write(ends[1], &told, sizeof told) != sizeof told) _exit(1);
    raise(SIGKILL);
  }
  losses lost = {0};
  CHECK_EQUAL(read(ends[0], &lost, sizeof lost), sizeof lost);
  close(ends[0]);
  close(ends[1]);
  waitpid(child, NULL, 0);
  return lost;
}

static void compare(const found_log *before, const found_log *after) {
  CHECK_EQUAL(before->count, after->count);
  uint64_t moved = 0;
  for (uint64_t i = 0; i < before->count && i < after->count; i++) {
    moved += before->events[i].offset != after->events[i].offset ||
             compare_ids(&before->events[i].id, &after->events[i].id) != 0;
  }
  CHECK_EQUAL(moved, 0);
}

static void test_killed(void) {
  test("killed after overwriting: the same events and counts for a reader, and after recovery");
  char *path = scratch();
  losses lost = overwrite_and_die(path, 9000);
  CHECK(lost.overwritten > 0);
  found_log before = read_log(path);
  check_sound(&before);
  CHECK_EQUAL(before.gaps, lost.overwritten + lost.refused);
  check_losses(&before, 0, 9000, lost.overwritten + lost.refused);
  check_verified(path);
  weir_recovery recovery;
  weir_log *log = open_overwriting(path, 0, &recovery);
  REQUIRE(log);
  CHECK(recovery.dropped <= lost.refused);
  CHECK(recovery.overwritten <= lost.overwritten); /* the drainer reported some, or all, itself */
  CHECK_EQUAL(recovery.damaged_records, 0);
  close_and_free(log);
  found_log after = read_log(path);
  compare(&before, &after);
  CHECK_EQUAL(after.gaps, lost.overwritten + lost.refused);
  check_verified(path);
  found_free(&before);
  found_free(&after);
  scratch_remove(path);
}

/* Changes the control page of a dead log's lane as a kill at that point would have left it. */
static lane_control *map_control(const char *path, uint32_t lane, ring_header *header, int *fd) {
  char name[4096];
  snprintf(name, sizeof name, "%s/ring", path);
  *fd = open(name, O_RDWR);
  REQUIRE(*fd >= 0);
  REQUIRE(pread(*fd, header, sizeof *header, 0) == sizeof *header);
  static lane_control control;
  off_t at = (off_t)(header->lanes_at + lane * header->lane_stride);
  REQUIRE(pread(*fd, &control, sizeof control, at) == sizeof control);
  return &control;
}

static void store_control(int fd, const ring_header *header, uint32_t lane, const lane_control *control) {
  off_t at = (off_t)(header->lanes_at + lane * header->lane_stride);
  REQUIRE(pwrite(fd, control, sizeof *control, at) == sizeof *control);
  close(fd);
}

static void test_killed_between(void) {
  test("case 1: killed between moving the head and counting: the eviction counts, once");
  char *path = NULL;
  losses lost;
  ring_header header;
  lane_control *control;
  int fd;
  for (int tries = 0;; tries++) { /* until one dies before the drainer has moved on from the last eviction */
    path = scratch();
    lost = overwrite_and_die(path, 9000);
    control = map_control(path, 0, &header, &fd);
    if (head_position(control->head) == control->evicted_to) break;
    REQUIRE(tries < 100);
    close(fd);
    scratch_remove(path);
  }
  CHECK_EQUAL(control->evicted_total, lost.overwritten);
  control->head = control->evicted_to | HEAD_EVICTED;
  control->evicting_to = control->evicted_to;
  control->evicting_total = control->evicted_total;
  control->evicted_to = 8; /* as before the count was stored */
  control->evicted_total -= 7;
  store_control(fd, &header, 0, control);
  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(found.gaps, lost.overwritten + lost.refused);
  found_free(&found);

  test("case 1: killed with an eviction written down that never happened: it does not count");
  control = map_control(path, 0, &header, &fd);
  control->evicted_to = control->evicting_to;
  control->evicted_total = lost.overwritten;
  control->evicting_to += 4096;
  control->evicting_total += 50;
  store_control(fd, &header, 0, control);
  found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(found.gaps, lost.overwritten + lost.refused);
  weir_recovery recovery;
  close_and_free(open_overwriting(path, 0, &recovery));
  CHECK(recovery.overwritten <= lost.overwritten);
  found_log after = read_log(path);
  compare(&found, &after);
  check_verified(path);
  found_free(&found);
  found_free(&after);
  scratch_remove(path);
}

static void test_flips(void) {
  test("a flipped bit in the words about evictions hides no event");
  char *path = scratch();
  pid_t child = fork();
  if (child == 0) {
    weir_log *log = open_overwriting(path, 0, NULL);
    uint32_t type = define_numbered(log);
    stop_the_disk();
    capture_many(log, type, 0, 2000); /* more than the first segment, less than would be overwritten */
    raise(SIGKILL);
  }
  waitpid(child, NULL, 0);
  found_log whole = read_log(path);
  CHECK(whole.count > 0);
  ring_header header;
  for (uint32_t bit = 0; bit < 64; bit++) {
    int fd;
    lane_control *control = map_control(path, 0, &header, &fd);
    control->evicted_to ^= UINT64_C(1) << bit;
    store_control(fd, &header, 0, control);
    found_log found = read_log(path);
    CHECK_EQUAL(found.count, whole.count);
    found_free(&found);
    control = map_control(path, 0, &header, &fd);
    control->evicted_to ^= UINT64_C(1) << bit;
    store_control(fd, &header, 0, control);
  }
  found_free(&whole);
  scratch_remove(path);
}

/* Where the log's word ends lies what was overwritten; without a head or a tail the rest is found all the same. */
static void test_flipped_positions(void) {
  test("after overwriting, an impossible head or tail hides no event, and a count of refusals that there are none of");
  char *path = scratch();
  losses lost = overwrite_and_die(path, 9000);
  found_log whole = read_log(path);
  ring_header header;
  const uint64_t flips[][2] = {{offsetof(lane_control, tail), 1}, {offsetof(lane_control, tail), 40},
                               {offsetof(lane_control, head), 40}, {offsetof(lane_control, head), 62},
                               {offsetof(lane_control, dropped[WEIR_LOST_OVERWRITTEN - 1]), 40}};
  for (uint64_t i = 0; i < sizeof flips / sizeof *flips; i++) {
    for (int again = 0; again < 2; again++) { /* flips it, and flips it back */
      int fd;
      lane_control *control = map_control(path, 0, &header, &fd);
      *(uint64_t *)((uint8_t *)control + flips[i][0]) ^= UINT64_C(1) << flips[i][1];
      store_control(fd, &header, 0, control);
      found_log found = read_log(path);
      CHECK_EQUAL(found.count, whole.count);
      CHECK_EQUAL(found.gaps, lost.overwritten + lost.refused);
      found_free(&found);
    }
  }
  found_free(&whole);
  scratch_remove(path);
}

/* ---- Against a drainer at work ----------------------------------------------------------------------------------- */

typedef struct producer {
  weir_log *log;
  uint32_t type;
  uint64_t number;
  uint64_t events;
  uint64_t accepted;
} producer;

static void *produce(void *argument) {
  producer *producer = argument;
  for (uint64_t i = 0; i < producer->events; i++) {
    producer->accepted +=
        capture_numbered(producer->log, producer->type, producer->number, i, i % 100, NULL) == WEIR_ACCEPTED;
  }
  return NULL;
}

static void test_against_drainer(void) {
  test("overwriting while the drainer copies: accepted is delivered or overwritten, never both");
  enum { PRODUCERS = 3, EVENTS = 60000 };
  char *path = scratch();
  weir_log *log = open_overwriting(path, 0, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  producer producers[PRODUCERS];
  pthread_t threads[PRODUCERS];
  for (int i = 0; i < PRODUCERS; i++) {
    producers[i] = (producer){.log = log, .type = type, .number = (uint64_t)i, .events = EVENTS};
    REQUIRE(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
  }
  uint64_t accepted = 0;
  for (int i = 0; i < PRODUCERS; i++) {
    pthread_join(threads[i], NULL);
    accepted += producers[i].accepted;
  }
  weir_error error;
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_OK);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, accepted);
  CHECK_EQUAL(counters.drained + counters.overwritten, accepted);
  CHECK_EQUAL(counters.damaged, 0);
  close_and_free(log);
  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(found.count + counters.overwritten, accepted);
  CHECK_EQUAL(found.gaps, counters.overwritten + counters.dropped[WEIR_DROP_FULL]);
  CHECK_EQUAL(accepted + counters.dropped[WEIR_DROP_FULL], (uint64_t)PRODUCERS * EVENTS);
  check_verified(path);
  found_free(&found);
  scratch_remove(path);
}

int main(void) {
  test_stopped_disk();
  test_killed();
  test_killed_between();
  test_flips();
  test_flipped_positions();
  test_against_drainer();
  return finish();
}
