/*
 * batch_open_test.c: batch segments of a log that is open: beside captures, readers, retention and the byte limit; with
 * a full disk; at a close, in a fork, at a kill. Whatever was accepted is there or was removed and counted, and no
 * capture is refused for it.
 */
#include "batch_check.h"

#include <pthread.h>

static weir_counters counters_of(const weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters;
}

/* Until nothing is left to be done. */
static void await_batches(const weir_log *log) { CHECK_AWAIT(counters_of(log).batch_waiting == 0); }

static void capture_mixed(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  uint64_t refused = 0;
  for (uint64_t i = from; i < from + count; i++) {
    refused += capture_numbered(log, type, 0, i, i % 5 == 0 ? 900 : 20, NULL) != WEIR_ACCEPTED;
  }
  CHECK_EQUAL(refused, 0);
}

static void drain(weir_log *log) {
  weir_error error;
  CHECK_EQUAL(weir_sync(log, HANG_NS, NULL, &error), WEIR_OK);
}

static void test_beside_captures(void) {
  test("sealed segments become batch segments while others are captured, what earlier openings left raw among them");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 2000, SEGMENT);
  uint64_t left = raw_ones(directory);
  weir_options options = small_options();
  options.batch_threads = 2;
  weir_log *log = open_with(directory, &options, NULL);
  capture_mixed(log, define_numbered(log), 2000, 6000);
  drain(log);
  CHECK_AWAIT(counters_of(log).batched >= left); /* it is listed by then */
  await_batches(log);
  weir_counters counters = counters_of(log);
  CHECK(counters.batched == batches(directory) && counters.batched > left && raw_ones(directory) == 0);
  CHECK(counters.batch_input > 2 * counters.batch_output && counters.batch_output > 0);
  CHECK_EQUAL(counters.unbatched + counters.batch_failures, 0);
  CHECK_EQUAL(counters.batching, WEIR_OK);
  close_and_free(log);
  check_conserved(directory, 8000, 0);
  check_with_tool(directory);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), 8000);
  found_free(&found);
  scratch_remove(folder);
}

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

typedef struct follower {
  const char *directory;
  uint64_t wanted;
  uint64_t events, skips, disorder;
} follower;

static void *follow(void *argument) {
  follower *follower = argument;
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  found_event found;
  REQUIRE(weir_reader_open(follower->directory, NULL, &reader, &error) == WEIR_OK);
  uint64_t end = now_ns() + HANG_NS;
  while (follower->events < follower->wanted && now_ns() < end) {
    weir_status status = weir_reader_next(reader, &event, &skip, &error);
    if (status == WEIR_END) weir_reader_wait(reader, 10000000);
    else if (status == WEIR_SKIPPED) follower->skips++;
    else if (status != WEIR_OK) break;
    else if (name_is(&event, "numbered")) {
      follower->disorder += !take_numbered(&event, &found) || found.number != follower->events;
      follower->events++;
    }
  }
  weir_reader_close(reader);
  return NULL;
}

static void test_readers(void) {
  test("readers see every event once, in its place, while segments become batch segments under them");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 1500, SEGMENT);
  weir_options options = small_options();
  options.batch_threads = 3;
  weir_log *log = open_with(directory, &options, NULL);
  follower followers[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    followers[i] = (follower){.directory = directory, .wanted = 9500};
    REQUIRE(pthread_create(&threads[i], NULL, follow, &followers[i]) == 0);
  }
  capture_mixed(log, define_numbered(log), 1500, 8000);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; i++) CHECK(followers[i].events == 9500 && followers[i].skips + followers[i].disorder == 0);
  await_batches(log);
  close_and_free(log);
  check_conserved(directory, 9500, 0);
  scratch_remove(folder);
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

/* No file of a segment lies below where the log begins. */
static void check_no_leftovers(const char *directory) {
  uint64_t first = stat_of(directory).first_offset;
  segment_list list;
  int fd = open_dir(directory);
  REQUIRE(segment_list_read(fd, &list) == 0);
  for (uint64_t i = 0; i < list.count; i++) CHECK(list.items[i].base >= first);
  segment_list_free(&list);
  close(fd);
  CHECK_EQUAL(temporaries(directory), 0);
}

static void test_retention(uint32_t threads) {
  test("retention removes raw and batch segments, and those that are just being made");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.batch_threads = threads;
  options.retain_bytes = threads == 1 ? 3 * SEGMENT : 1;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 12; i++) {
    capture_mixed(log, type, i * 1000, 1000);
    if (i % 3 == 0) sleep_ns(random_below(20000000));
  }
  drain(log);
  await_batches(log);
  close_and_free(log);
  weir_stat stat = check_conserved(directory, 12000, 0);
  CHECK(stat.removed > 0 && stat.dropped[WEIR_LOST_EXPIRED] == stat.removed);
  check_no_leftovers(directory);
  scratch_remove(folder);
}

