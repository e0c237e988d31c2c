/*
 * concurrency_test.c: many threads on one log: more threads than lanes, threads that come and go, every call that may
 * overlap with captures, and a close in the middle of them. What was accepted is in the log, what was not is counted.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sched.h>

enum { MAX_THREADS = 64 };

/* One capturing thread: captures until `events` are accepted or it is told to stop, and counts the answers. */
typedef struct producer {
  weir_log *log;
  uint32_t type;
  uint64_t number;
  uint64_t events;
  uint64_t accepted;
  uint64_t refused[WEIR_DROP_REASONS];
  int until_closed;
  pthread_t thread;
} producer;

static _Atomic uint32_t waiting_to_start;

/* Threads start together, so that their captures do overlap. */
static void start_together(void) {
  waiting_to_start--;
  while (waiting_to_start > 0) sched_yield();
}

static void *produce(void *context) {
  producer *self = context;
  start_together();
  for (uint64_t i = 0; self->until_closed || i < self->events; i++) {
    int32_t drop = capture_numbered(self->log, self->type, self->number, self->accepted, i % 64, NULL);
    if (drop == WEIR_ACCEPTED) self->accepted++;
    else self->refused[drop & (WEIR_DROP_REASONS - 1)]++;
    if (drop == WEIR_DROP_CLOSED) break;
  }
  return NULL;
}

static void start(producer *producers, uint32_t count, weir_log *log, uint32_t type, uint64_t events) {
  waiting_to_start = count;
  for (uint32_t i = 0; i < count; i++) {
    producers[i] = (producer){.log = log, .type = type, .number = i, .events = events, .until_closed = events == 0};
    REQUIRE(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
  }
}

static producer join_all(producer *producers, uint32_t count) {
  producer sum = {0};
  for (uint32_t i = 0; i < count; i++) {
    REQUIRE(pthread_join(producers[i].thread, NULL) == 0);
    sum.accepted += producers[i].accepted;
    for (int reason = 0; reason < WEIR_DROP_REASONS; reason++) sum.refused[reason] += producers[i].refused[reason];
  }
  return sum;
}

/* The closed log holds what each producer was told, in its order if the producers had lanes of their own. */
static void check_log(const char *directory, const producer *producers, uint32_t count, int ordered, uint64_t gaps) {
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.gaps, gaps);
  uint64_t total = 0, strange = 0;
  for (uint32_t i = 0; i < count; i++) total += producers[i].accepted;
  CHECK_EQUAL(found.count, total);
  uint8_t **seen = calloc(count, sizeof *seen);
  for (uint32_t i = 0; i < count; i++) seen[i] = calloc(producers[i].accepted + 1, 1);
  for (uint64_t i = 0; i < found.count; i++) {
    const found_event *event = &found.events[i];
    if (event->producer >= count || event->number >= producers[event->producer].accepted) strange++;
    else strange += seen[event->producer][event->number]++;
  }
  CHECK_EQUAL(strange, 0);
  for (uint32_t i = 0; i < count; i++) {
    if (ordered) CHECK_EQUAL(check_producer(&found, i), producers[i].accepted);
    free(seen[i]);
  }
  free(seen);
  found_free(&found);
}

static uint64_t sum_of(const uint64_t reasons[WEIR_DROP_REASONS]) {
  uint64_t sum = 0;
  for (int i = 0; i < WEIR_DROP_REASONS; i++) sum += reasons[i];
  return sum;
}

/* `threads` producers on `lanes` lanes of 8 KiB. */
static void crowd(uint32_t threads, uint32_t lanes, uint64_t wait_ns, uint64_t events) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_small(directory, wait_ns, lanes, NULL);
  REQUIRE(log);
  producer producers[MAX_THREADS];
  start(producers, threads, log, define_numbered(log), events);
  producer sum = join_all(producers, threads);
  CHECK_EQUAL(sum.accepted + sum_of(sum.refused), threads * events);
  if (wait_ns == UINT64_MAX) CHECK_EQUAL(sum.refused[WEIR_DROP_FULL], 0);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, sum.accepted);
  for (int i = 0; i < WEIR_DROP_REASONS; i++) CHECK_EQUAL(counters.dropped[i], sum.refused[i]);
  close_and_free(log);
  check_log(directory, producers, threads, threads + 2 < lanes, sum_of(sum.refused));
  scratch_remove(folder);
}

static void come_and_go(void) {
  test("case 13: threads that come and go give their lanes back, undrained events and all");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_small(directory, UINT64_MAX, 4, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  static producer producers[300];
  for (int i = 0; i < 300; i += 2) {
    start(&producers[i], 2, log, type, 20);
    join_all(&producers[i], 2);
  }
  weir_counters counters;
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, 300 * 20);
  CHECK_EQUAL(counters.drained, 300 * 20);
  CHECK_EQUAL(counters.lanes_in_use, 0);
  CHECK_EQUAL(sum_of(counters.dropped), 0);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count, 300 * 20);
  found_free(&found);
  scratch_remove(folder);
}

static _Atomic int overlap_stops;

/* Everything that may overlap with captures, over and over. */
static void *overlap(void *context) {
  weir_log *log = context;
  uint64_t last = 0, next;
  for (int i = 0; !overlap_stops; i++) {
    weir_counters counters;
    weir_count(log, &counters);
    weir_status status = i % 8 ? weir_drain(log, UINT64_MAX, &next, NULL) : weir_sync(log, UINT64_MAX, &next, NULL);
    if (status == WEIR_ERROR_CLOSED) break;
    CHECK_EQUAL(status, WEIR_OK);
    CHECK(next >= last);
    last = next;
    char name[32];
    const weir_definition definition = {.name = name};
    uint32_t type;
    snprintf(name, sizeof name, "overlap %d", i);
    status = weir_define(log, 0, &definition, 1, &type, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ERROR_LIMIT || status == WEIR_ERROR_CLOSED);
  }
  return NULL;
}

