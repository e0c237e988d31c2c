/*
 * scan_block.c: see scan_block.h. A block is good only if its header's checksum, its salt, its position, its payload's
 * checksum and the structure of its payload are right. So no half-written block, no copy of a block and no bytes of an
 * event that look like a block ever pass.
 */
#include "segment/scan_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/columns.h"
#include "format/definition.h"
#include "system/bytes.h"
#include "system/crc32c.h"

static const char WRONG_SUM[] = "block checksum does not match";
static const char WRONG_SHAPE[] = "block is not filled by what its header says";

uint32_t scan_block_crc(const block_header *header) {
  return crc32c((const uint8_t *)header + 8, sizeof *header - 8);
}

const char *scan_block_field_problem(const segment_scan *scan, const block_header *header, uint64_t position) {
  if (scan->header.salt != 0 && header->salt != scan->header.salt) return "block of another file";
  if (header->salt == 0) return "block without a salt";
  if (header->position != position) return "block lies elsewhere than it says";
  if (scan->header.salt != 0 && header->opening != scan->header.opening) return "block of another opening";
  if (scan->header.salt != 0 && header->log_id != scan->header.log_id) return "block of another log";
  if (header->layout != 0 || header->key_id != 0 || !bytes_are_zero(header->tag, sizeof header->tag)) {
    return "block has a layout or a key, which this version does not know";
  }
  int drains_none = header->kind != BLOCK_NOTICES || header->lane == NOTICE_LANE;
  if (drains_none && header->index != 0) return "reserved bytes of a block are not zero";
  if (header->payload_bytes % 8 != 0 || header->payload_bytes > MAX_BLOCK_PAYLOAD_BYTES) {
    return "block has an impossible length";
  }
  if (header->payload_bytes > scan->file_bytes - position - sizeof *header) return "block runs past the file's end";
  if (header->base_offset > MAX_OFFSET || header->count > MAX_OFFSET - header->base_offset) {
    return "block has an impossible offset";
  }
  if (header->kind == BLOCK_EVENTS) {
    if (header->lane >= scan->header.lane_count) return "block of a lane that there is not";
    if (header->lane_from % 8 != 0 || header->lane_to < header->lane_from ||
        header->lane_to - header->lane_from != header->payload_bytes) {
      return "block's lane positions do not fit its length";
    }
    return NULL;
  }
  if (header->kind == BLOCK_NOTICES && header->lane < scan->header.lane_count) { /* drains a hole */
    return header->lane_from % 8 == 0 && header->lane_to % 8 == 0 && header->lane_from < header->lane_to
               ? NULL
               : "block's lane positions are impossible";
  }
  if (header->lane != NOTICE_LANE || header->lane_from != 0 || header->lane_to != 0) {
    return "block has lane positions that its kind does not have";
  }
  if (header->kind == BLOCK_NOTICES) return NULL;
  if (header->kind != BLOCK_DEFINITIONS && header->kind != BLOCK_SEAL) return "block of an unknown kind";
  return header->count == 0 ? NULL : "block has a count that its kind does not have";
}

const char *scan_block_header_problem(const segment_scan *scan, const block_header *header, uint64_t position) {
  if (header->magic != BLOCK_MAGIC) return "no block where one should be";
  if (header->header_crc != scan_block_crc(header)) return "block header checksum does not match";
  return scan_block_field_problem(scan, header, position);
}

/* Walks the records of a payload, which they must fill without a gap. */
typedef struct record_walk {
  uint64_t at;
  uint64_t count;
} record_walk;

/* Goes on to the first record at or after `until`. 0: a record runs past the payload's end. */
static inline int walk_records(record_walk *walk, const uint8_t *payload, uint64_t bytes, uint64_t until) {
  uint64_t at = walk->at, count = walk->count;
  while (at < until) {
    uint32_t length;
    if (bytes - at < sizeof(record_header)) return 0;
    memcpy(&length, payload + at + offsetof(record_header, length), sizeof length);
    uint64_t size = record_size(length);
    if (size > bytes - at) return 0;
    at += size;
    count++;
  }
  walk->at = at;
  walk->count = count;
  return 1;
}

/*
 * The problem of a payload of records; null: none. Checksum and walk go a piece at a time: the processor sums one piece
 * while it waits for the lengths in the other, and each piece is read from memory once.
 */
static const char *records_problem(const uint8_t *payload, const block_header *header) {
  enum { PIECE_BYTES = 768 }; /* one step of crc_extend */
  uint64_t bytes = header->payload_bytes, state = CRC_START;
  record_walk walk = {0, 0};
  int filled = 1;
  for (uint64_t at = 0; at < bytes;) {
    uint64_t count = bytes - at < PIECE_BYTES ? bytes - at : (uint64_t)PIECE_BYTES;
    state = crc_extend(state, payload + at, count);
    at += count;
    filled = filled && walk_records(&walk, payload, bytes, at);
  }
  if (crc_end(state) != header->payload_crc) return WRONG_SUM;
  return filled && walk.count == header->count ? NULL : WRONG_SHAPE;
}