/* Compressed, more than its bytes fit below the limit. */
static void test_retained_bytes(void) {
  test("retain_bytes counts what batch segments take, so that more events are kept");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.batch_threads = 1;
  options.retain_bytes = 4 * SEGMENT;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t captured = 0;
  for (int i = 0; i < 20; i++, captured += 500) {
    capture_mixed(log, type, captured, 500);
    drain(log);
    await_batches(log);
  }
  close_and_free(log);
  weir_stat stat = check_conserved(directory, captured, 0);
  CHECK(stat.segments > 8 && stat.segment_bytes < 5 * SEGMENT); /* the close has sealed one more */
  scratch_remove(folder);
}

/* What it has in its books is what is there, once no thread of its own makes or removes anything. */
static int books_are_right(weir_log *log, const char *directory) {
  uint64_t used = __atomic_load_n(&((event_log *)log)->intake.retention->used, __ATOMIC_ACQUIRE);
  uint64_t there = stat_of(directory).total_bytes;
  return used + SEGMENT > there && used < there + SEGMENT;
}

static void test_limit(uint32_t policy) {
  test("the byte limit holds while a segment and the batch of it are both there");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.batch_threads = 2;
  options.limit_policy = policy;
  uint64_t least = least_limit(policy);
  weir_log *log;
  weir_error error;
  options.max_bytes = least + SEGMENT - 1;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_ERROR_INVALID); /* one more than without */
  options.max_bytes = least + SEGMENT + (policy == WEIR_LIMIT_REFUSE ? 40 * SEGMENT : 2 * SEGMENT);
  log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t above = 0, count = policy == WEIR_LIMIT_REFUSE ? 4000 : 12000;
  for (uint64_t i = 0; i < count; i++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, i, FILLER, NULL), WEIR_ACCEPTED);
    if (i % 20 == 0) above += stat_of(directory).total_bytes > options.max_bytes;
  }
  CHECK_EQUAL(above, 0);
  drain(log);
  await_batches(log);
  CHECK(counters_of(log).batched > 10);
  CHECK_AWAIT(books_are_right(log, directory));
  close_and_free(log);
  CHECK(stat_of(directory).total_bytes <= options.max_bytes);
  weir_stat stat = check_conserved(directory, count, 0);
  CHECK_EQUAL(stat.removed > 0, policy == WEIR_LIMIT_DROP_OLDEST);
  check_no_leftovers(directory);
  scratch_remove(folder);
}

/* Events that LZ4 finds nothing in. */
static void make_noise(const char *directory, uint64_t count) {
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  const weir_field field = {"noise", WEIR_KIND_BYTES, 0};
  const weir_definition definition = {.name = "noise", .fields = &field, .field_count = 1};
  uint32_t type;
  REQUIRE(weir_define(log, 0, &definition, 1, &type, NULL) == WEIR_OK);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t noise[100];
    for (int k = 0; k < 100; k++) noise[k] = random_below(UINT64_MAX);
    weir_record record;
    REQUIRE(weir_begin(log, &record) == WEIR_ACCEPTED);
    weir_put_string(&record, (const char *)noise, sizeof noise);
    REQUIRE(weir_commit(&record, type, NULL) == WEIR_ACCEPTED);
  }
  close_and_free(log);
}

static void test_room(void) {
  test("at the byte limit there is room to make a batch segment, though it be no smaller");
  for (uint64_t more = 0; more < SEGMENT; more += SEGMENT / 4) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    make_noise(directory, 1500);
    weir_options options = small_options();
    options.batch_threads = 1;
    options.limit_policy = WEIR_LIMIT_DROP_OLDEST;
    options.max_bytes = least_limit(WEIR_LIMIT_DROP_OLDEST) + 3 * SEGMENT + more;
    weir_log *log = open_with(directory, &options, NULL);
    CHECK_AWAIT(counters_of(log).batched + counters_of(log).batch_failures > 0);
    weir_counters counters = counters_of(log);
    CHECK(counters.batched > 0 && counters.batch_failures == 0);
    CHECK(stat_of(directory).total_bytes <= options.max_bytes && stat_of(directory).removed > 0);
    close_and_free(log);
    scratch_remove(folder);
  }
}

static _Atomic int holding, held;

/* Holds up whoever writes a batch segment. */
static void hold_writers(const weir_call *call, int after) {
  if (after || strcmp(call->operation, "sys_write_at") != 0 || !is_batch_file(call->fd)) return;
  while (holding) {
    held = 1;
    sleep_ns(1000000);
  }
}

