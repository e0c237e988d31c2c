/* structure.c: see structure.h. It walks by the format's rules where they hold, and looks for magics where not. */
#include "structure.h"

#include <string.h>

#include "format/format.h"
#include "format/record.h"
#include "system/crc32c.h"
#include "structure_batch.h"

#define FIELD(type, member) {offsetof(type, member), sizeof(((type *)0)->member)}

static const field segment_fields[] = {
    FIELD(segment_header, magic),         FIELD(segment_header, major),        FIELD(segment_header, minor),
    FIELD(segment_header, header_bytes),  FIELD(segment_header, header_crc),   FIELD(segment_header, flags),
    FIELD(segment_header, salt),          FIELD(segment_header, opening),      FIELD(segment_header, base_offset),
    FIELD(segment_header, created_ns),    FIELD(segment_header, previous_salt), FIELD(segment_header, previous_end),
    FIELD(segment_header, previous_base), FIELD(segment_header, incompatible), FIELD(segment_header, compatible),
    FIELD(segment_header, capacity),      FIELD(segment_header, lane_count),   {108, 8}, {124, 8}, {512, 8},
    {520, 8}, {528, 8}, {536, 8},         FIELD(segment_header, log_id),       {152, 8}, {184, 8}, {248, 8}};
static const field block_fields[] = {
    FIELD(block_header, magic),         FIELD(block_header, header_crc),  FIELD(block_header, salt),
    FIELD(block_header, position),      FIELD(block_header, opening),     FIELD(block_header, kind),
    FIELD(block_header, payload_bytes), FIELD(block_header, payload_crc), FIELD(block_header, count),
    FIELD(block_header, base_offset),   FIELD(block_header, lane),        FIELD(block_header, index),
    FIELD(block_header, lane_from),     FIELD(block_header, lane_to),     FIELD(block_header, first_ns),
    FIELD(block_header, last_ns),       {96, 8}, {104, 8}, {112, 8},      {120, 8},
    FIELD(block_header, log_id),        FIELD(block_header, layout),      FIELD(block_header, key_id), {144, 8}};
static const field record_fields[] = {FIELD(record_header, checksum), FIELD(record_header, length),
                                      FIELD(record_header, type),     {10, 2}, {12, 4},
                                      FIELD(record_header, ticks),    {24, 4}, {28, 4}, {32, 8}};
static const field seal_fields[] = {FIELD(seal_summary, next_offset), FIELD(seal_summary, events),
                                    FIELD(seal_summary, notices),     FIELD(seal_summary, blocks),
                                    FIELD(seal_summary, first_ns),    FIELD(seal_summary, last_ns),
                                    {56, 8}, {64, 8},                 FIELD(seal_summary, flags),
                                    FIELD(seal_summary, definition_bytes), FIELD(seal_summary, totals), {192, 8}};
static const field definition_fields[] = {FIELD(definition_header, bytes),        FIELD(definition_header, crc),
                                          FIELD(definition_header, type),         FIELD(definition_header, flags),
                                          FIELD(definition_header, fields_bytes), FIELD(definition_header, name_bytes),
                                          FIELD(definition_header, field_count),
                                          FIELD(definition_header, attributes_bytes),
                                          FIELD(definition_header, reserved),     {32, 2}, {40, 4}};
static const field ring_fields[] = {
    FIELD(ring_header, magic),        FIELD(ring_header, major),       FIELD(ring_header, minor),
    FIELD(ring_header, header_crc),   FIELD(ring_header, opening),     FIELD(ring_header, file_bytes),
    FIELD(ring_header, lane_count),   FIELD(ring_header, spare_lanes), FIELD(ring_header, lane_bytes),
    FIELD(ring_header, record_bytes), FIELD(ring_header, lanes_at),    FIELD(ring_header, lane_stride),
    FIELD(ring_header, types_at),     FIELD(ring_header, types_bytes), FIELD(ring_header, base_offset),
    FIELD(ring_header, incompatible), FIELD(ring_header, compatible),  FIELD(ring_header, clock),
    FIELD(ring_header, log_end),      FIELD(ring_header, types_end),   {560, 8}, {568, 8}, {576, 8}, {584, 8},
    {592, 4}, {596, 4}, {600, 8},     {632, 4}, {648, 8}, {656, 8},    {776, 8}, {784, 8},
    FIELD(ring_header, log_id),       {144, 8}, {208, 8}};
