/*
 * damage_test.c: a record in the lane of an open log is damaged, as by a stray pointer. The drainer passes over it
 * without waiting for the disk; its bytes come to quarantine/ all the same, by the sealer, as far as there is room.
 */
#include "capture_check.h"

#include <pthread.h>

#include "format/format.h"
#include "log/log.h"
#include "system/system.h"

enum { LIMIT_S = 120 };

/* ---- Who calls the system ---------------------------------------------------------------------------------------- */

static _Atomic uint64_t drainer_syncs, drainer_writes, copies, held;
static _Atomic int holding;

static void watch(const weir_call *call, int after) {
  char name[16];
  if (after) return;
  pthread_getname_np(pthread_self(), name, sizeof name);
  int drainer = strcmp(name, "weir-drain") == 0, sealer = strcmp(name, "weir-seal") == 0;
  drainer_syncs += drainer && strncmp(call->operation, "sys_sync", 8) == 0;
  drainer_writes += drainer && (strcmp(call->operation, "sys_write_at") == 0 ||
                                strcmp(call->operation, "sys_open_create") == 0 ||
                                strcmp(call->operation, "sys_make_directory") == 0);
  if (!sealer || strcmp(call->operation, "sys_make_directory") != 0) return;
  copies++;
  held += holding != 0;
  while (holding) sleep_ns(1000000);
}

/* ---- Logs -------------------------------------------------------------------------------------------------------- */

static weir_log *open_log(const char *directory, uint64_t lane_bytes, uint32_t full_policy) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = lane_bytes;
  options.segment_bytes = 64 << 20;
  options.full_policy = full_policy;
  options.drain_interval_ns = UINT64_C(10000000000);
  weir_log *log = NULL;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, NULL), WEIR_OK);
  REQUIRE(log);
  return log;
}

static weir_log *open_napping(const char *directory, uint64_t lane_bytes) {
  return open_log(directory, lane_bytes, WEIR_FULL_DROP_NEWEST);
}

static weir_counters counters_of(const weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters;
}

static void drain(weir_log *log) {
  CHECK_EQUAL(weir_drain(log, LIMIT_S * UINT64_C(1000000000), NULL, NULL), WEIR_OK);
}

/* Captures an event and damages it where it lies. Its bytes go to `bytes`; answers how many they are. */
static uint64_t capture_damaged(weir_log *log, uint32_t type, uint64_t number, uint64_t filler, weir_id *id,
                                uint8_t *bytes) {
  CHECK_EQUAL(capture_numbered(log, type, 0, number, filler, id), WEIR_ACCEPTED);
  lane *lane = &((event_log *)log)->intake.lanes[id->sequence >> 48];
  uint64_t position = (id->sequence & ((UINT64_C(1) << 48) - 1)) * 8;
  uint8_t *record = lane->producer.data + (position & lane->producer.mask);
  record[sizeof(record_header) + 4] ^= 0x10;
  uint64_t size = record_size(NUMBERED_BYTES + filler);
  memcpy(bytes, record, size);
  return size;
}

/* Damages one record before the drainer comes to it: it may be awake for some passes yet. */
static uint64_t damage_one(weir_log *log, uint32_t type, weir_id *id, uint8_t *bytes, uint64_t *undamaged) {
  for (uint64_t end = now_ns() + LIMIT_S * UINT64_C(1000000000); now_ns() < end; ++*undamaged) {
    uint64_t size = capture_damaged(log, type, 1000 + *undamaged, 40, id, bytes);
    drain(log);
    if (counters_of(log).damaged > 0) return size;
  }
  return 0;
}

static const char *copy_path(const char *directory, const weir_id *id) {
  char name[100];
  snprintf(name, sizeof name, "quarantine/lane-%016" PRIx64 "-%u-%" PRIu64, id->opening, (unsigned)(id->sequence >> 48),
           (id->sequence & ((UINT64_C(1) << 48) - 1)) * 8);
  return join(directory, name);
}

static void await_copy(const char *path) {
  uint64_t end = now_ns() + LIMIT_S * UINT64_C(1000000000);
  while (access(path, F_OK) != 0 && now_ns() < end) sleep_ns(1000000);
}

