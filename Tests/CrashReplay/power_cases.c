/*
 * power_cases.c: FAULTS cases 22 to 26 and 29, power cuts, one by one. Most take a run with the property that the case
 * is about, and many images of it (power_run.h); the others break a page or a file of a log by hand. power_replay.c
 * does the same at length, at random.
 *
 * The file is long because the cases that break a log by hand share how the log is made, broken and read.
 */
#include "check.h"
#include "power_run.h"
#include "replay.h"

#include <pthread.h>

#include "capture/overflow_lanes.h"
#include "directory/segment_list.h"
#include "format/format.h"
#include "log/log.h"
#include "system/system.h"

/* ---- Images of a run --------------------------------------------------------------------------------------------- */

static report *said;

typedef struct tried {
  uint64_t images, faults, events, missing, in_holes, with_holes, tails;
  char text[2048]; /* of the first that was wrong */
} tried;

/* Makes the images that `plan` is a pattern of, with different choices, and holds them to the run. */
static void try_images(power_run *run, const char *folder, image_plan plan, int count, int any_moment, tried *tried) {
  const char *path = join(folder, "image");
  uint64_t state = random_below(UINT64_MAX);
  for (int i = 0; i < count; i++) {
    plan.seed = replay_random(&state);
    if (any_moment) plan.moment = (uint32_t)replay_below(&state, run->recording->moments);
    judge judge = {0};
    power_sums sums;
    image_build(run->recording, &plan, path);
    power_hold(&judge, run, &plan, path, 0, &sums);
    remove_tree(path);
    if (judge.faults > 0 && tried->faults == 0) {
      snprintf(tried->text, sizeof tried->text, "%s: %.1800s", image_describe(&plan), judge.text);
    }
    tried->images++;
    tried->faults += judge.faults;
    tried->events += sums.events;
    tried->missing += sums.missing;
    tried->in_holes += sums.found.missing_events;
    tried->with_holes += sums.found.missing_events > 0;
    tried->tails += sums.found.unknown_tail;
  }
}

static void check_tried(const tried *tried) {
  CHECK_EQUAL(tried->faults, 0);
  if (tried->faults > 0) fprintf(stderr, "%s\n", tried->text);
}

static victim_plan plain_plan(const char *folder, uint64_t events) {
  victim_plan plan = power_plan(join(folder, "log"), random_below(UINT64_MAX));
  plan.threads = 2;
  plan.lane_count = 3;
  plan.lane_bytes = 16384;
  plan.openings = 1;
  plan.events = events;
  plan.largest = 400;
  plan.full_policy = WEIR_FULL_DROP_NEWEST;
  plan.full_wait_ns = 1000000000;
  plan.threadless = 0;
  plan.pause_ns = 100000;
  plan.sync_every = plan.durable_every = plan.sync_interval_ns = 0;
  plan.drain_interval_ns = 1000000;
  return plan;
}

static void do_run(power_run *run, const victim_plan *plan) {
  report_clear(said);
  power_run_do(run, plan, said);
  CHECK_EQUAL(run->judge.faults, 0);
  if (run->judge.faults > 0) fprintf(stderr, "%s\n", run->judge.text);
  remove_tree(plan->directory);
}

static void nothing_synced(const char *folder) {
  test("case 22: nothing synced yet: exact holes, an unknown tail, no offset or id given twice");
  power_run run;
  victim_plan plan = plain_plan(folder, 300);
  do_run(&run, &plan);
  tried tried = {0};
  for (int contents = 0; contents < CONTENTS_KINDS; contents++) {
    for (int names = 0; names < NAMES_KINDS; names++) {
      image_plan image = {.contents = (image_contents)contents, .names = (image_names)names};
      try_images(&run, folder, image, 6, 1, &tried);
    }
  }
  check_tried(&tried);
  CHECK(tried.missing > 0 && tried.with_holes > 0 && tried.in_holes <= tried.missing);
  CHECK(tried.tails > 0);
  power_run_free(&run);
}

