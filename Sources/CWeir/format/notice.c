/* notice.c: see notice.h. */
#include "format/notice.h"

#include <string.h>

#include "format/definition.h"
#include "format/record.h"

/* A growing record or definition in a buffer that the caller knows to be large enough. */
typedef struct writer {
  uint8_t *at;
} writer;

static void put(writer *writer, const void *bytes, uint64_t count) {
  memcpy(writer->at, bytes, count);
  writer->at += count;
}
static void put_u8(writer *writer, uint8_t value) { put(writer, &value, 1); }
static void put_u16(writer *writer, uint16_t value) { put(writer, &value, 2); }
static void put_u32(writer *writer, uint32_t value) { put(writer, &value, 4); }
static void put_u64(writer *writer, uint64_t value) { put(writer, &value, 8); }
static void put_text(writer *writer, const char *text) {
  put_u32(writer, (uint32_t)strlen(text));
  put(writer, text, strlen(text));
}

/* Completes the record whose payload ends at writer->at: header, padding, checksum. */
static uint64_t finish(uint8_t *record, writer *writer, uint64_t opening, uint64_t offset, uint64_t ticks,
                       uint32_t type) {
  uint32_t length = (uint32_t)((uint64_t)(writer->at - record) - sizeof(record_header));
  uint64_t size = record_size(length);
  memset(writer->at, 0, (uint64_t)(record + size - writer->at));
  record_header header = {.length = length, .type = type, .ticks = ticks};
  memcpy(record, &header, sizeof header);
  header.checksum = record_checksum(record_seed(opening, NOTICE_LANE), offset * 8, record);
  memcpy(record, &header, sizeof header);
  return size;
}

uint64_t notice_gap(uint8_t record[NOTICE_MAX_BYTES], uint64_t opening, uint64_t offset, uint64_t ticks, uint32_t lane,
                    int32_t reason, uint64_t dropped, uint64_t total) {
  writer writer = {record + sizeof(record_header)};
  put_u32(&writer, lane);
  put_text(&writer, weir_drop_name(reason));
  put_u64(&writer, dropped);
  put_u64(&writer, total);
  return finish(record, &writer, opening, offset, ticks, WEIR_TYPE_GAP);
}

uint64_t notice_hole(uint8_t record[NOTICE_MAX_BYTES], uint64_t opening, uint64_t offset, uint64_t ticks,
                     const char *reason, uint32_t lane, uint64_t bytes, uint64_t events) {
  writer writer = {record + sizeof(record_header)};
  put_text(&writer, reason);
  put_u32(&writer, lane);
  put_u64(&writer, bytes);
  put_u8(&writer, events != RECORDS_UNKNOWN);
  if (events != RECORDS_UNKNOWN) put_u64(&writer, events);
  return finish(record, &writer, opening, offset, ticks, WEIR_TYPE_HOLE);
}

uint64_t notice_read_hole(const uint8_t *payload, uint64_t bytes) {
  uint32_t reason_bytes;
  uint64_t events;
  if (bytes < 4) return RECORDS_UNKNOWN;
  memcpy(&reason_bytes, payload, 4);
  uint64_t at = 4 + (uint64_t)reason_bytes + 12; /* the lane and the bytes */
  if (at > bytes || bytes - at != 9 || payload[at] != 1) return RECORDS_UNKNOWN;
  memcpy(&events, payload + at + 1, 8);
  return events;
}

int notice_read_gap(const uint8_t *payload, uint64_t bytes, uint32_t *lane, int32_t *reason, uint64_t *total,
                    uint64_t *dropped) {
  uint32_t name_bytes;
  if (bytes < 8) return 0;
  memcpy(lane, payload, 4);
  memcpy(&name_bytes, payload + 4, 4);
  if (name_bytes > bytes - 8 || bytes - 8 - name_bytes != 16) return 0;
  memcpy(dropped, payload + 8 + name_bytes, 8);
  memcpy(total, payload + 16 + name_bytes, 8);
  for (*reason = 1; *reason < WEIR_DROP_REASONS; (*reason)++) {
    const char *name = weir_drop_name(*reason);
    if (strlen(name) == name_bytes && memcmp(name, payload + 8, name_bytes) == 0) return 1;
  }
  return 0;
}

typedef struct notice_field {
  const char *name;
  uint8_t kind;
  uint8_t optional;
} notice_field;

static uint64_t define(uint8_t *entry, uint64_t opening, uint32_t type, const char *name, const notice_field *fields,
                       uint16_t count) {
  writer writer = {entry + sizeof(definition_header)};
  put(&writer, name, strlen(name));
  uint8_t *first = writer.at;
  for (uint16_t i = 0; i < count; i++) {
    put_u16(&writer, (uint16_t)strlen(fields[i].name));
    put(&writer, fields[i].name, strlen(fields[i].name));
    if (fields[i].optional) put_u8(&writer, WEIR_KIND_OPTIONAL);
    put_u8(&writer, fields[i].kind);
  }
  definition_header header = {.type = type,
                              .fields_bytes = (uint32_t)(writer.at - first),
                              .name_bytes = (uint16_t)strlen(name),
                              .field_count = count};
  header.bytes = (uint32_t)align8((uint64_t)(writer.at - entry));
  memset(writer.at, 0, (uint64_t)(entry + header.bytes - writer.at));
  definition_seal(entry, &header, opening);
  return header.bytes;
}

uint64_t notice_definitions(uint8_t *entries, uint64_t opening) {
  static const notice_field gap[] = {{"lane", WEIR_KIND_U32, 0},
                                     {"reason", WEIR_KIND_STRING, 0},
                                     {"dropped", WEIR_KIND_U64, 0},
                                     {"total", WEIR_KIND_U64, 0}};
  static const notice_field hole[] = {{"reason", WEIR_KIND_STRING, 0},
                                      {"lane", WEIR_KIND_U32, 0},
                                      {"bytes", WEIR_KIND_U64, 0},
                                      {"events", WEIR_KIND_U64, 1}};
  uint64_t bytes = define(entries, opening, WEIR_TYPE_GAP, "weir.gap", gap, 4);
  bytes += define(entries + bytes, opening, WEIR_TYPE_HOLE, "weir.hole", hole, 4);
  bytes += define(entries + bytes, opening, WEIR_TYPE_DYNAMIC, "weir.dynamic", NULL, 0);
  return bytes;
}
