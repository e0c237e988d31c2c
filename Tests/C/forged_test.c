/*
 * forged_test.c: logs that no writer leaves, but that every checksum vouches for. A recovery comes to its end, and what
 * it writes can be read.
 */
#include "log_builder.h"

#include <sys/resource.h>
#include <time.h>

#include "system/error.h"

enum { OPENING = 77, CONTEXT = MAX_TYPES - 1, LANES = WEIR_MAX_LANES, LANE_BYTES = 1024, RECORD_BYTES = 512 };

static const uint64_t no_lanes[BUILT_LANES];

/* A definition of so many bytes: the type "built", as others build it, or a context. Most of it is an attribute. */
static void big_definition(uint8_t *entry, uint32_t type, uint32_t bytes) {
  uint8_t small[128];
  built_definition(small, OPENING);
  int is_type = type < MAX_TYPES / 2;
  definition_header header;
  memcpy(&header, small, sizeof header);
  if (!is_type) header = (definition_header){.flags = DEFINITION_CONTEXT};
  uint32_t used = sizeof header + header.name_bytes + header.fields_bytes;
  memset(entry, 0, bytes);
  memcpy(entry + sizeof header, small + sizeof header, used - sizeof header);
  static const uint8_t object[] = {1, 0, 0, 0, 1, 0, 0, 0, 'x', WEIR_KIND_BYTES};
  uint32_t filler = bytes - used - (uint32_t)sizeof object - 4;
  memcpy(entry + used, object, sizeof object);
  memcpy(entry + used + sizeof object, &filler, 4);
  header.bytes = bytes;
  header.type = type;
  header.attributes_bytes = (uint32_t)sizeof object + 4 + filler;
  memcpy(entry, &header, sizeof header);
  uint64_t opening = OPENING;
  header.crc = crc_end(crc_extend(crc_extend(CRC_START, &opening, 8), entry + 8, bytes - 8));
  memcpy(entry, &header, sizeof header);
}

static void put_definition(built *file, uint32_t type, uint32_t bytes) {
  static uint8_t entry[MAX_DEFINITION_BYTES];
  big_definition(entry, type, bytes);
  block_header header = {.kind = BLOCK_DEFINITIONS, .lane = NOTICE_LANE};
  built_block(file, &header, entry, bytes);
}

static weir_recovery open_and_close(const char *path) {
  weir_recovery recovery = {0};
  weir_log *log;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(path, NULL, &log, &recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return recovery;
  }
  CHECK_EQUAL(weir_close(log, &error), WEIR_OK);
  weir_free(log);
  return recovery;
}

/* How many events of the type "built" there are; no offset is missing. */
static uint64_t count_events(const char *path) {
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  uint64_t count = 0, missing = 0;
  REQUIRE(weir_reader_open(path, NULL, &reader, &error) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (status == WEIR_SKIPPED) missing += skip.count + skip.bytes;
    else count += event.name_bytes == 5 && memcmp(event.name, "built", 5) == 0;
  }
  CHECK_EQUAL(status, WEIR_END);
  CHECK_EQUAL(missing, 0);
  weir_reader_close(reader);
  return count;
}

static uint64_t seals_lack_definitions; /* what weir_verify says so */

static void take_finding(void *context, const weir_finding *finding) {
  (void)context;
  if (strcmp(finding->problem, "seal lacks a definition of the segment") == 0) seals_lack_definitions++;
  else fprintf(stderr, "%s: %s at %" PRIu64 ": %s\n", test_name, finding->file, finding->position, finding->problem);
}

static void check_intact(const char *path) {
  weir_verification sums;
  seals_lack_definitions = 0;
  CHECK_EQUAL(weir_verify(path, take_finding, NULL, &sums, NULL), WEIR_OK);
  CHECK_EQUAL(sums.findings, seals_lack_definitions);
}

/* ---- A record that needs as much as a segment holds -------------------------------------------------------------- */

