/*
 * tally_test.c: weir_count_from: for every offset, of a live log and of a dead one, with segments raw or batch, removed
 * or damaged: each accepted event is counted once, where it is.
 */
#include "batch_check.h"
#include "drainer.h"
#include "log_builder.h"

#include <pthread.h>

static weir_tally tally_of(const char *directory, uint64_t offset) {
  weir_tally tally;
  weir_error error;
  if (!CHECK_EQUAL(weir_count_from(directory, offset, &tally, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  return tally;
}

/* What is there from each offset on, found by reading; lanes included. */
static void check_holes(const char *directory, uint64_t accepted, uint64_t holes, uint64_t step) {
  found_log found = read_log(directory);
  weir_stat stat = stat_of(directory);
  uint64_t i = 0, wrong = 0;
  for (uint64_t offset = 0; offset < stat.next_offset + 3; offset += step) {
    while (i < found.count && found.events[i].offset < offset) i++;
    weir_tally tally = tally_of(directory, offset);
    wrong += tally.in_segments + tally.in_lanes != found.count - i;
    wrong += tally.below != i || tally.missing != 0 || tally.accepted != accepted;
    wrong += tally.in_holes != holes;
    wrong += tally.removed != stat.removed || tally.next_offset != stat.next_offset;
    wrong += tally.first_offset != stat.first_offset || tally.live != stat.live;
    wrong += tally.removed_above != (offset < stat.first_offset ? stat.first_offset - offset : 0);
  }
  CHECK_EQUAL(wrong, 0);
  found_free(&found);
}

static void check_every_offset(const char *directory, uint64_t accepted, uint64_t step) {
  check_holes(directory, accepted, 0, step);
}

/* Captures 700 events in a process that is killed with the last of them in its lane. */
static void die_with_events(const char *directory, uint64_t from) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_options options = small_options();
    options.drain_interval_ns = UINT64_C(10000000000);
    weir_log *log;
    if (weir_open(directory, &options, &log, NULL, NULL) != WEIR_OK) _exit(3);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < 700; i++) {
      if (i == 680) hold_drainer(log); /* the others stay in the lane */
      if (capture_numbered(log, type, 0, from + i, 100, NULL) != WEIR_ACCEPTED) _exit(4);
    }
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
}

static void test_dead(void) {
  test("of a log that nobody has open, from every offset: raw, batch, removed, and in a dead process's lanes");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 1500, SEGMENT);
  check_every_offset(directory, 1500, 1);
  batch_all(directory, 2);
  check_every_offset(directory, 1500, 1);
  die_with_events(directory, 1500);
  CHECK(tally_of(directory, 0).in_lanes > 0);
  check_every_offset(directory, 2200, 1);
  weir_options options = small_options();
  options.retain_bytes = SEGMENT;
  close_and_free(open_with(directory, &options, NULL));
  CHECK(tally_of(directory, 0).removed > 0);
  check_every_offset(directory, 2200, 1);
  scratch_remove(folder);
}

/* Damages two records in a dead ring's lane, with one that is whole between them. */
static void damage_lane(const char *directory) {
  ring_header header;
  int fd = open(join(directory, RING_NAME), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header);
  for (uint32_t i = 0; i < header.lane_count; i++) {
    lane_control control;
    uint64_t at = header.lanes_at + i * header.lane_stride;
    REQUIRE(pread(fd, &control, sizeof control, at) == sizeof control);
    uint64_t position = head_position(control.head);
    if (position == control.tail) continue;
    for (int k = 0; k < 6; k++) {
      record_header record;
      uint64_t in_lane = at + LANE_CONTROL_BYTES + (position & (header.lane_bytes - 1));
      REQUIRE(pread(fd, &record, sizeof record, in_lane) == sizeof record);
      if (k == 3 || k == 5) REQUIRE(pwrite(fd, "damage", 6, in_lane + sizeof record + 8) == 6);
      position += record_size(record.length);
    }
    close(fd);
    return;
  }
  REQUIRE(!"events in a lane");
}

static void make_log_longer(const char *directory, uint64_t count) {
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_EQUAL(capture_watched(log, define_numbered(log), 5000, count, 0), count);
  close_and_free(log);
}