static const field lane_fields[] = {FIELD(lane_control, tail),        {8, 8}, {16, 8},
                                    FIELD(lane_control, head),        {136, 8},
                                    {192, 8}, {200, 8}, {248, 8},     FIELD(lane_control, evicting_to),
                                    FIELD(lane_control, evicting_total), FIELD(lane_control, evicted_to),
                                    FIELD(lane_control, evicted_total)};
static const field locator_fields[] = {FIELD(ring_locator, magic),        FIELD(ring_locator, major),
                                       FIELD(ring_locator, minor),        FIELD(ring_locator, crc),
                                       FIELD(ring_locator, opening),      FIELD(ring_locator, number),
                                       FIELD(ring_locator, home_inode),   FIELD(ring_locator, home_born_ns),
                                       FIELD(ring_locator, next_offset),  FIELD(ring_locator, incompatible),
                                       FIELD(ring_locator, state),        FIELD(ring_locator, path_bytes),
                                       FIELD(ring_locator, log_id),       {96, 8}};
static const field start_fields[] = {
    FIELD(log_start_slot, magic),        FIELD(log_start_slot, major),        FIELD(log_start_slot, minor),
    FIELD(log_start_slot, crc),          FIELD(log_start_slot, sequence),     FIELD(log_start_slot, first_offset),
    FIELD(log_start_slot, salt),         FIELD(log_start_slot, end),          FIELD(log_start_slot, base),
    FIELD(log_start_slot, segments),     FIELD(log_start_slot, events),       FIELD(log_start_slot, notices),
    FIELD(log_start_slot, incompatible), FIELD(log_start_slot, log_id),       {136, 8},
    {264, 8}};
static const field frame_fields[] = {{0, 4}, {4, 1}, {5, 1}, {6, 8}, {14, 1}};
static const field lz4_block_fields[] = {{0, 4}, {4, 1}, {5, 2}, {7, 4}};
static const field index_fields[] = {FIELD(batch_index, magic),         FIELD(batch_index, major),
                                     FIELD(batch_index, minor),         FIELD(batch_index, crc),
                                     FIELD(batch_index, flags),         FIELD(batch_index, block_bytes),
                                     FIELD(batch_index, salt),          FIELD(batch_index, opening),
                                     FIELD(batch_index, base_offset),   FIELD(batch_index, next_offset),
                                     FIELD(batch_index, content_bytes), FIELD(batch_index, frame_bytes),
                                     FIELD(batch_index, events),        FIELD(batch_index, block_count),
                                     FIELD(batch_index, reserved),      FIELD(batch_index, log_id)};
static const field index_block_fields[] = {{0, 8}, {8, 8}, {16, 8}};
static const field index_end_fields[] = {{0, 8}, {8, 8}};
static const field word_fields[] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}};

#define TABLE(fields) {fields, sizeof fields / sizeof *fields}
static const struct {
  const field *fields;
  uint32_t count;
} tables[PART_KINDS] = {
    [PART_SEGMENT_HEADER] = TABLE(segment_fields), [PART_BLOCK] = TABLE(block_fields),
    [PART_RECORD] = TABLE(record_fields),          [PART_SEAL] = TABLE(seal_fields),
    [PART_DEFINITION] = TABLE(definition_fields),  [PART_RING_HEADER] = TABLE(ring_fields),
    [PART_LANE] = TABLE(lane_fields),              [PART_LOCATOR] = TABLE(locator_fields),
    [PART_START] = TABLE(start_fields),            [PART_FRAME] = TABLE(frame_fields),
    [PART_LZ4_BLOCK] = TABLE(lz4_block_fields),    [PART_INDEX] = TABLE(index_fields),
    [PART_INDEX_BLOCK] = TABLE(index_block_fields), [PART_INDEX_END] = TABLE(index_end_fields),
    [PART_WORDS] = TABLE(word_fields)};

const field *fields_of(part_kind kind, uint32_t *count) {
  *count = tables[kind].count;
  return tables[kind].fields;
}

