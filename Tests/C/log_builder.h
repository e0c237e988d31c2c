/*
 * log_builder.h: builds segments and a ring by hand, byte by byte as FileFormat.md says, without the code that writes
 * them in the library. So a test of the reading side does not depend on the writing side, and a mistake that both
 * would make shows. Only checksums come from the library; those are tested against a definition bit by bit.
 */
#ifndef WEIR_TESTS_LOG_BUILDER_H
#define WEIR_TESTS_LOG_BUILDER_H

#include "check.h"

#include "format/format.h"
#include "format/notice.h"
#include "format/record.h"
#include "system/crc32c.h"
#include "system/system.h"

enum { BUILT_TYPE = 16, BUILT_LANES = 3, BUILT_LANE_BYTES = 4096, BUILT_RECORD_BYTES = 512, BUILT_TYPES_BYTES = 4096 };
/* Three nanoseconds a tick. */
#define BUILT_CALIBRATION \
  ((calibration){ \
      .base_ticks = 1000, .wall_ns = 1700000000000000000, .multiplier = UINT64_C(3) << 32, .monotonic_ns = 5000000000})

#define BUILT_LOG_ID UINT64_C(0x1d00000000000001)

/* Bytes of a file in the making. */
typedef struct built {
  uint8_t *bytes;
  uint64_t count;
  uint64_t room;
  uint64_t salt;
  uint64_t opening;
  uint64_t next_offset;
  seal_summary sums;
  uint8_t definitions[1024];
  uint64_t definitions_bytes;
} built;

static inline void built_put(built *file, const void *bytes, uint64_t count) {
  if (file->count + count > file->room) {
    file->room = (file->count + count) * 2;
    file->bytes = realloc(file->bytes, file->room);
    REQUIRE(file->bytes);
  }
  if (bytes) memcpy(file->bytes + file->count, bytes, count);
  else memset(file->bytes + file->count, 0, count);
  file->count += count;
}

static inline void built_free(built *file) {
  free(file->bytes);
  memset(file, 0, sizeof *file);
}

/* The fields of the event that carries `value`: the value, and a string whose length follows from it. */
static inline uint64_t built_payload(uint8_t payload[64], uint64_t value) {
  uint32_t length = (uint32_t)(value % 13);
  memcpy(payload, &value, 8);
  memcpy(payload + 8, &length, 4);
  for (uint32_t i = 0; i < length; i++) payload[12 + i] = (uint8_t)('a' + (value + i) % 26);
  return 12 + length;
}

/* A record as FileFormat.md has it. Answers its size. */
static inline uint64_t built_record(uint8_t record[128], uint64_t opening, uint64_t lane, uint64_t position,
                                    uint64_t value) {
  memset(record, 0, 128);
  uint32_t length = (uint32_t)built_payload(record + 24, value), type = BUILT_TYPE;
  uint32_t index = (uint32_t)(position / 24); /* higher from record to record, and no lower than it can be */
  uint64_t ticks = 1000 + value * 10;
  memcpy(record + 4, &length, 4);
  memcpy(record + 8, &type, 4);
  memcpy(record + 12, &index, 4);
  memcpy(record + 16, &ticks, 8);
  uint64_t state = crc_extend(CRC_START, &opening, 8);
  state = crc_extend(state, &lane, 8);
  state = crc_extend(state, &position, 8);
  state = crc_extend(state, record + 24, length);
  uint32_t checksum = crc_end(crc_extend(state, record + 4, 20));
  memcpy(record, &checksum, 4);
  return (24 + (uint64_t)length + 7) / 8 * 8;
}

static inline int64_t built_time(uint64_t value) { return 1700000000000000000 + (int64_t)value * 30; }

/* The definition of the events: "built", with value u64 and text string. */
static inline uint64_t built_definition(uint8_t entry[128], uint64_t opening) {
  static const uint8_t text[] = "built\5\0value\11\4\0text\14";
  memset(entry, 0, 128);
  uint32_t used = 32 + sizeof text - 1, bytes = (used + 7) / 8 * 8, type = BUILT_TYPE, fields = sizeof text - 1 - 5;
  uint16_t name = 5, count = 2;
  memcpy(entry, &bytes, 4);
  memcpy(entry + 8, &type, 4);
  memcpy(entry + 16, &fields, 4);
  memcpy(entry + 20, &name, 2);
  memcpy(entry + 22, &count, 2);
  memcpy(entry + 32, text, sizeof text - 1);
  uint32_t crc = crc_end(crc_extend(crc_extend(CRC_START, &opening, 8), entry + 8, bytes - 8));
  memcpy(entry + 4, &crc, 4);
  return bytes;
}