static void check_copy(const char *path, const uint8_t *bytes, uint64_t size) {
  uint8_t found[4096];
  FILE *file = fopen(path, "rb");
  if (!CHECK(file != NULL)) return;
  CHECK_EQUAL(fread(found, 1, sizeof found, file), size);
  fclose(file);
  CHECK(memcmp(found, bytes, size) == 0);
  char note[4300];
  snprintf(note, sizeof note, "%s.json", path);
  CHECK(access(note, F_OK) == 0);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static void without_a_sync(void) {
  test("a damaged record in an open log: the drainer syncs nothing, and goes on while the sealer stands still");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint8_t bytes[4096];
  weir_id id;
  uint64_t undamaged = 0;
  weir_log *log = open_napping(directory, 1 << 20);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 50; i++) capture_numbered(log, type, 1, i, 10, NULL);
  drainer_syncs = drainer_writes = copies = held = 0;
  holding = 1;
  weir_fault_observe(watch);
  uint64_t size = damage_one(log, type, &id, bytes, &undamaged);
  CHECK(size > 0);
  for (uint64_t i = 50; i < 100; i++) capture_numbered(log, type, 1, i, 10, NULL);
  drain(log);
  CHECK_EQUAL(counters_of(log).storage, WEIR_OK);
  CHECK_EQUAL(access(copy_path(directory, &id), F_OK), -1);
  holding = 0;
  await_copy(copy_path(directory, &id));
  check_copy(copy_path(directory, &id), bytes, size);
  CHECK_EQUAL(copies, 1);
  CHECK_EQUAL(drainer_syncs, 0);
  CHECK_EQUAL(drainer_writes, 0);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_fault_observe(NULL);
  CHECK_EQUAL(counters_of(log).damaged, 1);
  weir_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 1), 100);
  CHECK_EQUAL(found.count, 100 + undamaged);
  CHECK_EQUAL(found.notices, 1);
  found_free(&found);
  scratch_remove(folder);
}

static void at_the_close(void) {
  test("what waits for quarantine/ when the log is closed is there after it");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint8_t bytes[4096];
  weir_id id;
  uint64_t undamaged = 0;
  weir_log *log = open_napping(directory, 1 << 20);
  uint64_t size = damage_one(log, define_numbered(log), &id, bytes, &undamaged);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  check_copy(copy_path(directory, &id), bytes, size);
  scratch_remove(folder);
}

static _Atomic uint64_t syncs;

static void count_syncs(const weir_call *call, int after) {
  if (!after) syncs += strncmp(call->operation, "sys_sync", 8) == 0;
}

static void across_the_end(void) {
  test("a damaged record that lies across its lane's end is kept whole");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint8_t bytes[4096];
  weir_id id, damaged = {0};
  weir_log *log = open_napping(directory, 1 << 20);
  uint32_t type = define_numbered(log);
  uint64_t size = 0, end = now_ns() + LIMIT_S * UINT64_C(1000000000);
  capture_numbered(log, type, 1, 0, 40, &id);
  const lane *lane = &((event_log *)log)->intake.lanes[id.sequence >> 48];
  while (counters_of(log).damaged == 0 && now_ns() < end) {
    uint64_t next = *lane->producer.own_tail & lane->producer.mask;
    if (next + record_size(NUMBERED_BYTES + 40) <= lane->producer.mask + 1) {
      capture_numbered(log, type, 1, 0, 40, NULL);
      if (next % 4096 < 64) drain(log);
      continue;
    }
    size = capture_damaged(log, type, 1, 40, &damaged, bytes);
    drain(log);
  }
  CHECK_EQUAL(counters_of(log).damaged, 1);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  uint8_t found[4096];
  FILE *file = fopen(copy_path(directory, &damaged), "rb");
  if (CHECK(file != NULL)) {
    CHECK(fread(found, 1, sizeof found, file) >= size);
    CHECK(memcmp(found, bytes, size) == 0);
    fclose(file);
  }
  scratch_remove(folder);
}

static void beside_foreign_files(void) {
  test("hundreds of somebody's files with segments' names: no sync for each, and room for damaged bytes is left");
  enum { FOREIGN = 700 };
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint8_t bytes[4096];
  weir_id id;
  uint64_t undamaged = 0;
  REQUIRE(mkdir(directory, 0700) == 0);
  for (int i = 0; i < FOREIGN; i++) {
    char name[64];
    snprintf(name, sizeof name, "%020d.weir%s", i * 1000, i % 2 ? ".active" : "");
    FILE *file = fopen(join(directory, name), "w");
    REQUIRE(file && fputs("hello", file) >= 0 && fclose(file) == 0);
  }
  weir_fault_observe(count_syncs);
  weir_log *log = open_napping(directory, 1 << 20);
  weir_fault_observe(NULL);
  CHECK(syncs > 0 && syncs < FOREIGN / 10);
  uint64_t size = damage_one(log, define_numbered(log), &id, bytes, &undamaged);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  check_copy(copy_path(directory, &id), bytes, size);
  char moved[100];
  snprintf(moved, sizeof moved, "quarantine/%020d.weir-0.json", (FOREIGN - 2) * 1000);
  CHECK_EQUAL(access(join(directory, moved), F_OK), 0);
  scratch_remove(folder);
}