static void test_dropped(void) {
  test("a segment that is removed while a batch of it is being written does not come back");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 3000, SEGMENT);
  uint64_t last = stat_of(directory).next_offset;
  weir_options options = small_options();
  options.batch_threads = 1;
  options.remove_delivered = 1;
  holding = 1;
  weir_fault_observe(hold_writers);
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_AWAIT(held);
  weir_set_delivered(log, last);
  CHECK_AWAIT(counters_of(log).delivered_removed > 0);
  holding = 0;
  await_batches(log);
  weir_fault_observe(NULL);
  check_no_leftovers(directory);
  close_and_free(log);
  scratch_remove(folder);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static void test_full_disk(void) {
  test("on a full disk segments stay raw, nothing is refused for it, and it is tried again");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 1500, SEGMENT);
  weir_options options = small_options();
  options.batch_threads = 1;
  weir_log *log = open_with(directory, &options, NULL);
  weir_fault_set("sys_write_at", 1, UINT64_MAX, ENOSPC); /* an open log without bounds writes nothing else by it */
  capture_mixed(log, define_numbered(log), 1500, 3000);
  drain(log);
  CHECK_AWAIT(counters_of(log).batch_failures > 0);
  weir_counters counters = counters_of(log);
  CHECK(counters.batch_failures > 0 && counters.batching == WEIR_ERROR_NO_SPACE && counters.storage == WEIR_OK);
  CHECK(counters.batch_waiting > 0 && raw_ones(directory) > 0);
  weir_fault_set("", 0, 0, 0);
  await_batches(log);
  counters = counters_of(log);
  CHECK(counters.batching == WEIR_OK && counters.batched == batches(directory) && raw_ones(directory) == 0);
  CHECK_EQUAL(temporaries(directory), 0);
  close_and_free(log);
  check_conserved(directory, 4500, 0);
  scratch_remove(folder);
}

static void test_damaged(void) {
  test("a damaged segment of an open log is counted once, and stays raw");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 3000, SEGMENT);
  segment_name name = segment_at(directory, 1);
  int fd = open(join(directory, name.name), O_RDWR);
  REQUIRE(fd >= 0 && pwrite(fd, "damage", 6, 30000) == 6);
  close(fd);
  weir_options options = small_options();
  options.batch_threads = 2;
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_AWAIT(counters_of(log).unbatched > 0);
  await_batches(log);
  CHECK(counters_of(log).unbatched == 1 && raw_ones(directory) == 1 && batches(directory) > 1);
  CHECK_EQUAL(access(join(directory, name.name), F_OK), 0);
  close_and_free(log);
  scratch_remove(folder);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void test_close(void) {
  test("a close waits for no more than what is being written, and leaves nothing half made");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 15000, SEGMENT);
  found_log whole = read_log(directory);
  uint64_t segments = raw_ones(directory);
  weir_options options = small_options();
  options.batch_threads = 4;
  for (int i = 0; i < 8; i++) {
    weir_log *log = open_with(directory, &options, NULL);
    sleep_ns(random_below(3000000));
    close_and_free(log);
    CHECK_EQUAL(temporaries(directory), 0);
    CHECK(raw_ones(directory) + batches(directory) == segments);
  }
  check_reads_as(directory, &whole);
  found_free(&whole);
  scratch_remove(folder);
}

static void test_kill(void) {
  test("killed at any moment, with batch segments in the making, the log is whole");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint64_t *accepted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(accepted != MAP_FAILED);
  _Atomic uint64_t *opened = (_Atomic uint64_t *)accepted + 1;
  weir_options options = small_options();
  options.batch_threads = 2;
  for (int round = 0; round < 12; round++) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_log *log;
      if (weir_open(directory, &options, &log, NULL, NULL) != WEIR_OK) _exit(3);
      uint32_t type = define_numbered(log);
      *opened = 1;
      for (;;) {
        if (capture_numbered(log, type, 0, *accepted, *accepted % 3 ? 20 : 900, NULL) == WEIR_ACCEPTED) ++*accepted;
      }
    }
    CHECK_AWAIT(*opened); /* the first time; then also within an opening */
    sleep_ns(random_below(60000000));
    kill(child, SIGKILL);
    CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    found_log found = read_log(directory);
    check_sound(&found);
    uint64_t there = check_producer(&found, 0);
    CHECK(there >= *accepted && there <= *accepted + 1); /* killed between the commit and its being noted */
    *accepted = there;
    found_free(&found);
  }
  close_and_free(open_with(directory, &options, NULL));
  batch_all(directory, 2);
  CHECK_EQUAL(temporaries(directory) + raw_ones(directory), 0);
  check_conserved(directory, *accepted, 0);
  munmap(accepted, 4096);
  scratch_remove(folder);
}

int main(void) {
  random_start("batch_open_test");
  test_beside_captures();
  test_readers();
  test_retention(1);
  test_retention(4);
  test_retained_bytes();
  test_limit(WEIR_LIMIT_DROP_OLDEST);
  test_limit(WEIR_LIMIT_REFUSE);
  test_room();
  test_dropped();
  test_full_disk();
  test_damaged();
  test_close();
  test_kill();
  return finish();
}