static int definitions_fill(const uint8_t *payload, uint64_t bytes, uint64_t opening) {
  uint64_t at = 0;
  while (definition_next(payload, bytes, &at, opening)) continue;
  return at == bytes;
}

static int seal_is_well_formed(const uint8_t *payload, const block_header *header) {
  seal_summary summary;
  uint64_t position;
  if (header->payload_bytes < sizeof summary + SEAL_POSITION_BYTES) return 0;
  memcpy(&summary, payload, sizeof summary);
  uint64_t totals = summary.totals * (uint64_t)sizeof(gap_total);
  if (summary.reserved != 0 || !bytes_are_zero(&summary.chain, sizeof summary.chain)) return 0;
  if (summary.definition_bytes % 8 != 0) return 0;
  if (summary.definition_bytes + totals != header->payload_bytes - sizeof summary - SEAL_POSITION_BYTES) return 0;
  memcpy(&position, payload + header->payload_bytes - SEAL_POSITION_BYTES, sizeof position);
  if (position != header->position) return 0;
  return definitions_fill(payload + sizeof summary, summary.definition_bytes, header->opening);
}

static const char *payload_problem(const uint8_t *payload, const block_header *header) {
  uint64_t bytes = header->payload_bytes;
  if (header->kind == BLOCK_EVENTS || header->kind == BLOCK_NOTICES) return records_problem(payload, header);
  if (crc32c(payload, bytes) != header->payload_crc) return WRONG_SUM;
  int filled = header->kind == BLOCK_SEAL ? seal_is_well_formed(payload, header)
                                          : definitions_fill(payload, bytes, header->opening);
  return filled ? NULL : WRONG_SHAPE;
}

/* Converts a payload from columns into scan->rows: 1; 0: it is not in columns; or -ENOMEM. */
static int restore_rows(segment_scan *scan, const uint8_t *payload, const block_header *header) {
  uint64_t scratch = columns_scratch_bytes(header->count), room = scratch + header->payload_bytes;
  if (room > scan->rows_room) {
    uint8_t *rows = (uint8_t *)malloc(room);
    if (!rows) return -ENOMEM;
    free(scan->rows);
    scan->rows = rows;
    scan->rows_room = room;
  }
  return columns_restore(payload, header->payload_bytes, header->count, scan->rows + scratch, scan->rows);
}

/*
 * Takes the payload as it is, or from columns, whichever has the right checksum: then `*problem` is null, and
 * scan->payload is set. In a batch columns are tried first. A raw file has columns too if somebody decompressed a batch
 * by hand. 0 or -ENOMEM.
 */
static int take_payload(segment_scan *scan, const uint8_t *payload, const block_header *header, const char **problem) {
  const batch_index *index = source_index(&scan->source);
  int columns_first = scan->source.batch && (!index || (index->flags & BATCH_COLUMNS));
  for (int i = 0; i < 2; i++) {
    const uint8_t *candidate = payload;
    if ((i == 0) == columns_first) {
      if (!columns_apply(header)) continue;
      int restored = restore_rows(scan, payload, header);
      if (restored < 0) return restored;
      if (!restored) continue;
      candidate = scan->rows + columns_scratch_bytes(header->count);
    }
    const char *wrong = payload_problem(candidate, header);
    if (candidate == payload) *problem = wrong;
    if (wrong) continue;
    *problem = NULL;
    scan->payload = candidate;
    scan->in_columns = candidate != payload;
    return 0;
  }
  return 0;
}

int scan_block_read(segment_scan *scan, uint64_t position, block_header *header, const char **problem,
                      int *whole_header) {
  const uint8_t *bytes = NULL;
  *whole_header = 0;
  *problem = "the file ends where a block should be";
  memset(header, 0, sizeof *header);
  if (position > scan->file_bytes || scan->file_bytes - position < sizeof *header) return 0;
  int64_t got = source_get(&scan->source, &scan->buffer, position, sizeof *header, 0, &bytes);
  if (got < 0) return (int)got;
  if (got < (int64_t)sizeof *header) return 0;
  memcpy(header, bytes, sizeof *header);
  if ((*problem = scan_block_header_problem(scan, header, position))) return 0;
  *whole_header = 1;
  /* Together with the next block's header: so each large block takes one call. */
  uint64_t whole = sizeof *header + header->payload_bytes;
  got = source_get(&scan->source, &scan->buffer, position, whole, sizeof *header, &bytes);
  if (got < 0) return (int)got;
  *problem = "the file ends within a block";
  return got < (int64_t)whole ? 0 : take_payload(scan, bytes + sizeof *header, header, problem);
}