static void add(parts *found, part_kind kind, uint64_t at, uint64_t bytes) {
  if (found->count < MAX_PARTS) found->items[found->count++] = (part){kind, (uint32_t)at, (uint32_t)bytes};
}

/* ---- What each file is made of ----------------------------------------------------------------------------------- */

/* `visit` is called for each entry from `at` to `end`, as long as they have a size that fits. */
static void find_records(const archived *file, uint64_t at, uint64_t end, parts *found) {
  record_header record;
  while (end - at >= sizeof record) {
    memcpy(&record, file->data + at, sizeof record);
    uint64_t size = record_size(record.length);
    if (size > end - at) size = end - at;
    add(found, PART_RECORD, at, size);
    at += size;
  }
}

static void find_definitions(const archived *file, uint64_t at, uint64_t end, parts *found) {
  definition_header header;
  while (end - at >= sizeof header) {
    memcpy(&header, file->data + at, sizeof header);
    uint64_t size = header.bytes;
    if (size < sizeof header || size % 8 != 0 || size > end - at) return;
    add(found, PART_DEFINITION, at, size);
    at += size;
  }
}

/* The block at `at`, its payload cut to what the file has. */
static uint64_t block_end(const archived *file, uint64_t at, block_header *header) {
  memcpy(header, file->data + at, sizeof *header);
  uint64_t rest = file->bytes - at - sizeof *header;
  return at + sizeof *header + (header->payload_bytes < rest ? header->payload_bytes : rest);
}

static void find_in_block(const archived *file, uint64_t at, parts *found) {
  block_header header;
  uint64_t end = block_end(file, at, &header), payload = at + sizeof header;
  add(found, PART_BLOCK, at, end - at);
  if (header.kind == BLOCK_DEFINITIONS) find_definitions(file, payload, end, found);
  else if (header.kind != BLOCK_SEAL) find_records(file, payload, end, found);
  else if (end - payload >= sizeof(seal_summary)) {
    add(found, PART_SEAL, payload, sizeof(seal_summary));
    find_definitions(file, payload + sizeof(seal_summary), end, found);
  }
}

static void find_in_segment(const archived *file, parts *found) {
  add(found, PART_SEGMENT_HEADER, 0, SEGMENT_HEADER_BYTES);
  for (uint64_t at = SEGMENT_HEADER_BYTES; at + sizeof(block_header) <= file->bytes;) {
    uint32_t magic;
    memcpy(&magic, file->data + at, sizeof magic);
    if (magic != BLOCK_MAGIC) {
      at += 8;
      continue;
    }
    block_header header;
    find_in_block(file, at, found);
    uint64_t end = block_end(file, at, &header);
    at = end % 8 == 0 ? end : at + 8;
  }
}

/* A ring's header where its parts lie within the file; 0 otherwise. */
static int sane_ring(const archived *file, ring_header *header) {
  if (file->bytes < sizeof *header) return 0;
  memcpy(header, file->data, sizeof *header);
  uint64_t stride = header->lane_stride, at = header->lanes_at;
  return header->lane_count > 0 && header->lane_count <= WEIR_MAX_LANES && stride <= file->bytes && stride >= 4104 &&
         at <= file->bytes && header->lane_count * stride <= file->bytes - at && header->lane_bytes >= 8 &&
         (header->lane_bytes & (header->lane_bytes - 1)) == 0 && header->lane_bytes <= stride - LANE_CONTROL_BYTES &&
         header->types_at <= file->bytes && header->types_bytes <= file->bytes - header->types_at &&
         at % 8 == 0 && stride % 8 == 0 && header->types_at % 8 == 0;
}