/* While a segment is being written, somebody makes a file with the name that the segment gets when it is sealed. */
static void taken_name(void) {
  test("somebody's file has the name of the segment that is being written: it goes to quarantine/, and all is durable");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_napping(directory, 1 << 20);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 50; i++) capture_numbered(log, type, 1, i, 10, NULL);
  drain(log);
  char name[64], moved[100];
  snprintf(name, sizeof name, "%020d.weir", 0);
  snprintf(moved, sizeof moved, "quarantine/%s-0", name);
  FILE *file = fopen(join(directory, name), "wb");
  REQUIRE(file && fputs("somebody's", file) >= 0 && fclose(file) == 0);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  CHECK_EQUAL(access(join(directory, moved), F_OK), 0);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 1), 50);
  found_free(&found);
  scratch_remove(folder);
}

/* What finds no room is counted, and nothing waits for it. */
static void no_room(void) {
  test("more damage than may wait in memory: it is not kept, and the log goes on");
  enum { RECORDS = 1600, FILLER = 4000 };
  char *folder = scratch();
  const char *directory = join(folder, "log");
  uint8_t bytes[4096];
  weir_id id;
  weir_log *log = open_napping(directory, 16 << 20);
  uint32_t type = define_numbered(log);
  drainer_syncs = drainer_writes = copies = held = 0;
  holding = 1;
  weir_fault_observe(watch);
  uint64_t damaged = 0;
  for (uint64_t i = 0; i < RECORDS; i++) {
    damaged += capture_damaged(log, type, i, FILLER, &id, bytes);
    capture_numbered(log, type, 1, i, 0, NULL);
    if (i % 100 == 99) drain(log);
  }
  drain(log);
  CHECK(damaged > MAX_DAMAGED_BYTES);
  uint64_t unkept = __atomic_load_n(&((event_log *)log)->sealer.unkept_bytes, __ATOMIC_RELAXED);
  CHECK(unkept > 0 && unkept >= damaged - MAX_DAMAGED_BYTES - RECORDS * 100);
  CHECK_EQUAL(counters_of(log).storage, WEIR_OK);
  CHECK_EQUAL(drainer_syncs + drainer_writes, 0);
  holding = 0;
  weir_fault_observe(NULL);
  weir_fault_set("sys_make_directory", 1, UINT64_MAX, ENOSPC); /* nor is it kept on a full disk */
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_fault_set("", 0, 0, 0);
  weir_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 1), RECORDS);
  found_free(&found);
  scratch_remove(folder);
}

/* The head of the first thread's lane in an open log is hit, before and after captures. */
static void damaged_head(uint32_t full_policy) {
  test("a head that can't be: no event is lost, and none is in the log twice");
  const int64_t heads[] = {8, -8, 1 << 20, INT64_C(1) << 50, INT64_MIN, 0}; /* from where it was; 0: to the lane's start */
  for (uint32_t i = 0; i < 2 * sizeof heads / sizeof *heads; i++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    weir_log *log = open_log(directory, 1 << 20, full_policy);
    uint32_t type = define_numbered(log);
    weir_id id;
    for (uint64_t k = 0; k < 50; k++) CHECK_EQUAL(capture_numbered(log, type, 1, k, 10, &id), WEIR_ACCEPTED);
    drain(log);
    uint64_t *head = &((event_log *)log)->intake.lanes[id.sequence >> 48].control->head;
    uint64_t more = i % 2; /* half of them while there is something to drain */
    if (more) CHECK_EQUAL(capture_numbered(log, type, 1, 50, 10, &id), WEIR_ACCEPTED);
    int64_t by = heads[i / 2];
    __atomic_store_n(head, by == 0 ? 0 : __atomic_load_n(head, __ATOMIC_RELAXED) + (uint64_t)by, __ATOMIC_RELAXED);
    for (uint64_t k = 50 + more; k < 100; k++) CHECK_EQUAL(capture_numbered(log, type, 1, k, 10, NULL), WEIR_ACCEPTED);
    drain(log);
    weir_counters counters = counters_of(log);
    CHECK_EQUAL(counters.accepted, 100);
    CHECK_EQUAL(counters.drained, 100);
    CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
    weir_free(log);
    found_log found = read_log(directory);
    check_sound(&found);
    CHECK_EQUAL(check_producer(&found, 1), 100);
    found_free(&found);
    scratch_remove(folder);
  }
}

int main(void) {
  random_start("damage_test");
  damaged_head(WEIR_FULL_DROP_NEWEST);
  damaged_head(WEIR_FULL_DROP_OLDEST);
  without_a_sync();
  at_the_close();
  across_the_end();
  beside_foreign_files();
  taken_name();
  no_room();
  return finish();
}