/* A ring of another boot with as many lanes as there may be, no definition, and a record of a type and a context. */
static void write_ring(const char *path) {
  uint64_t stride = LANE_CONTROL_BYTES + 4096, bytes = RING_HEADER_BYTES + LANES * stride;
  uint8_t *ring = calloc(1, bytes);
  REQUIRE(ring);
  ring_header *header = (ring_header *)(void *)ring;
  *header = (ring_header){.magic = RING_MAGIC,
                          .major = 1,
                          .opening = OPENING,
                          .log_id = BUILT_LOG_ID,
                          .file_bytes = bytes,
                          .lane_count = LANES,
                          .spare_lanes = 1,
                          .lane_bytes = LANE_BYTES,
                          .record_bytes = RECORD_BYTES,
                          .lanes_at = RING_HEADER_BYTES,
                          .lane_stride = stride,
                          .types_at = bytes,
                          .boot_id = {1},
                          .clock = WEIR_CLOCK_MONOTONIC};
  header->header_crc = crc32c(ring + 16, RING_FIXED_BYTES - 16);
  header->calibration[0] = (calibration_slot){.value = BUILT_CALIBRATION, .sequence = 1};
  header->calibration[0].crc = crc32c(&header->calibration[0], 36);
  lane_control *control = (lane_control *)(void *)(ring + RING_HEADER_BYTES);
  uint8_t *record = (uint8_t *)control + LANE_CONTROL_BYTES;
  record_header fields = {.length = 12, .type = (uint32_t)CONTEXT << 16 | BUILT_TYPE, .ticks = 1000};
  memcpy(record, &fields, sizeof fields);
  fields.checksum = record_checksum(record_seed(OPENING, 0), 0, record);
  memcpy(record, &fields, sizeof fields);
  control->tail = record_size(12);
  write_file(join(path, RING_NAME), ring, bytes);
  free(ring);
}

static void largest_definitions(void) {
  test("a ring that needs the largest definitions, which only a segment has: recovery comes to its end");
  char *folder = scratch();
  built file;
  built_begin(&file, OPENING, 0, no_lanes, NULL, 0);
  put_definition(&file, BUILT_TYPE, MAX_DEFINITION_BYTES);
  put_definition(&file, CONTEXT, MAX_DEFINITION_BYTES);
  uint64_t position = 0;
  built_events(&file, 1, &position, 0, 1);
  write_file(join(folder, "00000000000000000000.weir.active"), file.bytes, file.count);
  built_free(&file);
  write_ring(folder);
  weir_recovery recovery = open_and_close(folder);
  CHECK_EQUAL(recovery.events_from_lanes, 1);
  CHECK_EQUAL(recovery.missing_events + recovery.damaged_records, 0);
  CHECK_EQUAL(count_events(folder), 2);
  check_intact(folder);
  CHECK_EQUAL(seals_lack_definitions, 0);
  scratch_remove(folder);
}

static void damaged_end_of_types(void) {
  test("a ring whose types end within an entry's first word: the definition comes from the segment");
  char *folder = scratch();
  built file;
  built_begin(&file, OPENING, 0, no_lanes, NULL, 0);
  built_define(&file);
  uint64_t position = 0;
  built_events(&file, 0, &position, 0, 10);
  write_file(join(folder, "00000000000000000000.weir.active"), file.bytes, file.count);
  built_ring ring;
  built_ring_begin(&ring, OPENING, 0);
  ring.header->log_end = file.next_offset;
  ring.control[0]->head = ring.control[0]->tail = position;
  built_ring_record(&ring, 0, 10);
  ring.header->types_end = 7;
  write_file(join(folder, RING_NAME), ring.bytes, ring.count);
  free(ring.bytes);
  built_free(&file);
  CHECK_EQUAL(open_and_close(folder).events_from_lanes, 1);
  CHECK_EQUAL(count_events(folder), 11);
  check_intact(folder);
  scratch_remove(folder);
}

/* ---- As many definitions as a seal holds ------------------------------------------------------------------------- */