/* The records of a lane from its head on, as far as they look like some; each gets its checksum if `seed` is given. */
static void walk_lane(archived *file, const ring_header *header, uint32_t lane, parts *found) {
  uint64_t control_at = header->lanes_at + lane * header->lane_stride, data = control_at + LANE_CONTROL_BYTES;
  uint64_t room = header->lane_stride - LANE_CONTROL_BYTES, head, tail;
  memcpy(&tail, file->data + control_at + offsetof(lane_control, tail), 8);
  memcpy(&head, file->data + control_at + offsetof(lane_control, head), 8);
  if (found) add(found, PART_LANE, control_at, LANE_CONTROL_BYTES);
  uint64_t from = tail > header->lane_bytes ? tail - header->lane_bytes : 0;
  uint64_t at = found ? head_position(head) : head_position(head) < from ? from : head_position(head);
  for (int i = 0; i < 256 && at < tail && tail - at <= header->lane_bytes && at % 8 == 0; i++) {
    uint64_t start = at & (header->lane_bytes - 1);
    record_header record;
    if (room - start < sizeof record) return;
    uint8_t *bytes = file->data + data + start;
    memcpy(&record, bytes, sizeof record);
    uint64_t size = record_size(record.length);
    if (size > room - start) return;
    if (found) {
      add(found, PART_RECORD, data + start, size);
    } else {
      uint32_t checksum = record_checksum(record_seed(header->opening, lane), at, bytes);
      memcpy(bytes, &checksum, 4);
    }
    at += size;
  }
}

static void find_in_ring(const archived *file, parts *found) {
  ring_header header;
  if (file->bytes >= RING_HEADER_BYTES) add(found, PART_RING_HEADER, 0, RING_HEADER_BYTES);
  if (!sane_ring(file, &header)) return;
  for (uint32_t lane = 0; lane < header.lane_count; lane++) walk_lane((archived *)file, &header, lane, found);
  uint64_t end = header.types_end < header.types_bytes ? header.types_end : header.types_bytes;
  find_definitions(file, header.types_at, header.types_at + end, found);
}

void find_parts(const archived *file, parts *found) {
  found->count = 0;
  switch (file->kind) {
    case FILE_SEALED:
    case FILE_ACTIVE:
      if (file->bytes >= SEGMENT_HEADER_BYTES) find_in_segment(file, found);
      break;
    case FILE_RING:
    case FILE_FAR_RING:
    case FILE_RING_NEW:
      find_in_ring(file, found);
      break;
    case FILE_LOCATOR:
    case FILE_ANNOUNCED:
      if (file->bytes >= sizeof(ring_locator)) add(found, PART_LOCATOR, 0, sizeof(ring_locator));
      break;
    case FILE_START:
      for (uint64_t slot = 0; slot < START_SLOTS; slot++) {
        uint64_t at = slot * START_SLOT_STRIDE;
        if (at + sizeof(log_start_slot) <= file->bytes) add(found, PART_START, at, sizeof(log_start_slot));
      }
      break;
    case FILE_BATCH:
      find_in_batch(file, found);
      break;
    default:
      for (uint64_t at = 0; at + 8 <= file->bytes && at < 1024; at += 8) add(found, PART_WORDS, at, 8);
  }
}

/* ---- Repairing --------------------------------------------------------------------------------------------------- */

static void repair_definition(uint8_t *entry, uint64_t opening) {
  uint32_t bytes, crc;
  memcpy(&bytes, entry, 4);
  crc = crc_end(crc_extend(weir_crc_u64(CRC_START, opening), entry + 8, bytes - 8));
  memcpy(entry + 4, &crc, 4);
}

static void repair_definitions(archived *file, uint64_t at, uint64_t end, uint64_t opening) {
  static parts found;
  found.count = 0;
  find_definitions(file, at, end, &found);
  for (uint32_t i = 0; i < found.count; i++) repair_definition(file->data + found.items[i].at, opening);
}

static void repair_records(archived *file, uint64_t at, uint64_t end, const block_header *header) {
  int notices = header->kind == BLOCK_NOTICES;
  uint32_t seed = record_seed(header->opening, notices ? (uint32_t)NOTICE_LANE : header->lane);
  uint64_t first = at, index = 0;
  record_header record;
  for (; end - at >= sizeof record; index++) {
    memcpy(&record, file->data + at, sizeof record);
    uint64_t size = record_size(record.length);
    if (size > end - at) return;
    uint64_t position = notices ? (header->base_offset + index) * 8 : header->lane_from + (at - first);
    uint32_t checksum = record_checksum(seed, position, file->data + at);
    memcpy(file->data + at, &checksum, 4);
    at += size;
  }
}