static void what_was_awaited(const char *folder) {
  test("case 23: after an awaited watermark nothing below it is lost");
  power_run run;
  victim_plan plan = plain_plan(folder, 120);
  plan.durable_every = 7;
  plan.sync_every = 31;
  do_run(&run, &plan);
  CHECK(said->threads[0].durable > 0);
  tried tried = {0}, lied_to = {0};
  for (int contents = 0; contents < CONTENTS_KINDS; contents++) {
    image_plan image = {.contents = (image_contents)contents, .names = NAMES_ANY};
    try_images(&run, folder, image, 12, 1, &tried);
  }
  check_tried(&tried);
  /* The broken twin: a disk that forgets what was synced is found out. */
  for (uint32_t i = 0; i < run.recording->file_count; i++) run.recording->files[i].sync_count = 0;
  image_plan image = {.contents = CONTENTS_OLD, .names = NAMES_NEW, .moment = run.recording->moments - 1};
  try_images(&run, folder, image, 1, 0, &lied_to);
  CHECK(lied_to.faults > 0);
  power_run_free(&run);
}

/* ---- Case 24: names ---------------------------------------------------------------------------------------------- */

static uint64_t parent_inode;
static _Atomic int parent_syncs, rings_made, rings_before;

static void watch_parent(const weir_call *call, int after) {
  struct stat status;
  if (!after) return;
  if (strcmp(call->operation, "sys_sync_directory") == 0 && fstat(call->fd, &status) == 0) {
    parent_syncs += (uint64_t)status.st_ino == parent_inode;
  }
  int makes_ring = strcmp(call->operation, "sys_rename") == 0 && strcmp(call->name, RING_NEW_NAME) == 0;
  rings_made += makes_ring;
  rings_before += makes_ring && parent_syncs == 0;
}

static void names_and_contents(const char *folder) {
  test("case 24: a name without its content, content without its name");
  power_run run;
  victim_plan plan = plain_plan(folder, 200);
  plan.sync_every = 60;
  plan.openings = 2;
  do_run(&run, &plan);
  tried tried = {0};
  image_plan names = {.contents = CONTENTS_OLD, .names = NAMES_NEW, .old_sizes = 1};
  image_plan contents = {.contents = CONTENTS_NEW, .names = NAMES_OLD};
  image_plan any = {.contents = CONTENTS_RUN, .names = NAMES_ANY, .old_sizes = 1};
  try_images(&run, folder, names, 60, 1, &tried);
  try_images(&run, folder, contents, 60, 1, &tried);
  try_images(&run, folder, any, 60, 1, &tried);
  check_tried(&tried);
  power_run_free(&run);

  test("case 24: the directory's own name is on the disk before there is a ring in it");
  struct stat status;
  REQUIRE(stat(folder, &status) == 0);
  parent_inode = (uint64_t)status.st_ino;
  weir_log *log;
  weir_fault_observe(watch_parent);
  CHECK_EQUAL(weir_open(join(folder, "new"), NULL, &log, NULL, NULL), WEIR_OK);
  weir_fault_observe(NULL);
  CHECK_EQUAL(parent_syncs, 1);
  CHECK_EQUAL(rings_made, 1);
  CHECK_EQUAL(rings_before, 0);
  weir_close(log, NULL);
  weir_free(log);
}

/* ---- Logs broken by hand ----------------------------------------------------------------------------------------- */

enum { EVENTS = 60, LANE_BYTES = 16384, EVENT_BYTES = 84, RECORD_BYTES = 24 + EVENT_BYTES + 4 };

static weir_log *open_small(const char *directory, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = LANE_BYTES;
  options.max_event_bytes = 1024;
  options.segment_bytes = VICTIM_LEAST_SEGMENT;
  options.drain_interval_ns = 10000000000;
  weir_log *log;
  weir_error error;
  if (weir_open(directory, &options, &log, recovery, &error) == WEIR_OK) return log;
  fprintf(stderr, "%s\n", error.message);
  return NULL;
}

static uint32_t define_small(weir_log *log) {
  weir_field field = {"text", WEIR_KIND_BYTES, 0};
  weir_definition definition = {.name = "small", .fields = &field, .field_count = 1};
  uint32_t type = 0;
  weir_define(log, 0, &definition, 1, &type, NULL);
  return type;
}

/* Event `number`: its number, and bytes that follow from it. */
static void capture_small(weir_log *log, uint32_t type, uint64_t number) {
  uint8_t payload[EVENT_BYTES] = {EVENT_BYTES - 4};
  for (int i = 4; i < EVENT_BYTES; i++) payload[i] = (uint8_t)(number * 31 + (uint64_t)i);
  memcpy(payload + 4, &number, 8);
  CHECK_EQUAL(weir_capture(log, type, payload, sizeof payload, NULL), WEIR_ACCEPTED);
}

/*
 * Waits until the drainer sleeps between two passes, for as long as nobody calls it; answers which pass was the last.
 */