static void full_seal(void) {
  test("a segment with as many definitions as a seal holds, and gaps: the seal that recovery writes can be read");
  enum { ROOM = MAX_BLOCK_PAYLOAD_BYTES - sizeof(seal_summary) - SEAL_POSITION_BYTES };
  char *folder = scratch();
  built file;
  built_begin(&file, OPENING, 0, no_lanes, NULL, 0);
  built_define(&file);
  uint64_t left = ROOM - file.definitions_bytes, position = 0;
  for (uint32_t type = BUILT_TYPE + 1; left > 0; type++) {
    uint64_t bytes = left < MAX_DEFINITION_BYTES ? left : MAX_DEFINITION_BYTES;
    if (left > bytes && left - bytes < 256) bytes -= 256; /* what is left must hold one */
    put_definition(&file, type, (uint32_t)bytes);
    left -= bytes;
  }
  built_events(&file, 0, &position, 0, 10);
  built_gap(&file, 1, 7, 7);
  write_file(join(folder, "00000000000000000000.weir.active"), file.bytes, file.count);
  built_ring ring;
  built_ring_begin(&ring, OPENING, 0);
  ring.header->log_end = file.next_offset;
  ring.control[0]->head = ring.control[0]->tail = position;
  write_file(join(folder, RING_NAME), ring.bytes, ring.count);
  free(ring.bytes);
  built_free(&file);
  weir_recovery recovery = open_and_close(folder);
  CHECK_EQUAL(recovery.missing_events + recovery.damaged_blocks, 0);
  CHECK_EQUAL(count_events(folder), 10);
  check_intact(folder);
  CHECK_EQUAL(seals_lack_definitions, 1); /* those that no event needs, for the gap's sake */
  scratch_remove(folder);
}

/* ---- Lanes in which everything looks like a record --------------------------------------------------------------- */

/* A dead ring of one full lane, each eight bytes of which could be the header of a record of nearly a MiB. */
static void write_full_lane(const char *path, uint64_t lane_bytes, int rebooted) {
  enum { RECORD = 1 << 20 };
  uint64_t stride = LANE_CONTROL_BYTES + lane_bytes + RECORD + 4096, bytes = RING_HEADER_BYTES + stride;
  uint8_t *ring = calloc(1, bytes);
  REQUIRE(ring);
  ring_header *header = (ring_header *)(void *)ring;
  *header = (ring_header){.magic = RING_MAGIC,
                          .major = 1,
                          .opening = OPENING,
                          .log_id = BUILT_LOG_ID,
                          .file_bytes = bytes,
                          .lane_count = 1,
                          .lane_bytes = lane_bytes,
                          .record_bytes = RECORD,
                          .lanes_at = RING_HEADER_BYTES,
                          .lane_stride = stride,
                          .types_at = bytes,
                          .clock = WEIR_CLOCK_MONOTONIC};
  REQUIRE(sys_boot_id(header->boot_id) == 0);
  if (rebooted) header->boot_id[0] ^= 1;
  header->header_crc = crc32c(ring + 16, RING_FIXED_BYTES - 16);
  header->calibration[0] = (calibration_slot){.value = BUILT_CALIBRATION, .sequence = 1};
  header->calibration[0].crc = crc32c(&header->calibration[0], 36);
  lane_control *control = (lane_control *)(void *)(ring + RING_HEADER_BYTES);
  control->tail = lane_bytes;
  uint8_t *lane = (uint8_t *)control + LANE_CONTROL_BYTES;
  for (uint64_t at = 0; at < lane_bytes + RECORD; at += 8) {
    uint32_t looks[2] = {(uint32_t)(at * UINT64_C(0x9e3779b97f4a7c15) >> 32), RECORD - 64};
    memcpy(lane + at, looks, sizeof looks);
  }
  write_file(join(path, RING_NAME), ring, bytes);
  write_file(join(path, LOCK_NAME), "", 0);
  free(ring);
}

/*
 * The processor's time in which a search of the lane has to be done: sixty-four times what it takes to sum up two KiB
 * for each of its words. A MiB for each would be eight times that at the least. Measured, as an emulated processor is
 * slow at both.
 */
static rlim_t search_seconds(uint64_t lane_bytes) {
  enum { STRETCH = 2048, SUMS = 1 << 16 };
  uint8_t *bytes = calloc(2, STRETCH);
  REQUIRE(bytes);
  uint32_t sum = 0;
  clock_t began = clock();
  for (uint64_t i = 0; i < SUMS; i++) sum ^= crc32c(bytes + i % STRETCH, STRETCH);
  double seconds = (double)(clock() - began) / CLOCKS_PER_SEC + sum * 0.0;
  free(bytes);
  return (rlim_t)(64 * seconds * (double)(lane_bytes / 8) / SUMS) + 2;
}

/* What a child does with a folder whose ring has such a lane; it ends with 0 if all is as it should be. */
typedef void search(const char *path);

