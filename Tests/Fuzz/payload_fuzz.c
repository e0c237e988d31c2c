/*
 * payload_fuzz.c: the fuzz target `payload`: bytes that an event, a notice or a definition consists of, behind right
 * checksums. The first byte says what the rest is taken for; a definition's fields and attributes also go through
 * weir_define, and a context through weir_set_context, which a host may give bytes that it did not make itself.
 */
#include "../C/log_builder.h"
#include "format/definition.h"

#include "archive.h"
#include "examine.h"
#include "mutate.h"
#include "targets.h"
#include "format/values.h"
#include "segment/definitions.h"
#include "segment/scan.h"

enum { OPENING = 77, MOST_BYTES = 60000 };

static void require_that(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "weir fuzz: %s\n", what);
  abort();
}

/* A log whose files go at the next unpacking; it needs no more than their mappings. */
static weir_log *open_log(void) {
  static weir_log *log;
  if (log) return log;
  static const archive nothing = {.count = 0};
  archive_unpack(&nothing);
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  require_that(weir_open(archive_home(), &options, &log, NULL, NULL) == WEIR_OK, "no log could be opened");
  return log;
}

/* The fields given to weir_define by a host that trusts somebody else's. */
static void define(const uint8_t *bytes, size_t count) {
  if (count < 2) return;
  weir_definition definition = {.name = "fuzz",
                                .encoded = bytes + 2,
                                .encoded_bytes = (uint32_t)(count - 2),
                                .field_count = bytes[0] | (uint32_t)bytes[1] << 8};
  uint32_t type;
  weir_define(open_log(), 0, &definition, 1, &type, NULL);
}

/* A tagged object is one for all: as a context and as attributes, where it fits. */
static void set_object(const uint8_t *bytes, size_t count) {
  weir_definition definition = {.name = "fuzz", .attributes = bytes, .attributes_bytes = (uint32_t)count};
  uint32_t type;
  weir_status set = weir_set_context(open_log(), bytes, count, NULL);
  weir_status defined = weir_define(open_log(), 0, &definition, 1, &type, NULL);
  if (count == 0 || count > WEIR_MAX_CONTEXT_BYTES) return;
  require_that((set == WEIR_ERROR_INVALID) == !values_are_object(bytes, count), "a context is taken otherwise");
  require_that(set == WEIR_OK || set == WEIR_ERROR_LIMIT || defined == set, "attributes are taken otherwise");
}

/* Definitions as a segment or a ring has them. Each good one is found again, and lies within the bytes. */
static void take_definitions(const uint8_t *bytes, size_t count) {
  static uint64_t room[MOST_BYTES / 8 + 1];
  uint8_t *entries = (uint8_t *)room;
  memcpy(entries, bytes, count);
  for (uint64_t at = 0; count - at >= sizeof(definition_header);) { /* vouched for, whatever they say */
    definition_header header;
    memcpy(&header, entries + at, sizeof header);
    if (header.bytes < sizeof header || header.bytes % 8 != 0 || header.bytes > count - at) break;
    definition_seal(entries + at, &header, OPENING);
    at += header.bytes;
  }
  definition_table table = {0};
  require_that(definitions_take(&table, OPENING, entries, count) == 0, "definitions can't be taken");
  uint64_t at = 0;
  const definition_header *entry;
  while ((entry = definition_next(entries, count, &at, OPENING))) {
    const definition *found = definitions_find(&table, OPENING, entry->type);
    if (!found) continue;
    require_that((uint64_t)found->name_bytes + found->fields_bytes + found->attributes_bytes <= count,
                 "a definition is larger than its bytes");
    uint64_t signature;
    require_that(entry->type < MAX_TYPES && values_are_fields(found->fields, found->fields_bytes, found->field_count,
                                                              &signature),
                 "a definition is taken whose number or fields can't be");
    require_that(!definitions_type(&table, OPENING, entry->type) != !definitions_context(&table, OPENING, entry->type),
                 "a definition is of neither kind, or of both");
  }
  definitions_free(&table);
}

/* A record of `type` whose payload is the bytes, in a sealed segment, through every reader and recovery. */
static void read_event(uint32_t type, const uint8_t *bytes, size_t count) {
  static uint64_t room[MOST_BYTES / 8 + 16];
  static seen_log seen;
  uint8_t *record = (uint8_t *)room;
  int notice = type == WEIR_TYPE_GAP || type == WEIR_TYPE_HOLE;
  uint64_t lane = notice ? NOTICE_LANE : 0, size = record_size(count);
  record_header header = {.length = (uint32_t)count, .type = type, .ticks = 5000};
  memset(record, 0, size);
  memcpy(record, &header, sizeof header);
  memcpy(record + sizeof header, bytes, count);
  header.checksum = record_checksum(record_seed(OPENING, lane), 0, record);
  memcpy(record, &header, sizeof header);

  built file;
  const uint64_t drained[BUILT_LANES] = {0};
  built_begin(&file, OPENING, 0, drained, NULL, 0);
  built_define(&file);
  block_header block = {.kind = notice ? BLOCK_NOTICES : BLOCK_EVENTS,
                        .count = 1,
                        .lane = (uint32_t)lane,
                        .lane_to = notice ? 0 : size};
  built_block(&file, &block, record, size);
  archive archive = {.count = 0};
  archive_add(&archive, FILE_ACTIVE, 0, file.bytes, file.count);
  built_free(&file);
  archive_unpack(&archive);
  archive_free(&archive);
  const char *problem = examine(archive_home(), 1, &seen);
  require_that(!problem, problem ? problem : "");
  require_that(seen.count == 1, "an event with a right checksum is not given");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count == 0 || count > MOST_BYTES) return 0;
  switch (bytes[0] % 8) {
    case 0: take_definitions(bytes + 1, count - 1); break;
    case 1: read_event(WEIR_TYPE_DYNAMIC, bytes + 1, count - 1); break;
    case 2: read_event(WEIR_TYPE_GAP, bytes + 1, count - 1); break;
    case 3: read_event(BUILT_TYPE, bytes + 1, count - 1); break;
    case 4: read_event(BUILT_TYPE | WEIR_SCOPED, bytes + 1, count - 1); break;
    case 5: read_event(WEIR_TYPE_DYNAMIC | 20 << 16 | WEIR_SCOPED, bytes + 1, count - 1); break;
    case 6: set_object(bytes + 1, count - 1); break;
    default: define(bytes + 1, count - 1); break;
  }
  return 0;
}