static void test_holes(void) {
  test("events that only a hole tells of are counted, before recovery, after it, in a batch, and once it is removed");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 500, SEGMENT);
  die_with_events(directory, 500);
  damage_lane(directory);
  check_holes(directory, 1200, 2, 7);
  weir_options options = small_options();
  close_and_free(open_with(directory, &options, NULL));
  check_holes(directory, 1200, 2, 1);
  CHECK_EQUAL(stat_of(directory).events, 1198);
  batch_all(directory, 2);
  check_holes(directory, 1200, 2, 1);
  check_no_findings(directory);
  /* A segment without its seal is gone through block by block. */
  die_with_events(directory, 1200);
  check_holes(directory, 1900, 2, 7);
  make_log_longer(directory, 1000);
  check_holes(directory, 2900, 2, 7);
  options.remove_delivered = 1;
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_EQUAL(tally_of(directory, 0).in_holes, 2);
  weir_set_delivered(log, UINT64_MAX);
  CHECK_AWAIT(stat_of(directory).removed >= 1900);
  CHECK(tally_of(directory, 0).in_holes == 2 && tally_of(directory, 0).accepted == 2900);
  close_and_free(log);
  check_holes(directory, 2900, 2, 7);
  check_no_findings(directory);
  scratch_remove(folder);
}

static void test_empty(void) {
  test("of a log without an event, and of what is no log");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_tally tally;
  weir_error error;
  CHECK_EQUAL(weir_count_from(directory, 0, &tally, &error), WEIR_ERROR_MISSING);
  CHECK_EQUAL(weir_count_from(directory, 0, &tally, NULL), WEIR_ERROR_MISSING);
  weir_log *log = open_default(directory, NULL);
  tally = tally_of(directory, 0);
  CHECK(tally.accepted == 0 && tally.next_offset == 0 && tally.live == 1);
  close_and_free(log);
  tally = tally_of(directory, UINT64_MAX);
  CHECK(tally.accepted == 0 && tally.next_offset == 0 && tally.live == 0);
  scratch_remove(folder);
}

/* ---- A live log -------------------------------------------------------------------------------------------------- */

typedef struct producer {
  weir_log *log;
  uint32_t type;
  uint64_t number;
  _Atomic uint64_t *accepted;
  _Atomic uint64_t *begun;
  _Atomic int *stopping;
} producer;

static void *produce(void *argument) {
  producer *self = argument;
  for (uint64_t i = 0; !*self->stopping; i++) {
    ++*self->begun;
    if (capture_numbered(self->log, self->type, self->number, i, i % 60, NULL) == WEIR_ACCEPTED) ++*self->accepted;
    else --*self->begun;
    if (i % 64 == 0) sleep_ns(100000);
  }
  return NULL;
}

