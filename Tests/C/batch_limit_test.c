/*
 * batch_limit_test.c: batch segments at the byte limit: no capture is refused for those that are in the making, however
 * many, and no thread keeps another from ending: what waits is made, without a failure.
 */
#include "batch_check.h"

#include <pthread.h>

#include "drain/preparer.h"
#include "limits/byte_limit.h"

static weir_counters counters_of(const weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters;
}

/* An event that LZ4 finds nothing in: the batch of a segment of such is no smaller. */
static uint32_t define_noise(weir_log *log) {
  const weir_field field = {"noise", WEIR_KIND_BYTES, 0};
  const weir_definition definition = {.name = "noise", .fields = &field, .field_count = 1};
  uint32_t type;
  REQUIRE(weir_define(log, 0, &definition, 1, &type, NULL) == WEIR_OK);
  return type;
}

static int32_t capture_noise(weir_log *log, uint32_t type) {
  uint64_t noise[100];
  for (int i = 0; i < 100; i++) noise[i] = random_below(UINT64_MAX);
  weir_record record;
  int32_t result = weir_begin(log, &record);
  if (result != WEIR_ACCEPTED) return result;
  weir_put_string(&record, (const char *)noise, sizeof noise);
  return weir_commit(&record, type, NULL);
}

static void make_noise(const char *directory, uint64_t count) {
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_noise(log);
  for (uint64_t i = 0; i < count; i++) REQUIRE(capture_noise(log, type) == WEIR_ACCEPTED);
  close_and_free(log);
}

static _Atomic int holding, held;

/* Holds up whoever is about to sync a batch that is written, its room taken. */
static void hold_writers(const weir_call *call, int after) {
  if (after || strcmp(call->operation, "sys_sync_data") != 0 || !is_batch_file(call->fd)) return;
  held++;
  while (holding) sleep_ns(1000000);
}

static void test_captures(uint32_t threads, uint64_t more) {
  test("at the byte limit no capture is refused, and none waits, for batches that are in the making");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_noise(directory, 2000);
  weir_options options = small_options();
  options.batch_threads = threads;
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + SEGMENT + more;
  held = 0;
  holding = 1;
  weir_fault_observe(hold_writers);
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_noise(log);
  CHECK_AWAIT(held > 0);
  uint64_t refused = 0, above = 0;
  for (uint64_t i = 0; i < 2000; i++) {
    refused += capture_noise(log, type) != WEIR_ACCEPTED;
    if (i % 50 == 0) above += stat_of(directory).total_bytes > options.max_bytes;
  }
  weir_error error;
  CHECK_EQUAL(weir_sync(log, HANG_NS, NULL, &error), WEIR_OK);
  weir_counters counters = counters_of(log);
  CHECK_EQUAL(refused, 0);
  CHECK_EQUAL(above, 0);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_STORAGE] + counters.dropped[WEIR_DROP_FULL], 0);
  CHECK_EQUAL(counters.storage, WEIR_OK);
  holding = 0;
  CHECK_AWAIT(counters_of(log).batch_waiting == 0);
  CHECK_AWAIT(__atomic_load_n(&((event_log *)log)->intake.retention->batch_taken, __ATOMIC_ACQUIRE) == 0);
  weir_fault_observe(NULL);
  CHECK(stat_of(directory).total_bytes <= options.max_bytes);
  close_and_free(log);
  weir_stat stat = stat_of(directory);
  CHECK_EQUAL(stat.events + stat.removed, 4000);
  check_no_findings(directory);
  scratch_remove(folder);
}