static void search_dead(const char *path) {
  weir_stat stat;
  if (weir_stat_directory(path, &stat, NULL) != WEIR_OK || !stat.damaged || stat.lane_events != 0) _exit(3);
  weir_recovery recovery = open_and_close(path);
  if (recovery.damaged_records != 1 || recovery.events_from_lanes != 0 || checks_failed > 0) _exit(4);
}

/* After a power cut only what the records say is believed, and there is none. */
static void search_after_cut(const char *path) {
  weir_recovery recovery = open_and_close(path);
  if (!recovery.unknown_tail || recovery.events_from_lanes != 0 || checks_failed > 0) _exit(4);
}

static void search_live(const char *path) {
  weir_tally tally;
  if (weir_count_from(path, 0, &tally, NULL) != WEIR_OK || !tally.live || tally.in_lanes != 0) _exit(5);
}

static void search_in_time(search *search, int rebooted, int live) {
  enum { LANE = 4 << 20 };
  char *folder = scratch();
  write_full_lane(folder, LANE, rebooted);
  int lock = open(join(folder, LOCK_NAME), O_RDWR | O_CLOEXEC);
  REQUIRE(lock >= 0 && (!live || sys_lock(lock) == 0));
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    /* Of the processor's time, so that nothing beside it counts. */
    struct rlimit limit = {.rlim_cur = search_seconds(LANE), .rlim_max = RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_CPU, &limit) == 0);
    search(folder);
    _exit(0);
  }
  CHECK_EQUAL(wait_for(child), 0);
  close(lock);
  scratch_remove(folder);
}

static void looks_like_records(void) {
  test("a lane in which each word looks like a large record is searched in time that is in proportion to it");
  search_in_time(search_dead, 0, 0);
  test("the same after a power cut");
  search_in_time(search_after_cut, 1, 0);
  test("the same in a ring that a process has open");
  search_in_time(search_live, 0, 1);
}

/* Damage among records in a lane, of which the one below and the one above a KiB are many. */
static void fill_lane(uint8_t *data, const lane_view *view) {
  for (uint64_t at = 0; at + view->record_bytes < view->capacity;) {
    uint32_t length = (uint32_t)random_below(random_below(2) ? 200 : view->record_bytes - sizeof(record_header));
    record_header header = {.length = length, .type = BUILT_TYPE, .index = (uint32_t)(at / 24)};
    for (uint64_t i = 0; i < length; i++) data[at + sizeof header + i] = (uint8_t)random_below(3);
    memcpy(data + at, &header, sizeof header);
    header.checksum = record_checksum(view->seed, at, data + at);
    memcpy(data + at, &header, sizeof header);
    if (random_below(4) == 0) data[at + random_below(record_size(length))] ^= (uint8_t)(1 + random_below(255));
    at += record_size(length);
  }
}

/* Where records are found, from any position on. */
static uint64_t sum_of_search(const lane_view *view) {
  uint64_t sum = 0, skipped, size;
  for (uint64_t at = 0; at < view->capacity;) {
    if (record_at(view, at, view->capacity, &size)) {
      sum = sum * 31 + at;
      at += size;
    } else {
      at = record_resync(view, at, view->capacity, RECORDS_UNKNOWN, &skipped);
    }
  }
  return sum;
}

static void same_records(void) {
  test("a search with the sums of the whole lane finds what one without them finds");
  enum { CAPACITY = 1 << 16, RECORD = 1 << 14 };
  uint8_t *data = malloc(CAPACITY + RECORD + 64);
  REQUIRE(data);
  for (int round = 0; round < 30; round++) {
    record_sums sums = {.in_vain = CAPACITY + RECORD}; /* from the first on */
    uint32_t seed = (uint32_t)random_below(1 << 30);
    lane_view view = {.data = data, .capacity = CAPACITY, .record_bytes = RECORD, .seed = seed};
    memset(data, 0, CAPACITY + RECORD + 64);
    fill_lane(data, &view);
    uint64_t wanted = sum_of_search(&view);
    view.sums = &sums;
    CHECK_EQUAL(sum_of_search(&view), wanted);
    CHECK(sums.states != NULL);
    record_sums_free(&sums);
  }
  free(data);
}

int main(void) {
  random_start("forged_test");
  largest_definitions();
  damaged_end_of_types();
  full_seal();
  looks_like_records();
  same_records();
  return finish();
}