static inline void built_begin(built *file, uint64_t opening, uint64_t base, const uint64_t drained[BUILT_LANES],
                               const built *previous, uint64_t previous_base) {
  memset(file, 0, sizeof *file);
  file->salt = UINT64_C(0x5a17000000000001) + base * 2;
  file->opening = opening;
  file->next_offset = base;
  segment_header header = {.magic = SEGMENT_MAGIC, .major = 1, .header_bytes = SEGMENT_HEADER_BYTES + 16 * BUILT_LANES};
  header.log_id = BUILT_LOG_ID;
  header.salt = file->salt;
  header.opening = opening;
  header.base_offset = base;
  header.created_ns = 1700000000000000000;
  header.capacity = 65536;
  header.lane_count = BUILT_LANES;
  REQUIRE(sys_boot_id(header.boot_id) == 0);
  memcpy(header.captured_boot_id, header.boot_id, sizeof header.boot_id);
  if (previous) {
    header.previous_salt = previous->salt;
    header.previous_end = previous->count;
    header.previous_base = previous_base;
  }
  built_put(file, &header, SEGMENT_HEADER_BYTES);
  for (int i = 0; i < BUILT_LANES; i++) {
    uint64_t mark[2] = {drained[i], RECORDS_UNKNOWN};
    built_put(file, mark, sizeof mark);
  }
  uint32_t crc = crc32c(file->bytes + 20, file->count - 20);
  memcpy(file->bytes + 16, &crc, 4);
}

static inline void built_block(built *file, block_header *header, const uint8_t *payload, uint64_t bytes) {
  header->magic = BLOCK_MAGIC;
  header->salt = file->salt;
  header->position = file->count;
  header->opening = file->opening;
  header->log_id = BUILT_LOG_ID;
  header->payload_bytes = (uint32_t)bytes;
  header->payload_crc = crc32c(payload, bytes);
  header->base_offset = file->next_offset;
  header->calibration = BUILT_CALIBRATION;
  header->header_crc = crc32c((uint8_t *)header + 8, sizeof *header - 8);
  built_put(file, header, sizeof *header);
  built_put(file, payload, bytes);
  file->next_offset += header->count;
  file->sums.blocks++;
}

static inline void built_define(built *file) {
  uint64_t bytes = notice_definitions(file->definitions, file->opening);
  bytes += built_definition(file->definitions + bytes, file->opening);
  file->definitions_bytes = bytes;
  block_header header = {.kind = BLOCK_DEFINITIONS, .lane = NOTICE_LANE};
  built_block(file, &header, file->definitions, bytes);
}

/* A block of `count` events of `lane` from `*position` on, whose values count up from `value`. */
static inline void built_events(built *file, uint32_t lane, uint64_t *position, uint64_t value, uint32_t count) {
  uint8_t payload[4096];
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint8_t record[128];
    uint64_t size = built_record(record, file->opening, lane, *position + bytes, value + i);
    memcpy(payload + bytes, record, size);
    bytes += size;
  }
  block_header header = {.kind = BLOCK_EVENTS,
                         .count = count,
                         .lane = lane,
                         .lane_from = *position,
                         .lane_to = *position + bytes,
                         .first_ns = built_time(value),
                         .last_ns = built_time(value + count - 1)};
  *position += bytes;
  built_block(file, &header, payload, bytes);
  seal_summary *sums = &file->sums;
  if (sums->events == 0 || header.first_ns < sums->first_ns) sums->first_ns = header.first_ns;
  if (sums->events == 0 || header.last_ns > sums->last_ns) sums->last_ns = header.last_ns;
  sums->events += count;
}