static uint64_t drainer_sleeps(weir_log *log) {
  const event_log *inside = (const event_log *)log;
  for (;;) {
    uint64_t pass = __atomic_load_n(&inside->drainer.counters.wakeups, __ATOMIC_ACQUIRE);
    if (pass > 0 && __atomic_load_n(&inside->intake.napping, __ATOMIC_ACQUIRE)) return pass;
    sleep_ns(100000);
  }
}

/*
 * Captures all of them, draining twice. 0 if the drainer came in between uncalled, as when it has just been started.
 * `*pass`: its last one; while there is no other, nothing but the captures changes what they left.
 */
static int capture_all(weir_log *log, uint64_t drained, uint64_t *pass) {
  uint32_t type = define_small(log);
  weir_counters counters;
  *pass = drainer_sleeps(log);
  for (uint64_t number = 0; number < EVENTS; number++) {
    capture_small(log, type, number);
    if (number + 10 != drained && number + 1 != drained) continue;
    REQUIRE(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
    *pass = drainer_sleeps(log);
  }
  weir_count(log, &counters);
  return counters.drained == drained;
}

/* A log of EVENTS events, the first `drained` of which are in two blocks of a segment, as a dead process left it. */
static void leave_log(const char *folder, const char *path, uint64_t drained) {
  const char *live = join(folder, "live");
  for (int tries = 0, left = 0; !left; tries++) {
    REQUIRE(tries < 100);
    weir_log *log = open_small(live, NULL);
    uint64_t pass;
    left = capture_all(log, drained, &pass) && replay_copy(live, path) == 0 && drainer_sleeps(log) == pass;
    if (!left) remove_tree(path);
    weir_close(log, NULL);
    weir_free(log);
    remove_tree(live);
  }
}

typedef struct small_log {
  uint8_t there[EVENTS];
  uint64_t events, wrong, holes, hole_events, tails, skipped;
} small_log;

static void take_hole(small_log *found, const weir_event *event) {
  uint32_t bytes;
  uint64_t events = 0;
  memcpy(&bytes, event->payload, 4);
  if (bytes == strlen("unknown tail")) {
    found->tails++;
  } else {
    if (event->payload[16 + bytes]) memcpy(&events, event->payload + 17 + bytes, 8);
    found->holes++;
    found->hole_events += events;
  }
}

static small_log read_small(const char *path) {
  small_log found = {0};
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_status status;
  CHECK_EQUAL(weir_reader_open(path, NULL, &reader, NULL), WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK || status == WEIR_SKIPPED) {
    uint64_t number;
    if (status == WEIR_SKIPPED) {
      found.skipped += skip.count;
      continue;
    }
    if (event.type == WEIR_TYPE_HOLE) take_hole(&found, &event);
    if (event.type < WEIR_TYPE_FIRST) continue;
    memcpy(&number, event.payload + 4, 8);
    int right = event.payload_bytes == EVENT_BYTES && number < EVENTS && !found.there[number];
    for (int i = 12; right && i < EVENT_BYTES; i++) right = event.payload[i] == (uint8_t)(number * 31 + (uint64_t)i);
    if (right) found.there[number] = 1;
    found.wrong += !right;
    found.events++;
  }
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
  return found;
}

/* Recovers it under another boot id; what readers find before is what they find after. */
static small_log recover_small(const char *path, weir_recovery *recovery) {
  weir_fault_boot_id(power_boot_id);
  small_log before = read_small(path);
  weir_log *log = open_small(path, recovery);
  REQUIRE(log);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  small_log after = read_small(path);
  weir_fault_boot_id(NULL);
  CHECK_EQUAL(after.wrong + before.wrong, 0);
  CHECK(memcmp(before.there, after.there, sizeof after.there) == 0);
  CHECK_EQUAL(before.hole_events, after.hole_events);
  return after;
}

static void zero(const char *path, uint64_t at, uint64_t bytes) {
  static const uint8_t zeros[PAGE_BYTES];
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  REQUIRE(fd >= 0 && pwrite(fd, zeros, bytes, (off_t)at) == (ssize_t)bytes);
  close(fd);
}

/* The last segment, which is not sealed, and the position of its last block. */
static char *last_block(const char *path, uint64_t *at, uint64_t *end) {
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  segment_list list;
  REQUIRE(directory >= 0 && segment_list_read(directory, &list) == 0 && list.count > 0);
  char *file = strdup(join(path, list.items[list.count - 1].name));
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  static uint8_t bytes[1 << 18];
  ssize_t count = read(fd, bytes, sizeof bytes);
  for (ssize_t i = 0; i + (ssize_t)sizeof(block_header) <= count; i += 8) {
    block_header header;
    memcpy(&header, bytes + i, sizeof header);
    if (header.magic != BLOCK_MAGIC || header.position != (uint64_t)i) continue;
    *at = (uint64_t)i;
    *end = *at + sizeof header + header.payload_bytes;
  }
  close(fd);
  close(directory);
  segment_list_free(&list);
  return file;
}

static void tail_block(const char *folder) {
  test("case 25: a last block with any of its sectors missing, or garbage, or an older block in them");
  const char *whole = join(folder, "whole"), *path = join(folder, "torn");
  leave_log(folder, whole, 50);
  uint64_t at = 0, end = 0;
  char *name = last_block(whole, &at, &end);
  uint64_t first = at / SECTOR_BYTES, sectors = (end - 1) / SECTOR_BYTES - first + 1, partly = 0;
  REQUIRE(sectors >= 2 && sectors < 8);
  for (uint64_t mask = 1; mask < UINT64_C(1) << sectors; mask++) {
    for (int kind = 0; kind < 3; kind++) {
      REQUIRE(replay_copy(whole, path) == 0);
      const char *file = join(path, strrchr(name, '/') + 1);
      int fd = open(file, O_RDWR | O_CLOEXEC);
      for (uint64_t i = 0; i < sectors; i++) {
        uint8_t bytes[SECTOR_BYTES] = {0};
        if (!(mask >> i & 1)) continue;
        for (int b = 0; kind == 1 && b < SECTOR_BYTES; b++) bytes[b] = (uint8_t)random_below(256);
        if (kind == 2) REQUIRE(pread(fd, bytes, sizeof bytes, (off_t)(i * SECTOR_BYTES)) == SECTOR_BYTES);
        uint64_t from = (first + i) * SECTOR_BYTES, until = from + SECTOR_BYTES;
        if (from < at) from = at; /* what lies before it in the sector was there already */
        REQUIRE(pwrite(fd, bytes, until - from, (off_t)from) == (ssize_t)(until - from));
      }
      close(fd);
      /* In half of them two sectors of the ring are gone, too: then some of the block's events are nowhere. */
      uint64_t in_lane = 42 * RECORD_BYTES / SECTOR_BYTES * SECTOR_BYTES;
      if (mask & 1) zero(join(path, "ring"), RING_HEADER_BYTES + LANE_CONTROL_BYTES + in_lane, 2 * SECTOR_BYTES);
      weir_recovery recovery;
      small_log found = recover_small(path, &recovery);
      CHECK(recovery.rebooted && recovery.unknown_tail && !recovery.was_clean);
      CHECK_EQUAL(found.tails, 1);
      for (int n = 0; n < 41; n++) CHECK(found.there[n]);
      uint64_t missing = 0, last = 0;
      for (uint64_t n = 0; n < EVENTS; n++) last = found.there[n] ? n : last;
      for (uint64_t n = 0; n < last; n++) missing += !found.there[n];
      CHECK_EQUAL(recovery.missing_events, missing);
      CHECK_EQUAL(found.hole_events, missing);
      partly += missing > 0;
      remove_tree(path);
    }
  }
  CHECK(partly > 0);
  free(name);
  remove_tree(whole);
}

/* Captures events `from` to `to - 1`, and drains them into a block. */
static void capture_block(weir_log *log, uint32_t type, uint64_t from, uint64_t to) {
  for (uint64_t number = from; number < to; number++) capture_small(log, type, number);
  REQUIRE(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
}

/* A sealed segment of events 0 to 29, and one that is not sealed, of events 30 to 59, as a dead process left them. */
static void leave_two_segments(const char *folder, const char *path) {
  const char *live = join(folder, "live");
  for (uint64_t life = 0; life < 2; life++) {
    weir_log *log = open_small(live, NULL);
    uint32_t type = define_small(log);
    uint64_t half = life == 0 ? 5 : 45;
    capture_block(log, type, 30 * life, half);
    capture_block(log, type, half, 30 * life + 30);
    if (life == 1) REQUIRE(replay_copy(live, path) == 0);
    CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
    weir_free(log);
  }
  remove_tree(live);
}

static void blocks_before(const char *folder) {
  test("case 25: a segment that begins with blocks of the segment before it, which lie where they lay in that one");
  const char *path = join(folder, "log");
  leave_two_segments(folder, path);
  uint64_t at = 0, end = 0;
  char *name = last_block(path, &at, &end);
  static uint8_t bytes[1 << 14];
  int before = open(join(path, "00000000000000000000.weir"), O_RDONLY | O_CLOEXEC);
  REQUIRE(before >= 0 && at < sizeof bytes && pread(before, bytes, at, 0) == (ssize_t)at);
  close(before);
  memset(bytes, 0, SEGMENT_HEADER_BYTES);
  int fd = open(name, O_WRONLY | O_CLOEXEC);
  REQUIRE(fd >= 0 && pwrite(fd, bytes, at, 0) == (ssize_t)at);
  close(fd);
  weir_recovery recovery;
  small_log found = recover_small(path, &recovery);
  for (int n = 0; n < 30; n++) CHECK(found.there[n]);
  for (int n = 45; n < 60; n++) CHECK(found.there[n]);
  CHECK_EQUAL(recovery.missing_events, found.skipped + found.hole_events);
  free(name);
  remove_tree(path);
}

/* A type of which the definition takes so much room that a segment has two of these, and no third. */
static uint32_t define_large(weir_log *log) {
  static uint8_t attributes[30000] = {1, 0, 0, 0, 1, 0, 0, 0, 'n', WEIR_KIND_BYTES};
  const uint32_t bytes = sizeof attributes - 14;
  memcpy(attributes + 10, &bytes, 4);
  weir_definition definition = {.name = "large", .attributes = attributes, .attributes_bytes = sizeof attributes};
  uint32_t type = 0;
  REQUIRE(weir_define(log, 0, &definition, 1, &type, NULL) == WEIR_OK);
  return type;
}

/* Captures events 10 to 29 in the spare lane: the thread that captured events 0 to 9 has the other one. */
static void *capture_beside(void *log) {
  uint32_t type = define_small(log);
  for (uint64_t number = 10; number < 30; number++) capture_small(log, type, number);
  return NULL;
}

/*
 * A sealed segment of events 0 to 49, and one that is not sealed, of events 50 to 59, as a dead process left them: both
 * of one opening. The second has nothing of the lane that events 10 to 29 are in.
 */
static void leave_idle_lane(const char *folder, const char *path) {
  const char *live = join(folder, "live");
  weir_log *log = open_small(live, NULL);
  pthread_t beside;
  REQUIRE(log);
  capture_block(log, define_small(log), 0, 10);
  REQUIRE(pthread_create(&beside, NULL, capture_beside, log) == 0 && pthread_join(beside, NULL) == 0);
  for (uint64_t number = 30; number < 60; number += 10) capture_block(log, define_large(log), number, number + 10);
  const char *sealed = join(live, "00000000000000000000.weir");
  REQUIRE(AWAIT(access(sealed, F_OK) == 0));
  REQUIRE(replay_copy(live, path) == 0);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  remove_tree(live);
}

static void header_lost(const char *folder) {
  test("case 25: a segment without its header, sealed by a recovery that got no further: no event is there twice");
  const char *path = join(folder, "log");
  leave_idle_lane(folder, path);
  const char *unsealed = join(path, "00000000000000000050" ACTIVE_SUFFIX);
  zero(unsealed, 0, SEGMENT_HEADER_BYTES);
  weir_fault_boot_id(power_boot_id);
  weir_fault_set("sys_allocate", 1, 1, EIO); /* of the segment that would have the notice of the unknown tail */
  weir_log *log;
  CHECK_EQUAL(weir_open(path, NULL, &log, NULL, NULL), WEIR_ERROR_IO);
  weir_fault_set("", 0, 0, 0);
  REQUIRE(access(unsealed, F_OK) != 0 && access(join(path, "00000000000000000050.weir"), F_OK) == 0);
  weir_recovery recovery;
  small_log found = recover_small(path, &recovery);
  CHECK_EQUAL(found.events, EVENTS);
  CHECK_EQUAL(recovery.events_from_lanes, 0);
  CHECK_EQUAL(recovery.missing_events, 0);
  remove_tree(path);
}

static void ring_pages(const char *folder) {
  test("case 26: pages of the ring older than their neighbours: exact holes, and what lies past a stale tail is taken");
  const char *whole = join(folder, "whole"), *path = join(folder, "aged");
  leave_log(folder, whole, 0);
  uint64_t lane_at = RING_HEADER_BYTES + LANE_CONTROL_BYTES, used = EVENTS * RECORD_BYTES;
  for (uint64_t sector = 0; sector * SECTOR_BYTES < used; sector++) {
    for (int stale_tail = 0; stale_tail < 2; stale_tail++) {
      REQUIRE(replay_copy(whole, path) == 0);
      const char *ring = join(path, "ring");
      zero(ring, lane_at + sector * SECTOR_BYTES, SECTOR_BYTES);
      if (stale_tail) zero(ring, RING_HEADER_BYTES, SECTOR_BYTES);
      weir_recovery recovery;
      small_log found = recover_small(path, &recovery);
      uint64_t first = sector * SECTOR_BYTES / RECORD_BYTES;
      uint64_t after = ((sector + 1) * SECTOR_BYTES + RECORD_BYTES - 1) / RECORD_BYTES;
      uint64_t wanted = after < EVENTS ? after - first : 0; /* else there is no survivor behind it */
      CHECK_EQUAL(recovery.missing_events, wanted);
      CHECK_EQUAL(found.hole_events, wanted);
      CHECK_EQUAL(found.events, after < EVENTS ? EVENTS - wanted : first);
      CHECK(recovery.unknown_tail && found.tails == 1);
      remove_tree(path);
    }
  }
  remove_tree(whole);

  power_run run;
  victim_plan plan = plain_plan(folder, 250);
  plan.lane_bytes = VICTIM_LEAST_LANE;
  do_run(&run, &plan);
  tried tried = {0};
  static const image_contents kinds[] = {CONTENTS_ONE_OLD, CONTENTS_ONE_NEW, CONTENTS_TORN_ONE, CONTENTS_ANY};
  for (int i = 0; i < 4; i++) try_images(&run, folder, (image_plan){.contents = kinds[i]}, 40, 1, &tried);
  check_tried(&tried);
  power_run_free(&run);
}

/* In the ring's file: the first overflow lane is in play, and other bytes lie where its control page would. */
static void garble_overflow_lane(const char *path) {
  uint8_t garbage[LANE_CONTROL_BYTES];
  ring_header header;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header && header.overflow_lanes > 0);
  uint32_t first = header.lane_count - header.overflow_lanes;
  header.lanes_in_play = lanes_word(first + 1);
  for (size_t i = 0; i < sizeof garbage; i++) garbage[i] = (uint8_t)(i * 131 + 7);
  REQUIRE(pwrite(fd, &header, sizeof header, 0) == sizeof header);
  off_t at = (off_t)(header.lanes_at + first * header.lane_stride);
  REQUIRE(pwrite(fd, garbage, sizeof garbage, at) == sizeof garbage);
  close(fd);
}

static void overflow_page_lost(const char *folder) {
  test("case 26: the control page of an overflow lane never reached the disk: nothing is taken from what lies there");
  const char *path = join(folder, "log");
  leave_log(folder, path, 0);
  garble_overflow_lane(join(path, "ring"));
  weir_recovery recovery;
  small_log found = recover_small(path, &recovery);
  CHECK_EQUAL(found.events, EVENTS);
  CHECK_EQUAL(found.hole_events, 0);
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK_EQUAL(recovery.dropped, 0);
  remove_tree(path);
}

static _Atomic int holds, held;

/* Keeps the drainer in a call of the host's, where it stands as still as before a disk. */
static void stand_still(void *context) {
  (void)context;
  held = holds;
  while (holds) sleep_ns(100000);
}

/* A log of EVENTS events, most of them in overflow lanes, as a dead process left it. */
static void leave_overflowing(const char *folder, const char *path) {
  enum { SMALL_LANE = 4096, LANES = 4, HALF_FULL = 20, SEEN = 26 };
  const char *live = join(folder, "live");
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = SMALL_LANE;
  options.overflow_bytes = LANES * SMALL_LANE;
  options.max_event_bytes = 1024;
  options.segment_bytes = VICTIM_LEAST_SEGMENT;
  weir_log *log;
  REQUIRE(weir_open(live, &options, &log, NULL, NULL) == WEIR_OK);
  const intake *intake = &((const event_log *)log)->intake;
  uint32_t type = define_small(log);
  uint64_t number = 0;
  holds = 1;
  weir_on_drained(log, stand_still, NULL);
  capture_small(log, type, number++);
  CHECK_AWAIT(held);
  while (number < HALF_FULL) capture_small(log, type, number++);
  CHECK_AWAIT(overflow_lanes_wanted(intake));
  while (number < SEEN) capture_small(log, type, number++);
  CHECK_AWAIT(__atomic_load_n(&intake->overflow_ready, __ATOMIC_RELAXED) == LANES);
  while (number < EVENTS) capture_small(log, type, number++);
  REQUIRE(replay_copy(live, path) == 0);
  holds = 0;
  weir_close(log, NULL);
  weir_free(log);
  remove_tree(live);
}

/* Puts the header's page back to what it was before there were overflow lanes, and takes the first one's control page. */
static void age_header(const char *path, int loses_control) {
  ring_header header;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header);
  uint32_t first = header.lane_count - header.overflow_lanes;
  CHECK(header.lanes_in_play != lanes_word(first));
  header.lanes_in_play = lanes_word(first);
  REQUIRE(pwrite(fd, &header, sizeof header, 0) == sizeof header);
  close(fd);
  if (loses_control) zero(path, header.lanes_at + first * header.lane_stride, LANE_CONTROL_BYTES);
}