static void test_live(uint32_t full_policy) {
  test("of a live log all that was accepted before is counted, once, whatever is drained, sealed or removed meanwhile");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.lane_count = 5;
  options.full_policy = full_policy;
  options.full_wait_ns = full_policy == WEIR_FULL_DROP_OLDEST ? 0 : UINT64_MAX;
  options.batch_threads = 2;
  options.retain_bytes = 3 * SEGMENT;
  options.drain_interval_ns = full_policy == WEIR_FULL_DROP_OLDEST ? 20000000 : 1000000;
  _Atomic uint64_t accepted = 0, begun = 0;
  _Atomic int stopping = 0;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  producer producers[4];
  pthread_t threads[4];
  for (uint64_t i = 0; i < 4; i++) {
    producers[i] = (producer){log, type, i, &accepted, &begun, &stopping};
    REQUIRE(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
  }
  enum { ROUNDS = 200, EVENTS = 20000 };
  uint64_t below = 0, above = 0, offset = 0, until = now_ns() + HANG_NS;
  for (int rounds = 0; rounds < ROUNDS || (accepted < EVENTS && now_ns() < until); rounds++) {
    uint64_t before = accepted;
    weir_tally tally = tally_of(directory, offset);
    uint64_t after = begun;
    below += tally.accepted < before;
    above += tally.accepted > after;
    if (tally.accepted < before || tally.accepted > after) {
      fprintf(stderr, "%" PRIu64 " of %" PRIu64 " to %" PRIu64 "\n", tally.accepted, before, after);
    }
    CHECK(tally.live && tally.missing == 0);
    offset = tally.first_offset + random_below(tally.next_offset - tally.first_offset + 1);
  }
  stopping = 1;
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK(accepted >= EVENTS);
  CHECK_EQUAL(below, 0);
  CHECK_EQUAL(above, 0);
  CHECK_EQUAL(tally_of(directory, 0).accepted, accepted); /* in the lanes or not */
  close_and_free(log);
  CHECK_EQUAL(tally_of(directory, 0).accepted, accepted);
  scratch_remove(folder);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

static void test_damage(void) {
  test("what a damaged block took is missing once the offset has come to its segment; all else is where it was");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 1500, SEGMENT);
  segment_name name = segment_at(directory, 0);
  uint64_t end = segment_at(directory, 1).base;
  int fd = open(join(directory, name.name), O_RDWR);
  REQUIRE(fd >= 0 && pwrite(fd, "damage", 6, 60000) == 6);
  close(fd);
  found_log found = read_log(directory);
  uint64_t lost = 1500 - found.count, wrong = 0;
  CHECK(lost > 0 && lost < 200);
  for (uint64_t offset = 0; offset < 1500; offset++) {
    weir_tally tally = tally_of(directory, offset);
    uint64_t there = 0;
    for (uint64_t i = 0; i < found.count; i++) there += found.events[i].offset >= offset;
    uint64_t expected = offset == 0 ? 1500 : there; /* at 0 its seal is believed */
    wrong += tally.in_segments != expected || tally.accepted != 1500;
    wrong += offset > 0 && tally.missing != 1500 - offset - there;
  }
  CHECK_EQUAL(wrong, 0);
  found_free(&found);
  /* Without its seal each block is looked at. */
  REQUIRE(truncate(join(directory, name.name), 140000) == 0);
  weir_tally tally = tally_of(directory, 0);
  CHECK(tally.accepted == 1500 && tally.missing >= lost && tally.in_segments + tally.missing == 1500);
  REQUIRE(unlink(join(directory, name.name)) == 0);
  tally = tally_of(directory, 0);
  CHECK(tally.accepted == 1500 && tally.missing == end);
  tally = tally_of(directory, 10);
  CHECK(tally.missing == end - 10 && tally.below == 10);
  scratch_remove(folder);
}

static void test_damaged_beginning(void) {
  test("a sealed segment whose header and first blocks are damaged: its events count once, also when it is removed");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 3000, SEGMENT);
  segment_name name = segment_at(directory, 1);
  uint8_t zeros[40000] = {0};
  int fd = open(join(directory, name.name), O_RDWR);
  REQUIRE(fd >= 0 && pwrite(fd, zeros, sizeof zeros, 0) == sizeof zeros);
  close(fd);
  found_log found = read_log(directory);
  uint64_t wrong = 0, first = 0, there = found.count;
  CHECK(found.count < 3000);
  for (uint64_t offset = 0; offset < 3003; offset++) {
    while (first < found.count && found.events[first].offset < offset) first++, there--;
    weir_tally tally = tally_of(directory, offset);
    wrong += tally.accepted != 3000;
    /* From the segment's middle on it is looked at; before, its seal is believed. */
    wrong += offset > name.base && tally.in_segments != there;
  }
  CHECK_EQUAL(wrong, 0);
  found_free(&found);
  weir_options options = small_options();
  options.retain_bytes = SEGMENT;
  close_and_free(open_with(directory, &options, NULL));
  CHECK(tally_of(directory, 0).removed > name.base);
  CHECK_EQUAL(tally_of(directory, 0).accepted, 3000);
  scratch_remove(folder);
}

static void damage_unsealed(const char *directory) {
  uint64_t last = 0;
  while (!segment_at(directory, last).active) last++;
  int fd = open(join(directory, segment_at(directory, last).name), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && pwrite(fd, "damage", 6, 12000) == 6);
  close(fd);
}