static inline void built_gap(built *file, uint32_t lane, uint64_t dropped, uint64_t total) {
  _Alignas(8) uint8_t record[NOTICE_MAX_BYTES];
  uint64_t size = notice_gap(record, file->opening, file->next_offset, 1000, lane, WEIR_DROP_FULL, dropped, total);
  int64_t time = 1700000000000000000;
  block_header header = {.kind = BLOCK_NOTICES, .count = 1, .lane = NOTICE_LANE, .first_ns = time, .last_ns = time};
  built_block(file, &header, record, size);
  file->sums.notices++;
  file->sums.dropped[WEIR_DROP_FULL] += dropped;
}

static inline void built_seal(built *file) {
  file->sums.next_offset = file->next_offset;
  file->sums.definition_bytes = (uint32_t)file->definitions_bytes;
  uint8_t payload[2048];
  uint64_t bytes = sizeof file->sums;
  memcpy(payload, &file->sums, bytes);
  memcpy(payload + bytes, file->definitions, file->definitions_bytes);
  bytes += file->definitions_bytes;
  memcpy(payload + bytes, &file->count, 8);
  block_header header = {
      .kind = BLOCK_SEAL, .lane = NOTICE_LANE, .first_ns = file->sums.first_ns, .last_ns = file->sums.last_ns};
  built_block(file, &header, payload, bytes + 8);
}

/* What a ring is to hold: lanes' records are put in place by built_ring_record. */
typedef struct built_ring {
  uint8_t *bytes;
  uint64_t count;
  ring_header *header;
  lane_control *control[BUILT_LANES];
} built_ring;

static inline void built_ring_begin(built_ring *ring, uint64_t opening, uint64_t base_offset) {
  uint64_t stride = 4096 + (BUILT_LANE_BYTES + BUILT_RECORD_BYTES + 8 + 4095) / 4096 * 4096;
  ring->count = 4096 + BUILT_LANES * stride + BUILT_TYPES_BYTES;
  ring->bytes = aligned_alloc(4096, ring->count);
  REQUIRE(ring->bytes);
  memset(ring->bytes, 0, ring->count);
  ring_header *header = ring->header = (ring_header *)ring->bytes;
  header->magic = RING_MAGIC;
  header->major = 1;
  header->opening = opening;
  header->log_id = BUILT_LOG_ID;
  header->file_bytes = ring->count;
  header->lane_count = BUILT_LANES;
  header->spare_lanes = 1;
  header->lane_bytes = BUILT_LANE_BYTES;
  header->record_bytes = BUILT_RECORD_BYTES;
  header->lanes_at = 4096;
  header->lane_stride = stride;
  header->types_at = 4096 + BUILT_LANES * stride;
  header->types_bytes = BUILT_TYPES_BYTES;
  header->base_offset = base_offset;
  header->clock = WEIR_CLOCK_MONOTONIC;
  REQUIRE(sys_boot_id(header->boot_id) == 0);
  header->header_crc = crc32c(ring->bytes + 16, RING_FIXED_BYTES - 16);
  header->calibration[1] = (calibration_slot){.value = BUILT_CALIBRATION, .sequence = 1};
  header->calibration[1].crc = crc32c(&header->calibration[1], 36);
  uint8_t *types = ring->bytes + header->types_at;
  header->types_end = notice_definitions(types, opening);
  header->types_end += built_definition(types + header->types_end, opening);
  for (int i = 0; i < BUILT_LANES; i++) ring->control[i] = (lane_control *)(ring->bytes + 4096 + (uint64_t)i * stride);
}

/* Appends one record to a lane, at its tail. */
static inline void built_ring_record(built_ring *ring, uint32_t lane, uint64_t value) {
  uint8_t record[128];
  lane_control *control = ring->control[lane];
  uint64_t size = built_record(record, ring->header->opening, lane, control->tail, value);
  memcpy((uint8_t *)control + 4096 + control->tail % BUILT_LANE_BYTES, record, size);
  control->tail += size;
}

static inline void write_file(const char *path, const void *bytes, uint64_t count) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, bytes, count) == (ssize_t)count);
  close(fd);
}

static inline void overwrite(const char *path, uint64_t at, const void *bytes, uint64_t count) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(pwrite(fd, bytes, count, (off_t)at) == (ssize_t)count);
  close(fd);
}

#endif