static void header_older(const char *folder) {
  test("case 26: the ring's header page is older than its overflow lanes: what these hold is taken");
  const char *whole = join(folder, "whole"), *path = join(folder, "log");
  leave_overflowing(folder, whole);
  for (int loses_control = 0; loses_control < 2; loses_control++) {
    REQUIRE(replay_copy(whole, path) == 0);
    age_header(join(path, "ring"), loses_control);
    weir_recovery recovery;
    small_log found = recover_small(path, &recovery);
    CHECK_EQUAL(found.events, EVENTS);
    CHECK_EQUAL(found.hole_events, 0);
    CHECK_EQUAL(recovery.missing_events, 0);
    CHECK(recovery.events_from_lanes > EVENTS / 2);
    remove_tree(path);
  }
  remove_tree(whole);
}

static uint64_t start_inode;
static _Atomic int start_syncs, name_syncs, leftovers_gone, gone_early;

static void watch_start(const weir_call *call, int after) {
  struct stat status;
  int is_sync = after && strcmp(call->operation, "sys_sync_data") == 0;
  if (is_sync && fstat(call->fd, &status) == 0) start_syncs += (uint64_t)status.st_ino == start_inode;
  name_syncs += after && start_syncs > 0 && strcmp(call->operation, "sys_sync_directory") == 0;
  if (after || !call->name || !strstr(call->name, ".weir") || strcmp(call->operation, "sys_unlink") != 0) return;
  leftovers_gone++;
  gone_early += name_syncs == 0;
}