/* What is left of the room of one is none for another: it waits until that has ended. */
static void test_threads(uint32_t threads) {
  test("at the byte limit many threads make every batch that one would, without a failure");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_noise(directory, 4000);
  weir_options options = small_options();
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.batch_threads = threads;
  /* What is there, what is never used, the segment that is begun, the room of one batch; and less than that of two. */
  options.max_bytes = stat_of(directory).total_bytes + (128 << 10) + 2 * SEGMENT + SEGMENT * 3 / 4;
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_AWAIT(raw_ones(directory) == 0 || counters_of(log).batch_failures > 0);
  CHECK_EQUAL(counters_of(log).batch_failures, 0);
  CHECK_AWAIT(counters_of(log).batch_waiting == 0);
  CHECK_EQUAL(counters_of(log).batched, batches(directory));
  close_and_free(log);
  CHECK_EQUAL(temporaries(directory), 0);
  CHECK_EQUAL(stat_of(directory).removed, 0);
  CHECK_EQUAL(stat_of(directory).events, 4000);
  check_no_findings(directory);
  scratch_remove(folder);
}

/* Far below the limit there is room for all of them at once. */
static void test_room_for_all(void) {
  test("below a wide limit as many batches are made at once as there are threads");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_noise(directory, 2000);
  weir_options options = small_options();
  options.batch_threads = 4;
  options.max_bytes = 100 * SEGMENT;
  held = 0;
  holding = 1;
  weir_fault_observe(hold_writers);
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_AWAIT(held >= 4);
  CHECK_EQUAL(held, 4);
  holding = 0;
  CHECK_AWAIT(counters_of(log).batch_waiting == 0);
  weir_fault_observe(NULL);
  close_and_free(log);
  check_no_findings(directory);
  scratch_remove(folder);
}

/* ---- Ahead of its time ------------------------------------------------------------------------------------------- */

/* Has the preparer try to make one more segment than there is; how many there are then. */
static uint32_t try_ahead(event_log *log) {
  preparer *preparer = &log->preparer;
  preparer_want(preparer);
  for (int busy = 1; busy;) {
    sleep_ns(1000000);
    pthread_mutex_lock(&preparer->worker.mutex);
    busy = preparer->wanted;
    pthread_mutex_unlock(&preparer->worker.mutex);
  }
  return (uint32_t)preparer->ready_count;
}

static void test_ahead(void) {
  test("a segment that the byte limit keeps from being made ahead of its time is made when it is needed");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
  options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST);
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_noise(log);
  for (int i = 0; i < 1500; i++) CHECK_EQUAL(capture_noise(log, type), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_sync(log, HANG_NS, NULL, NULL), WEIR_OK);
  /* Nobody captures now, so the drainer leaves the supply alone. It has needed one before, and found none. */
  event_log *inside = (event_log *)log;
  pthread_mutex_lock(&inside->preparer.worker.mutex);
  inside->preparer.depth = MAX_READY_SEGMENTS;
  inside->preparer.needed = 1;
  pthread_mutex_unlock(&inside->preparer.worker.mutex);
  uint32_t ready = try_ahead(inside);
  CHECK(ready >= 1 && ready < MAX_READY_SEGMENTS && try_ahead(inside) == ready);
  segment *taken[MAX_READY_SEGMENTS + 1] = {0};
  int error = 0;
  for (uint32_t i = 0; i <= ready; i++) taken[i] = preparer_take(&inside->preparer, &error);
  CHECK(taken[ready - 1] && !taken[ready]);
  CHECK_EQUAL(error, 0);
  for (uint32_t i = 0; i < ready; i++) byte_limit_give(inside->intake.retention, segment_discard(taken[i]));
  /* Refused are those for which the oldest segment is still being sealed, and can't go yet. */
  for (int i = 0; i < 1500; i++) CHECK_AWAIT(capture_noise(log, type) == WEIR_ACCEPTED);
  close_and_free(log);
  scratch_remove(folder);
}

int main(void) {
  random_start("batch_limit_test");
  for (uint32_t threads = 1; threads <= 8; threads *= 2) test_captures(threads, 0);
  test_captures(4, 2 * SEGMENT);
  test_threads(1);
  test_threads(8);
  test_room_for_all();
  test_ahead();
  return finish();
}
