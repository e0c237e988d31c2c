/* part_builder.c: see part_builder.h. */
#include "part/part_builder.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "format/calibration.h"
#include "format/definition.h"
#include "format/record.h"
#include "segment/scan.h"
#include "system/crc32c.h"
#include "system/invariant.h"

/* Beyond this the definitions of a segment end it, so that its seal stays a block. */
enum { MOST_DEFINITIONS_BYTES = 1 << 20 };

/* Room for any record with any two definitions, for a block of notices, and for a header of all lanes. */
#define LEAST_ROOM (LEAST_RECOVERED_BYTES(MAX_BLOCK_PAYLOAD_BYTES))

int part_builder_begin(part_builder *builder, const part_origin *origin, uint64_t bytes) {
  uint64_t room = bytes + LEAST_ROOM;
  uint8_t *map = builder->segment.map, *definitions = builder->segment.definitions;
  uint64_t definitions_room = builder->segment.definitions_room;
  if (room > builder->room) {
    free(map);
    map = (uint8_t *)malloc(room);
    builder->room = map ? room : 0;
  }
  builder->segment = (segment){.fd = -1,
                               .directory = -1,
                               .map = map,
                               .capacity = room,
                               .at = SEGMENT_HEADER_BYTES + sizeof(lane_mark) * (uint64_t)origin->lane_count,
                               .log_id = origin->log_id,
                               .salt = origin->salt,
                               .opening = origin->opening,
                               .base_offset = origin->base_offset,
                               .definitions = definitions,
                               .definitions_room = definitions_room};
  builder->origin = *origin;
  builder->block = (block_header){0};
  builder->next_offset = origin->base_offset;
  builder->calibration = (calibration){0};
  memset(builder->spans, 0, sizeof builder->spans);
  memset(builder->defined, 0, sizeof builder->defined);
  return map ? 0 : -ENOMEM;
}

int part_builder_has_any(const part_builder *builder) { return builder->next_offset > builder->origin.base_offset; }

/* ---- Spans ------------------------------------------------------------------------------------------------------- */

static int follows_on(const weir_span *span, uint64_t from) { return span->to == span->from || span->to == from; }