static void test_damage_before_recovery(void) {
  test("what damage took of a segment that a recovery sealed is missing as before: raw, in a batch, from any offset, "
       "and once it is removed");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 500, SEGMENT);
  die_with_events(directory, 500);
  damage_unsealed(directory);
  weir_tally before = tally_of(directory, 0);
  CHECK(before.accepted == 1200 && before.missing > 0 && before.missing < 600);
  weir_options options = small_options();
  close_and_free(open_with(directory, &options, NULL));
  for (int batch = 0; batch < 2; batch++) {
    found_log found = read_log(directory);
    CHECK_EQUAL(found.count, 1200 - before.missing);
    uint64_t wrong = 0, there = found.count;
    for (uint64_t offset = 0, i = 0; offset < 1203; offset++) {
      while (i < found.count && found.events[i].offset < offset) i++, there--;
      weir_tally tally = tally_of(directory, offset);
      wrong += tally.accepted != 1200 || tally.in_segments != there;
      wrong += tally.missing != (offset < 1200 ? 1200 - offset - there : 0);
    }
    CHECK_EQUAL(wrong, 0);
    found_free(&found);
    if (batch == 0) batch_all(directory, 2);
  }
  /* A whole segment that is gone stays missing, too, when what lies around it is removed. */
  make_log_longer(directory, 2000);
  segment_name second = segment_at(directory, 1);
  REQUIRE(unlink(join(directory, second.name)) == 0);
  CHECK_EQUAL(tally_of(directory, 0).accepted, 3200);
  options.remove_delivered = 1;
  weir_log *log = open_with(directory, &options, NULL);
  weir_set_delivered(log, UINT64_MAX);
  CHECK_AWAIT(stat_of(directory).segments <= 2);
  CHECK(tally_of(directory, 0).removed > 1200 && tally_of(directory, 0).accepted == 3200);
  close_and_free(log);
  CHECK_EQUAL(tally_of(directory, 0).accepted, 3200);
  CHECK_EQUAL(tally_of(directory, 2500).accepted, 3200);
  check_no_findings(directory);
  scratch_remove(folder);
}

static void write_built(const char *directory, const built *file, uint64_t base, int damaged) {
  char name[64];
  segment_list_raw_name(name, base, 0);
  int fd = open(join(directory, name), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0 && write(fd, file->bytes, file->count) == (ssize_t)file->count);
  if (damaged) REQUIRE(pwrite(fd, "x", 1, 80) == 1);
  close(fd);
}

static void test_left_out(int damaged) {
  test("offsets that were left out after a power cut are not missing, also where the header that says so is damaged");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  REQUIRE(mkdir(directory, 0700) == 0);
  uint64_t drained[BUILT_LANES] = {0}, position = 0, base = 50 + OFFSETS_LEFT_OUT;
  built first, second;
  built_begin(&first, 7, 0, drained, NULL, 0);
  built_define(&first);
  built_events(&first, 0, &position, 1, 50);
  built_seal(&first);
  write_built(directory, &first, 0, 0);
  position = 0;
  built_begin(&second, 9, base, drained, &first, 0);
  uint32_t flags = SEGMENT_AFTER_CUT;
  memcpy(second.bytes + offsetof(segment_header, flags), &flags, sizeof flags);
  uint32_t crc = crc32c(second.bytes + 20, second.count - 20);
  memcpy(second.bytes + 16, &crc, 4);
  built_define(&second);
  built_events(&second, 0, &position, 1, 30);
  built_seal(&second);
  write_built(directory, &second, base, damaged);
  for (uint64_t offset = 0; offset < 50; offset += 7) {
    weir_tally tally = tally_of(directory, offset);
    CHECK(tally.accepted == 80 && tally.missing == 0 && tally.in_segments == 80 - offset && tally.below == offset);
  }
  free(first.bytes);
  free(second.bytes);
  scratch_remove(folder);
}

int main(void) {
  random_start("tally_test");
  test_dead();
  test_holes();
  test_empty();
  test_live(WEIR_FULL_DROP_NEWEST);
  test_live(WEIR_FULL_DROP_OLDEST);
  test_damage();
  test_damaged_beginning();
  test_damage_before_recovery();
  test_left_out(0);
  test_left_out(1);
  return finish();
}