static void close_while_capturing(int round) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_small(directory, round % 3 == 0 ? 0 : UINT64_MAX, round % 2 ? 16 : 4, NULL);
  REQUIRE(log);
  producer producers[8];
  pthread_t other;
  overlap_stops = 0;
  if (round % 2) REQUIRE(pthread_create(&other, NULL, overlap, log) == 0);
  start(producers, 8, log, define_numbered(log), 0);
  sleep_ns(random_below(20000000));
  weir_error error;
  weir_status closed;
  /* Again where a thread was stopped half-way through a capture for longer than a close waits. */
  CHECK_AWAIT((closed = weir_close(log, &error)) != WEIR_ERROR_TIMEOUT);
  if (!CHECK_EQUAL(closed, WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  producer sum = join_all(producers, 8);
  overlap_stops = 1;
  if (round % 2) REQUIRE(pthread_join(other, NULL) == 0);
  CHECK_EQUAL(sum.refused[WEIR_DROP_CLOSED], 8);
  CHECK_EQUAL(capture_numbered(log, WEIR_TYPE_FIRST, 0, 0, 0, NULL), WEIR_DROP_CLOSED);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, sum.accepted);
  CHECK_EQUAL(counters.drained, sum.accepted);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_CLOSED], 9);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_FULL], sum.refused[WEIR_DROP_FULL]);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_ERROR_CLOSED);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_ERROR_CLOSED);
  weir_free(log);
  uint64_t reported = sum.refused[WEIR_DROP_FULL] + sum.refused[WEIR_DROP_NO_LANE];
  check_log(directory, producers, 8, round % 2, reported);
  weir_recovery recovery;
  weir_log *again = open_default(directory, &recovery);
  if (again) {
    CHECK_EQUAL(recovery.was_clean, 1);
    close_and_free(again);
    check_log(directory, producers, 8, round % 2, reported);
  }
  scratch_remove(folder);
}

/* weir_free while threads that captured are still alive, and end later: their clean-up must not touch the freed log. */
static void *capture_then_wait(void *context) {
  producer *self = context;
  self->accepted += capture_numbered(self->log, self->type, self->number, 0, 8, NULL) == WEIR_ACCEPTED;
  waiting_to_start--;
  while (!overlap_stops) sleep_ns(1000000);
  return NULL;
}

static void free_before_threads_end(void) {
  test("a log may be freed while threads that used it live on");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  producer producers[8] = {0};
  overlap_stops = 0;
  waiting_to_start = 8;
  for (uint32_t i = 0; i < 8; i++) {
    producers[i] = (producer){.log = log, .type = type, .number = i};
    REQUIRE(pthread_create(&producers[i].thread, NULL, capture_then_wait, &producers[i]) == 0);
  }
  while (waiting_to_start > 0) sleep_ns(1000000);
  close_and_free(log);
  overlap_stops = 1;
  join_all(producers, 8);
  check_log(directory, producers, 8, 1, 0);
  scratch_remove(folder);
}

static _Atomic int begun, may_commit;
static _Atomic int32_t committed;

static void *commit_late(void *context) {
  producer *self = context;
  weir_record record;
  REQUIRE(weir_begin(self->log, &record) == WEIR_ACCEPTED);
  weir_put_u64(&record, self->number);
  weir_put_u64(&record, 0);
  weir_put_string(&record, NULL, 0);
  begun = 1;
  while (!may_commit) sleep_ns(1000000);
  committed = weir_commit(&record, self->type, NULL);
  return NULL;
}

/* A capture that takes longer than close waits for. It answers accepted, so the event must be there; and no opening may
 * have the ring before it. */
static void close_before_commit(void) {
  test("case 20: a capture that commits after close is kept, and until then the log is locked");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL), *other = NULL;
  REQUIRE(log);
  producer late = {.log = log, .type = define_numbered(log), .number = 0};
  REQUIRE(pthread_create(&late.thread, NULL, commit_late, &late) == 0);
  while (!begun) sleep_ns(1000000);
  weir_error error;
  CHECK_EQUAL(weir_close(log, &error), WEIR_ERROR_TIMEOUT);
  CHECK_EQUAL(capture_numbered(log, late.type, 1, 0, 8, NULL), WEIR_DROP_CLOSED);
  CHECK_EQUAL(weir_open(directory, NULL, &other, NULL, NULL), WEIR_ERROR_LOCKED);
  may_commit = 1;
  pthread_join(late.thread, NULL);
  CHECK_EQUAL(committed, WEIR_ACCEPTED);
  CHECK_EQUAL(weir_close(log, &error), WEIR_OK);
  CHECK_EQUAL(weir_close(log, &error), WEIR_OK);
  weir_free(log);
  other = open_default(directory, NULL);
  if (other) close_and_free(other);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), 1);
  found_free(&found);
  scratch_remove(folder);
}

int main(void) {
  random_start("concurrency_test");
  test("case 14: forty threads on four lanes, waiting for room");
  crowd(40, 4, UINT64_MAX, 500);
  test("case 14: forty threads on four lanes, dropping");
  crowd(40, 4, 0, 2000);
  test("eight threads on lanes of their own, waiting for room: nothing is lost, order is kept");
  crowd(8, 16, UINT64_MAX, 20000);
  come_and_go();
  test("case 20: close while eight threads capture");
  for (int round = 0; round < 12; round++) close_while_capturing(round);
  free_before_threads_end();
  close_before_commit();
  return finish();
}