static void extend(weir_span *span, uint64_t from, uint64_t to, uint32_t events) {
  if (span->to == span->from) span->from = from;
  span->to = to;
  span->events += events;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static void end_block(part_builder *builder) {
  block_header *block = &builder->block;
  if (block->count == 0) return;
  block->first_ns = calibration_time(&block->calibration, builder->first_ticks);
  block->last_ns = calibration_time(&block->calibration, builder->last_ticks);
  segment_append(&builder->segment, block);
  *block = (block_header){0};
}

static int goes_on(const block_header *block, const part_run *run) {
  return block->count > 0 && block->lane == run->block->lane && block->lane_to == run->position &&
         memcmp(&block->calibration, &run->block->calibration, sizeof block->calibration) == 0;
}

static int is_defined(const part_builder *builder, uint32_t number) {
  return number >= MAX_TYPES || (builder->defined[number / 64] >> number % 64 & 1);
}

static uint64_t entry_bytes(const definition *known) {
  return align8(sizeof(definition_header) + known->name_bytes + known->fields_bytes + known->attributes_bytes);
}

/* Ends the block, and defines a number. 0 or a negative errno. */
static int define(part_builder *builder, uint32_t number, const definition *known, const calibration *calibration) {
  alignas(8) uint8_t entry[MAX_DEFINITION_BYTES];
  builder->defined[number / 64] |= UINT64_C(1) << number % 64;
  if (!known) return 0;
  end_block(builder);
  definition_header header = {.bytes = (uint32_t)entry_bytes(known),
                              .type = number,
                              .flags = known->flags,
                              .fields_bytes = known->fields_bytes,
                              .name_bytes = (uint16_t)known->name_bytes,
                              .field_count = (uint16_t)known->field_count,
                              .attributes_bytes = known->attributes_bytes};
  uint8_t *at = entry + sizeof header;
  memset(entry, 0, header.bytes);
  if (known->name_bytes) memcpy(at, known->name, known->name_bytes);
  if (known->fields_bytes) memcpy(at + known->name_bytes, known->fields, known->fields_bytes);
  at += known->name_bytes + known->fields_bytes;
  if (known->attributes_bytes) memcpy(at, known->attributes, known->attributes_bytes);
  definition_seal(entry, &header, builder->origin.opening);
  return segment_append_definitions(&builder->segment, entry, header.bytes, builder->next_offset, calibration);
}

/* The numbers that a record needs and the segment does not define yet: how many; `*bytes`: of their definitions. */
static uint32_t find_undefined(const part_builder *builder, const part_run *run, uint32_t word, uint32_t numbers[2],
                               const definition *known[2], uint64_t *bytes) {
  const uint32_t needed[2] = {record_type(word), record_context(word)};
  uint32_t count = 0;
  *bytes = 0;
  for (int i = 0; i < 2; i++) {
    if (is_defined(builder, needed[i]) || (i == 1 && needed[i] == 0)) continue;
    numbers[count] = needed[i];
    known[count] = run->find(run->context, builder->origin.opening, needed[i]);
    if (known[count]) *bytes += entry_bytes(known[count]);
    count++;
  }
  return count;
}

/* Whether `more` bytes of records fit, with definitions that have `bytes`. `first`: the segment has no record yet. */
static int fits(const part_builder *builder, uint64_t more, uint32_t definitions, uint64_t bytes, int first) {
  const segment *segment = &builder->segment;
  uint64_t headers = definitions + 2;
  uint64_t used = builder->block.payload_bytes + more + headers * sizeof(block_header) + 2 * bytes;
  /* Only the first record may need more than was asked for. */
  uint64_t asked = segment->capacity - LEAST_ROOM, defined = segment->definitions_bytes + bytes;
  if (!first && (segment->at + used > asked || defined > MOST_DEFINITIONS_BYTES)) return 0;
  return used <= segment_room(segment);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

/* Appends `bytes` with `count` records to the block that is being filled. */
static void append(part_builder *builder, const part_run *run, const uint8_t *records, uint64_t position,
                   uint32_t count, uint64_t bytes, uint64_t first_ticks, uint64_t last_ticks) {
  block_header *block = &builder->block;
  if (block->count == 0) {
    *block = (block_header){.kind = BLOCK_EVENTS,
                            .base_offset = builder->next_offset,
                            .lane = run->block->lane,
                            .lane_from = position,
                            .calibration = run->block->calibration};
    builder->calibration = block->calibration;
    builder->first_ticks = UINT64_MAX;
    builder->last_ticks = 0;
  }
  memcpy(segment_payload(&builder->segment) + block->payload_bytes, records, bytes);
  if (first_ticks < builder->first_ticks) builder->first_ticks = first_ticks;
  if (last_ticks > builder->last_ticks) builder->last_ticks = last_ticks;
  block->payload_bytes += (uint32_t)bytes;
  block->lane_to = position + bytes;
  block->count += count;
  builder->next_offset += count;
}

static int64_t add_events(part_builder *builder, const part_run *run, uint64_t *bytes) {
  uint32_t taken = 0, pending = 0;
  uint64_t at = 0, from = 0, first_ticks = UINT64_MAX, last_ticks = 0;
  if (!goes_on(&builder->block, run)) end_block(builder);
  int full = 0;
  uint32_t known_word = 0; /* a type word whose definitions are there; 0 is no event's */
  while (taken + pending < run->count && !full) {
    record_header record;
    memcpy(&record, run->records + at, sizeof record);
    uint64_t size = record_size(record.length), definitions = 0;
    uint32_t numbers[2], undefined = 0;
    const definition *known[2];
    if (record.type != known_word) {
      undefined = find_undefined(builder, run, record.type, numbers, known, &definitions);
    }
    uint64_t payload = builder->block.payload_bytes + (at - from);
    int block_full = payload > 0 && payload + size > DRAIN_BLOCK_BYTES;
    full = !fits(builder, at - from + size, undefined, definitions, !part_builder_has_any(builder) && pending == 0);
    if (pending > 0 && (undefined > 0 || block_full || full)) {
      append(builder, run, run->records + from, run->position + from, pending, at - from, first_ticks, last_ticks);
      taken += pending;
      pending = 0;
      from = at;
      first_ticks = UINT64_MAX;
      last_ticks = 0;
    }
    if (full) break;
    if (block_full) end_block(builder);
    for (uint32_t i = 0; i < undefined; i++) {
      int error = define(builder, numbers[i], known[i], &run->block->calibration);
      if (error != 0) return error;
    }
    known_word = record.type;
    if (record.ticks < first_ticks) first_ticks = record.ticks;
    if (record.ticks > last_ticks) last_ticks = record.ticks;
    pending++;
    at += size;
  }
  if (pending > 0) {
    append(builder, run, run->records + from, run->position + from, pending, at - from, first_ticks, last_ticks);
    taken += pending;
  }
  if (taken > 0) extend(&builder->spans[run->block->lane], run->position, run->position + at, taken);
  *bytes = at;
  return taken;
}

/* ---- Notices ----------------------------------------------------------------------------------------------------- */

static int64_t add_notices(part_builder *builder, const part_run *run, uint64_t *bytes) {
  static const uint32_t needed[2] = {WEIR_TYPE_GAP, WEIR_TYPE_HOLE};
  const uint8_t *end = (const uint8_t *)run->records;
  for (uint32_t i = 0; i < run->count; i++) {
    uint32_t length;
    memcpy(&length, end + offsetof(record_header, length), sizeof length);
    end += record_size(length);
  }
  *bytes = (uint64_t)(end - run->records);
  end_block(builder);
  uint64_t definitions = 0;
  for (int i = 0; i < 2; i++) {
    const definition *known = run->find(run->context, builder->origin.opening, needed[i]);
    if (known && !is_defined(builder, needed[i])) definitions += entry_bytes(known);
  }
  if (!fits(builder, *bytes, 2, definitions, !part_builder_has_any(builder))) return 0;
  for (int i = 0; i < 2; i++) {
    if (is_defined(builder, needed[i])) continue;
    const definition *known = run->find(run->context, builder->origin.opening, needed[i]);
    int error = define(builder, needed[i], known, &run->block->calibration);
    if (error != 0) return error;
  }
  uint8_t *payload = segment_payload(&builder->segment);
  memcpy(payload, run->records, *bytes);
  uint32_t seed = record_seed(builder->origin.opening, NOTICE_LANE);
  uint64_t at = 0;
  for (uint32_t i = 0; i < run->count; i++) {
    record_header record;
    int32_t reason;
    uint64_t events;
    if (scan_lost(payload + at, &reason, &events)) builder->segment.summary.dropped[reason] += events;
    memcpy(&record, payload + at, sizeof record);
    record.checksum = record_checksum(seed, (builder->next_offset + i) * 8, payload + at);
    memcpy(payload + at, &record.checksum, sizeof record.checksum);
    at += record_size(record.length);
  }
  const block_header *of = run->block;
  block_header block = {.kind = BLOCK_NOTICES,
                        .payload_bytes = (uint32_t)*bytes,
                        .count = run->count,
                        .base_offset = builder->next_offset,
                        .lane = of->lane,
                        .index = of->index,
                        .lane_from = of->lane_from,
                        .lane_to = of->lane_to,
                        .first_ns = of->first_ns,
                        .last_ns = of->last_ns,
                        .calibration = of->calibration};
  segment_append(&builder->segment, &block);
  builder->calibration = of->calibration;
  if (of->lane < WEIR_MAX_LANES) extend(&builder->spans[of->lane], of->lane_from, of->lane_to, 0);
  builder->next_offset += run->count;
  return run->count;
}

int64_t part_builder_add(part_builder *builder, const part_run *run, uint64_t *bytes) {
  const block_header *of = run->block;
  int notices = of->kind == BLOCK_NOTICES;
  uint64_t from = notices ? of->lane_from : run->position;
  *bytes = 0;
  if (of->lane < WEIR_MAX_LANES && !follows_on(&builder->spans[of->lane], from)) return 0;
  return notices ? add_notices(builder, run, bytes) : add_events(builder, run, bytes);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void write_header(part_builder *builder) {
  const part_origin *origin = &builder->origin;
  segment_header *header = (segment_header *)(void *)builder->segment.map;
  lane_mark *marks = (lane_mark *)(void *)(header + 1);
  uint32_t bytes = SEGMENT_HEADER_BYTES + (uint32_t)sizeof *marks * origin->lane_count;
  int is_collected = origin->collected.log_id != 0;
  *header = (segment_header){.magic = SEGMENT_MAGIC,
                             .major = FORMAT_MAJOR,
                             .minor = FORMAT_MINOR,
                             .header_bytes = bytes,
                             .flags = origin->flags,
                             .salt = origin->salt,
                             .opening = origin->opening,
                             .base_offset = origin->base_offset,
                             .created_ns = origin->created_ns,
                             .previous_salt = origin->previous.salt,
                             .previous_end = origin->previous.end,
                             .previous_base = origin->previous.base,
                             .incompatible = (uint32_t)(is_collected ? SEGMENT_COLLECTED : 0),
                             .capacity = builder->segment.at,
                             .lane_count = origin->lane_count,
                             .log_id = origin->log_id,
                             .host = origin->collected.host,
                             .collected_log_id = origin->collected.log_id,
                             .collected_from = origin->collected.from,
                             .collected_to = origin->collected.to};
  memcpy(header->boot_id, origin->boot_id, sizeof header->boot_id);
  memcpy(header->captured_boot_id, origin->captured_boot_id, sizeof header->captured_boot_id);
  for (uint32_t i = 0; i < origin->lane_count; i++) {
    const weir_span *span = &builder->spans[i];
    marks[i] = (lane_mark){span->to > span->from ? span->from : LANE_UNKNOWN, RECORDS_UNKNOWN};
  }
  header->header_crc = crc32c(builder->segment.map + 20, bytes - 20);
}

const uint8_t *part_builder_seal(part_builder *builder, uint64_t *count) {
  end_block(builder);
  segment_seal(&builder->segment, builder->next_offset, NULL, 0, &builder->calibration);
  write_header(builder);
  *count = builder->segment.at;
  return builder->segment.map;
}

uint32_t part_builder_spans(const part_builder *builder, weir_span spans[WEIR_MAX_LANES + 1]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < WEIR_MAX_LANES; i++) {
    const weir_span *span = &builder->spans[i];
    if (span->to == span->from) continue;
    spans[count] = *span;
    spans[count++].lane = i;
  }
  spans[count++] = (weir_span){.from = builder->origin.base_offset << 3,
                               .to = builder->next_offset << 3,
                               .events = builder->segment.summary.events,
                               .lane = NOTICE_LANE};
  return count;
}

void part_builder_free(part_builder *builder) {
  free(builder->segment.map);
  free(builder->segment.definitions);
  memset(builder, 0, sizeof *builder);
}