static void repair_block(archived *file, uint64_t at, int adopt) {
  block_header header;
  uint64_t end = block_end(file, at, &header), payload = at + sizeof header;
  if (adopt) {
    memcpy(&header.salt, file->data + offsetof(segment_header, salt), 8);
    memcpy(&header.opening, file->data + offsetof(segment_header, opening), 8);
    header.position = at;
  }
  if (header.kind == BLOCK_DEFINITIONS) {
    repair_definitions(file, payload, end, header.opening);
  } else if (header.kind == BLOCK_SEAL) {
    if (end - payload > sizeof(seal_summary) + SEAL_POSITION_BYTES) {
      repair_definitions(file, payload + sizeof(seal_summary), end - SEAL_POSITION_BYTES, header.opening);
    }
    if (adopt && end - payload >= 8) memcpy(file->data + end - 8, &header.position, 8);
  } else {
    repair_records(file, payload, end, &header);
  }
  header.payload_crc = crc32c(file->data + payload, end - payload);
  header.header_crc = crc32c((const uint8_t *)&header + 8, sizeof header - 8);
  memcpy(file->data + at, &header, sizeof header);
}

static void repair_segment(archived *file, int adopt) {
  static parts found;
  uint32_t lanes;
  if (file->bytes < SEGMENT_HEADER_BYTES) return;
  memcpy(&lanes, file->data + offsetof(segment_header, lane_count), 4);
  uint64_t length = SEGMENT_HEADER_BYTES + sizeof(lane_mark) * (uint64_t)lanes;
  if (lanes <= WEIR_MAX_LANES && length <= file->bytes) {
    uint32_t crc = crc32c(file->data + 20, length - 20);
    memcpy(file->data + offsetof(segment_header, header_crc), &crc, 4);
  }
  find_parts(file, &found);
  for (uint32_t i = 0; i < found.count; i++) {
    if (found.items[i].kind == PART_BLOCK) repair_block(file, found.items[i].at, adopt);
  }
}

static void repair_ring(archived *file) {
  ring_header header;
  if (file->bytes < sizeof header) return;
  for (int i = 0; i < 2; i++) {
    uint8_t *slot = file->data + offsetof(ring_header, calibration) + i * (int)sizeof(calibration_slot);
    uint32_t crc = crc32c(slot, offsetof(calibration_slot, crc));
    memcpy(slot + offsetof(calibration_slot, crc), &crc, 4);
  }
  uint32_t crc = crc32c(file->data + 16, RING_FIXED_BYTES - 16);
  memcpy(file->data + offsetof(ring_header, header_crc), &crc, 4);
  if (!sane_ring(file, &header)) return;
  for (uint32_t lane = 0; lane < header.lane_count; lane++) walk_lane(file, &header, lane, NULL);
  uint64_t end = header.types_end < header.types_bytes ? header.types_end : header.types_bytes;
  repair_definitions(file, header.types_at, header.types_at + end, header.opening);
}

static void repair_start(archived *file) {
  const uint64_t size = sizeof(log_start_slot);
  for (uint64_t at = 0; at + size <= file->bytes && at <= START_SLOT_STRIDE; at += START_SLOT_STRIDE) {
    uint8_t *slot = file->data + at;
    uint64_t state = crc_extend(CRC_START, slot, offsetof(log_start_slot, crc));
    uint32_t crc = crc_end(crc_extend(state, slot + 16, sizeof(log_start_slot) - 16));
    memcpy(slot + offsetof(log_start_slot, crc), &crc, 4);
  }
}

static void repair_locator(archived *file) {
  if (file->bytes < sizeof(ring_locator)) return;
  uint64_t state = crc_extend(CRC_START, file->data, offsetof(ring_locator, crc));
  uint32_t crc = crc_end(crc_extend(state, file->data + 16, sizeof(ring_locator) - 16));
  memcpy(file->data + offsetof(ring_locator, crc), &crc, 4);
}

void repair_file(archived *file, int adopt) {
  switch (file->kind) {
    case FILE_SEALED:
    case FILE_ACTIVE: repair_segment(file, adopt); break;
    case FILE_RING:
    case FILE_FAR_RING:
    case FILE_RING_NEW: repair_ring(file); break;
    case FILE_LOCATOR:
    case FILE_ANNOUNCED: repair_locator(file); break;
    case FILE_START: repair_start(file); break;
    case FILE_BATCH: repair_batch(file); break;
    default: break;
  }
}
