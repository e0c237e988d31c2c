/*
 * forged_test.c: logs that no writer leaves, but that every checksum vouches for. A recovery comes to its end, and what
 * it writes can be read.
 */
#include "log_builder.h"

#include "error.h"

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

int main(void) {
  largest_definitions();
  full_seal();
  return finish();
}