/* A log of some sealed segments, with the `start` that it has once the first of them were removed as delivered. */
static void leave_unsynced_start(const char *live, const char *path) {
  weir_log *log = open_small(live, NULL);
  uint32_t type = define_small(log);
  for (uint64_t number = 0; number < 5000; number++) {
    capture_small(log, type, number);
    if (number % 100 == 99) REQUIRE(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
  }
  weir_close(log, NULL);
  weir_free(log);
  REQUIRE(replay_copy(live, path) == 0);
  weir_options options;
  weir_options_init(&options);
  options.remove_delivered = 1;
  weir_stat sums = {0};
  REQUIRE(weir_open(live, &options, &log, NULL, NULL) == WEIR_OK);
  weir_set_delivered(log, 5000);
  while (sums.removed == 0) REQUIRE(weir_stat_directory(live, &sums, NULL) == WEIR_OK);
  weir_close(log, NULL);
  weir_free(log);
  static uint8_t bytes[65536];
  int from = open(join(live, "start"), O_RDONLY | O_CLOEXEC);
  int to = open(join(path, "start"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ssize_t count = from >= 0 ? read(from, bytes, sizeof bytes) : -1;
  struct stat status;
  REQUIRE(to >= 0 && count > 0 && write(to, bytes, (size_t)count) == count && fstat(to, &status) == 0);
  start_inode = (uint64_t)status.st_ino;
  close(from);
  close(to);
}

static void unsynced_start(const char *folder) {
  test("case 28: killed before `start` was synced: the next opening syncs it, and then removes what it names");
  const char *live = strdup(join(folder, "live")), *path = strdup(join(folder, "killed"));
  leave_unsynced_start(live, path);
  weir_fault_observe(watch_start);
  weir_recovery recovery;
  weir_log *log = open_small(path, &recovery);
  weir_fault_observe(NULL);
  REQUIRE(log);
  weir_close(log, NULL);
  weir_free(log);
  CHECK(leftovers_gone > 0);
  CHECK_EQUAL(gone_early, 0);
  CHECK_EQUAL(recovery.missing_events, 0);
  remove_tree(live);
  remove_tree(path);
}

static void empty_files(const char *folder) {
  test("case 29: files of length zero");
  const char *whole = join(folder, "whole"), *path = join(folder, "empty");
  leave_log(folder, whole, 50);
  int directory = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  segment_list list;
  REQUIRE(directory >= 0 && segment_list_read(directory, &list) == 0 && list.count == 1);
  const char *names[] = {"ring", list.items[0].name, "lock"};
  for (int mask = 1; mask < 8; mask++) {
    REQUIRE(replay_copy(whole, path) == 0);
    for (int i = 0; i < 3; i++) {
      if (mask >> i & 1) REQUIRE(truncate(join(path, names[i]), 0) == 0);
    }
    weir_recovery recovery;
    weir_fault_boot_id(power_boot_id);
    weir_log *log = open_small(path, &recovery);
    REQUIRE(log);
    CHECK(recovery.first_offset >= (mask & 3 ? 0 : 50));
    CHECK_EQUAL(recovery.ring_replaced, mask & 1);
    if (!(mask & 1)) CHECK(recovery.unknown_tail);
    CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
    weir_free(log);
    small_log found = read_small(path);
    weir_fault_boot_id(NULL);
    CHECK_EQUAL(found.wrong, 0);
    /* What the segment had is in the ring still, and the other way round, as far as it was drained. */
    CHECK_EQUAL(found.events, (mask & 3) == 3 ? 0 : mask & 1 ? 50 : EVENTS);
    remove_tree(path);
  }
  segment_list_free(&list);
  close(directory);
  remove_tree(whole);
}

/* ---- The recording itself ---------------------------------------------------------------------------------------- */

/*
 * A mapping that was populated has made its pages dirty, so a sync writes them all. A record's last bytes are often
 * zeros: where they lie in a page of their own, the page looks as before. The file ends with a hole, which has no block.
 */
static void synced_zeros(const char *folder) {
  test("a recording: neither pages of a populated mapping that were synced nor holes are a block that nobody wrote");
  enum { PAGES = 4, HOLES = 2 };
  const char *live = strdup(join(folder, "live")), *path = strdup(join(folder, "image"));
  REQUIRE(mkdir(live, 0700) == 0);
  recording *recording = recording_start(live, 1, NULL, NULL);
  int directory = sys_open_directory(live), fd = sys_open_create(directory, "file");
  uint8_t *map;
  REQUIRE(fd >= 0 && sys_allocate(fd, PAGES * PAGE_BYTES) == 0 && sys_map(fd, PAGES * PAGE_BYTES, &map) == 0);
  REQUIRE(sys_truncate(fd, (PAGES + HOLES) * PAGE_BYTES) == 0);
  uint32_t unsynced = recording_look(recording);
  REQUIRE(sys_sync_data(fd) == 0);
  uint32_t synced = recording_look(recording);
  recording_stop(recording);
  for (int i = 0; i < 2; i++) {
    image_plan plan = {.moment = i ? synced : unsynced, .contents = CONTENTS_OLD, .names = NAMES_NEW,
                       .blanks = BLANKS_GARBAGE, .seed = random_below(1 << 30)};
    image_build(recording, &plan, path);
    uint8_t bytes[(PAGES + HOLES) * PAGE_BYTES] = {1};
    int file = open(join(path, "file"), O_RDONLY | O_CLOEXEC);
    REQUIRE(file >= 0 && pread(file, bytes, sizeof bytes, 0) == sizeof bytes);
    uint64_t in_blocks = 0, in_holes = 0;
    for (uint64_t b = 0; b < sizeof bytes; b++) *(b < PAGES * PAGE_BYTES ? &in_blocks : &in_holes) += bytes[b] != 0;
    CHECK_EQUAL(in_blocks == 0, i);
    CHECK_EQUAL(in_holes, 0);
    close(file);
    remove_tree(path);
  }
  recording_free(recording);
  sys_unmap(map, PAGES * PAGE_BYTES);
  close(fd);
  close(directory);
  remove_tree(live);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("power_cases");
  char *folder = scratch();
  said = report_make(NULL);
  nothing_synced(folder);
  what_was_awaited(folder);
  names_and_contents(folder);
  tail_block(folder);
  blocks_before(folder);
  header_lost(folder);
  ring_pages(folder);
  overflow_page_lost(folder);
  header_older(folder);
  unsynced_start(folder);
  empty_files(folder);
  synced_zeros(folder);
  report_free(said);
  scratch_remove(folder);
  return finish();
}
