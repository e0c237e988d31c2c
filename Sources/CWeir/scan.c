/*
 * scan.c: see scan.h. A block is believed only when its header's checksum, its salt, its position, its payload's
 * checksum and the shape of its payload all agree; so neither a half-written block, nor a copy of one, nor bytes of
 * an event that look like one, ever pass.
 */
#include "scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "notice.h"
#include "system.h"
#include "values.h"

enum { CHUNK_BYTES = 1 << 20, HEADER_ROOM = SEGMENT_HEADER_BYTES + sizeof(lane_mark) * WEIR_MAX_LANES };

static const char WRONG_SUM[] = "block checksum does not match";
static const char WRONG_SHAPE[] = "block is not filled by what its header says";

int all_zero(const void *bytes, uint64_t count) {
  const uint8_t *byte = bytes;
  uint8_t any = 0;
  for (uint64_t i = 0; i < count; i++) any |= byte[i];
  return any == 0;
}

static uint32_t block_header_crc(const block_header *header) {
  return crc32c((const uint8_t *)header + 8, sizeof *header - 8);
}

/* ---- One block ------------------------------------------------------------------------------------------------- */

/* What is wrong with the fields of a block header whose checksum is right; null if nothing. */
static const char *field_problem(const segment_scan *scan, const block_header *header, uint64_t position) {
  if (scan->header.salt != 0 && header->salt != scan->header.salt) return "block of another file";
  if (header->salt == 0) return "block without a salt";
  if (header->position != position) return "block lies elsewhere than it says";
  if (scan->header.salt != 0 && header->opening != scan->header.opening) return "block of another opening";
  int hands_over_none = header->kind != BLOCK_NOTICES || header->lane == NOTICE_LANE;
  if (hands_over_none && header->index != 0) return "reserved bytes of a block are not zero";
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
  if (header->kind == BLOCK_NOTICES && header->lane < scan->header.lane_count) { /* hands over a hole */
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

static const char *header_problem(const segment_scan *scan, const block_header *header, uint64_t position) {
  if (header->magic != BLOCK_MAGIC) return "no block where one should be";
  if (header->header_crc != block_header_crc(header)) return "block header checksum does not match";
  return field_problem(scan, header, position);
}

/* Walks records, one right after the other, that are to fill a payload. */
typedef struct record_walk {
  uint64_t at;
  uint64_t count;
} record_walk;

/* Goes on to the first record that begins at or after `until`. 0: one runs past the payload's end. */
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
 * What is wrong with a payload of records; null if nothing. It is summed and walked a piece at a time: the processor
 * sums one piece while it waits for the lengths of the other, and a piece is read from memory once.
 */
static const char *records_problem(const uint8_t *payload, const block_header *header) {
  enum { PIECE_BYTES = 768 }; /* one step of crc_extend */
  uint64_t bytes = header->payload_bytes, state = CRC_START;
  record_walk walk = {0, 0};
  int filled = 1;
  for (uint64_t at = 0; at < bytes;) {
    uint64_t count = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
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
  if (summary.reserved != 0 || summary.definition_bytes % 8 != 0) return 0;
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

/*
 * Reads the block at `position`, its header into `header`. 0, with `*problem` null for a good block, whose payload is
 * then scan->payload; or a negative errno. `*whole_header` tells whether the header at least is right.
 */
static int read_block(segment_scan *scan, uint64_t position, block_header *header, const char **problem,
                      int *whole_header) {
  const uint8_t *bytes;
  *whole_header = 0;
  *problem = "the file ends where a block should be";
  memset(header, 0, sizeof *header);
  if (position > scan->file_bytes || scan->file_bytes - position < sizeof *header) return 0;
  int64_t got = window_get(&scan->window, scan->fd, position, sizeof *header, 0, &bytes);
  if (got < 0) return (int)got;
  if (got < (int64_t)sizeof *header) return 0;
  memcpy(header, bytes, sizeof *header);
  if ((*problem = header_problem(scan, header, position))) return 0;
  *whole_header = 1;
  /* With the next block's header: then one call reads each large block. */
  uint64_t whole = sizeof *header + header->payload_bytes;
  got = window_get(&scan->window, scan->fd, position, whole, sizeof *header, &bytes);
  if (got < 0) return (int)got;
  *problem = got < (int64_t)whole ? "the file ends within a block" : payload_problem(bytes + sizeof *header, header);
  if (!*problem) scan->payload = bytes + sizeof *header;
  return 0;
}

/* ---- Looking further ------------------------------------------------------------------------------------------- */

/* Where the bytes that are not zero end in a chunk. */
static uint64_t used_bytes(const uint8_t *chunk, uint64_t count) {
  while (count > 0 && count % 8 != 0 && chunk[count - 1] == 0) count--;
  while (count >= 8) {
    uint64_t word;
    memcpy(&word, chunk + count - 8, 8);
    if (word != 0) break;
    count -= 8;
  }
  while (count > 0 && chunk[count - 1] == 0) count--;
  return count;
}

typedef struct search {
  segment_scan *scan;
  uint8_t *chunk;
  uint64_t used; /* position after the last byte that is not zero, as far as was looked */
} search;

/*
 * The first multiple of 8 from `from` on where a right block header lies: 1, 0 if there is none, or a negative errno.
 */
static int find_header(search *search, uint64_t from, uint64_t *found) {
  segment_scan *scan = search->scan;
  uint64_t at = from;
  while (at < scan->file_bytes) {
    int64_t got = sys_read_at(scan->fd, search->chunk, CHUNK_BYTES, at);
    if (got < 0) return (int)got;
    uint64_t count = (uint64_t)got, used = used_bytes(search->chunk, count), p = 0;
    if (used > 0 && at + used > search->used) search->used = at + used;
    for (; p < used && p + sizeof(block_header) <= count; p += 8) {
      uint32_t magic;
      memcpy(&magic, search->chunk + p, sizeof magic);
      if (magic != BLOCK_MAGIC) continue;
      block_header header;
      memcpy(&header, search->chunk + p, sizeof header);
      if (header_problem(scan, &header, at + p)) continue;
      *found = at + p;
      return 1;
    }
    if (count < CHUNK_BYTES) break;
    /* The last bytes of this chunk may hold the beginning of a header. */
    at += CHUNK_BYTES - sizeof(block_header);
  }
  return 0;
}

/*
 * The first good block from `from` on, its header in `header`: 1, 0, or a negative errno. `*used` is where bytes that
 * are not zero end, if there is none.
 */
static int find_block(segment_scan *scan, uint64_t from, block_header *header, uint64_t *used) {
  search search = {scan, malloc(CHUNK_BYTES), from};
  if (!search.chunk) return -ENOMEM;
  int result;
  uint64_t at = from;
  for (;;) {
    const char *problem;
    int whole_header;
    result = find_header(&search, at, &at);
    if (result != 1) break;
    int error = read_block(scan, at, header, &problem, &whole_header);
    if (error != 0) {
      result = error;
      break;
    }
    if (!problem) break;
    at += 8;
  }
  if (used) *used = search.used;
  free(search.chunk);
  return result;
}

/*
 * Whether one changed byte explains why a block header is not right; then `header` is as it was. Tells a damaged last
 * block from one that was being written: of the latter, whole stretches are missing. Half a millisecond, once a
 * segment.
 */
static int repair_header(const segment_scan *scan, block_header *header, uint64_t position) {
  uint8_t *bytes = (uint8_t *)header;
  if (all_zero(bytes, sizeof *header)) return 0;
  for (uint64_t i = 0; i < sizeof *header; i++) {
    uint8_t was = bytes[i];
    for (int change = 1; change < 256; change++) {
      bytes[i] = (uint8_t)(was ^ change);
      if (header->magic != BLOCK_MAGIC) continue;
      if (header->header_crc == block_header_crc(header) && !field_problem(scan, header, position)) return 1;
    }
    bytes[i] = was;
  }
  return 0;
}

/* After a bad block at scan->position: finds the next good one, or tells what the tail is. */
static scan_result look_further(segment_scan *scan, const block_header *bad, const char *problem, int whole_header,
                                scan_damage *damage) {
  block_header header;
  uint64_t from = scan->position, used = from;
  int found = 0;
  if (from < scan->file_bytes) found = find_block(scan, from, &header, &used);
  if (found < 0) {
    damage->error = found;
    return SCAN_ERROR;
  }
  damage->from = from;
  damage->first_offset = scan->next_offset;
  if (found == 1) {
    damage->to = header.position;
    damage->reason = problem;
    if (header.base_offset > scan->next_offset) {
      damage->count = header.base_offset - scan->next_offset;
      scan->next_offset = header.base_offset;
    }
    scan->position = header.position;
    return SCAN_DAMAGE;
  }
  damage->to = used;
  block_header repaired = *bad;
  if (whole_header || repair_header(scan, &repaired, from)) {
    damage->reason = problem;
    uint64_t end = repaired.base_offset + repaired.count;
    if (end > scan->next_offset) damage->count = end - scan->next_offset;
  }
  return SCAN_TAIL;
}

/* ---- The scan -------------------------------------------------------------------------------------------------- */

static void accept(segment_scan *scan, const block_header *header) {
  scan->block = *header;
  scan->position = header->position + sizeof *header + header->payload_bytes;
  uint64_t next = header->base_offset + header->count;
  if (next > scan->next_offset) scan->next_offset = next;
  scan->sealed = header->kind == BLOCK_SEAL;
}

static int look_at_size(segment_scan *scan) {
  struct stat status;
  int error = sys_status(scan->fd, &status);
  if (error != 0) return error;
  scan->file_bytes = (uint64_t)status.st_size;
  scan->inode = (uint64_t)status.st_ino;
  return 0;
}

scan_result scan_next(segment_scan *scan, int resync, scan_damage *damage) {
  memset(damage, 0, sizeof *damage);
  if (scan->sealed) return SCAN_SEALED;
  block_header header;
  const char *problem = NULL;
  int whole_header = 0;
  /* A block that is good in the window is good: none ever changes. One that is not may have been written since. */
  int old = scan->window.count > 0;
  int error = old ? 0 : look_at_size(scan);
  if (error == 0) error = read_block(scan, scan->position, &header, &problem, &whole_header);
  if (error == 0 && problem && old) {
    window_forget(&scan->window);
    error = look_at_size(scan);
    if (error == 0) error = read_block(scan, scan->position, &header, &problem, &whole_header);
  }
  if (error == 0 && !problem) {
    accept(scan, &header);
    return scan->sealed ? SCAN_SEALED : SCAN_BLOCK;
  }
  window_forget(&scan->window);
  if (error != 0) {
    damage->error = error;
    return SCAN_ERROR;
  }
  return resync ? look_further(scan, &header, problem, whole_header, damage) : SCAN_TAIL;
}

int scan_peek(segment_scan *scan, block_header *header) {
  if (scan->sealed || scan->position > scan->file_bytes || scan->file_bytes - scan->position < sizeof *header) return 0;
  const uint8_t *bytes;
  int64_t got = window_get(&scan->window, scan->fd, scan->position, sizeof *header, 0, &bytes);
  if (got < (int64_t)sizeof *header) return got < 0 ? (int)got : 0;
  memcpy(header, bytes, sizeof *header);
  if (!header_problem(scan, header, scan->position)) return 1;
  window_forget(&scan->window); /* it may be written by the time that somebody looks again */
  return 0;
}

void scan_pass(segment_scan *scan, const block_header *header) { accept(scan, header); }

void scan_rewind(segment_scan *scan) {
  scan->position = scan->start;
  scan->next_offset = scan->header.base_offset;
  scan->sealed = 0;
}

segment_scan scan_again(const segment_scan *scan) {
  segment_scan again = *scan;
  again.window = (window){0};
  again.payload = NULL;
  scan_rewind(&again);
  return again;
}

void scan_again_close(segment_scan *again) { window_free(&again->window); }

int scan_seal(segment_scan *scan) {
  uint64_t position, end = scan->file_bytes;
  block_header header;
  const char *problem;
  int whole_header;
  if (end % 8 != 0 || end < scan->start + sizeof header + sizeof(seal_summary) + SEAL_POSITION_BYTES) return -1;
  /* The file's end in one read: most seals are in it. */
  uint64_t from = end > READ_AHEAD_LEAST ? end - READ_AHEAD_LEAST : 0;
  const uint8_t *bytes;
  window_forget(&scan->window);
  int64_t got = window_get(&scan->window, scan->fd, from, end - from, 0, &bytes);
  if (got < (int64_t)(end - from)) return -1;
  memcpy(&position, bytes + (end - from) - sizeof position, sizeof position);
  if (position % 8 != 0 || position < scan->start || position > end) return -1;
  if (read_block(scan, position, &header, &problem, &whole_header) != 0 || problem) return -1;
  if (header.kind != BLOCK_SEAL || position + sizeof header + header.payload_bytes != end) return -1;
  accept(scan, &header);
  return 0;
}

const seal_summary *scan_summary(const segment_scan *scan) {
  return scan->sealed && scan->block.kind == BLOCK_SEAL ? (const seal_summary *)(const void *)scan->payload : NULL;
}

int scan_gap(const uint8_t *record, int32_t *reason, uint64_t *dropped) {
  record_header header;
  uint32_t lane;
  uint64_t total;
  memcpy(&header, record, sizeof header);
  return header.type == WEIR_TYPE_GAP &&
         notice_read_gap(record + sizeof header, header.length, &lane, reason, &total, dropped);
}

const uint8_t *scan_seal_definitions(const segment_scan *scan) { return scan->payload + sizeof(seal_summary); }

const gap_total *scan_seal_totals(const segment_scan *scan) {
  return (const gap_total *)(const void *)(scan_seal_definitions(scan) + scan_summary(scan)->definition_bytes);
}

const definition_header *definition_next(const uint8_t *bytes, uint64_t count, uint64_t *at, uint64_t opening) {
  definition_header header;
  if (*at > count || count - *at < sizeof header) return NULL;
  const uint8_t *entry = bytes + *at;
  memcpy(&header, entry, sizeof header);
  if (header.bytes % 8 != 0 || header.bytes < sizeof header || header.bytes > count - *at) return NULL;
  if (header.bytes > MAX_DEFINITION_BYTES || header.type >= MAX_TYPES) return NULL;
  uint64_t fields_at = sizeof header + (uint64_t)header.name_bytes, attributes_at = fields_at + header.fields_bytes;
  uint64_t used = attributes_at + header.attributes_bytes;
  if (align8(used) != header.bytes || !all_zero(entry + used, header.bytes - used) || header.reserved != 0) return NULL;
  uint32_t crc = crc_end(crc_extend(weir_crc_u64(CRC_START, opening), entry + 8, header.bytes - 8));
  if (crc != header.crc) return NULL;
  int is_context = (header.flags & DEFINITION_CONTEXT) != 0, has_object = is_context || header.attributes_bytes > 0;
  if (is_context && (header.name_bytes != 0 || header.fields_bytes != 0 || header.field_count != 0)) return NULL;
  if (has_object && !values_are_object(entry + attributes_at, header.attributes_bytes)) return NULL;
  uint64_t signature;
  if (!values_are_fields(entry + fields_at, header.fields_bytes, header.field_count, &signature)) return NULL;
  *at += header.bytes;
  return (const definition_header *)(const void *)entry;
}

/* ---- The header of a segment ----------------------------------------------------------------------------------- */

/* What is wrong with a header whose checksum is right; the fields that the checksum covers can be used all the same. */
static const char *surface_problem(const segment_header *header, uint64_t base_from_name) {
  if (header->magic != SEGMENT_MAGIC) return "segment header does not begin with the format's name";
  if (header->major != FORMAT_MAJOR) return "segment header has a damaged version";
  if (header->minor > FORMAT_MINOR) return "segment header has a damaged version, or is of a later minor one";
  if (header->header_bytes != SEGMENT_HEADER_BYTES + sizeof(lane_mark) * header->lane_count) {
    return "segment header has a wrong length";
  }
  if (!all_zero(header->reserved, sizeof header->reserved)) return "reserved bytes of a segment header are not zero";
  if (header->base_offset != base_from_name) return "file name and segment header disagree on the first offset";
  return NULL;
}

/* Without a header to trust: salt, opening and base are those of the first good block. */
static int open_by_first_block(segment_scan *scan, uint64_t base_from_name, int blank, scan_damage *damage) {
  memset(&scan->header, 0, sizeof scan->header);
  memset(scan->handed, 0, sizeof scan->handed);
  scan->header.lane_count = WEIR_MAX_LANES;
  scan->header.base_offset = base_from_name;
  block_header first;
  uint64_t used = SEGMENT_HEADER_BYTES;
  int found = find_block(scan, SEGMENT_HEADER_BYTES, &first, &used);
  /* A file that is being written has its own name: blocks of lower offsets are what was on the disk before it. */
  while (found == 1 && scan->active && first.base_offset < base_from_name) {
    found = find_block(scan, first.position + 8, &first, &used);
  }
  if (found < 0) return found;
  damage->first_offset = base_from_name;
  scan->start = found ? first.position : scan->file_bytes;
  damage->to = found ? first.position : used < scan->file_bytes ? used : scan->file_bytes;
  if (!found && blank && used == SEGMENT_HEADER_BYTES) damage->to = 0;
  if (found) {
    scan->header.salt = first.salt;
    scan->header.opening = first.opening;
    scan->header.base_offset = first.base_offset;
    if (first.base_offset > base_from_name) damage->count = first.base_offset - base_from_name;
  }
  scan_rewind(scan);
  return 0;
}

/*
 * Whether a higher version in the header is believed. It lies outside the checksum, so what follows has its say: a
 * good block of this version, or nothing at all, contradicts it. The next version's number is believed all the same:
 * it differs from this one's in two bits, so no flipped bit makes it.
 */
static int is_newer(segment_scan *scan) {
  if (scan->header.magic != SEGMENT_MAGIC || scan->header.major <= FORMAT_MAJOR) return 0;
  if (scan->header.major == FORMAT_MAJOR + 1) return 1;
  block_header header;
  const char *problem;
  int whole_header;
  if (read_block(scan, scan->start, &header, &problem, &whole_header) != 0) return 1;
  return problem && !all_zero(&header, sizeof header);
}

static int read_segment_header(segment_scan *scan, uint64_t base_from_name, scan_damage *damage) {
  _Alignas(8) uint8_t bytes[HEADER_ROOM] = {0};
  const uint8_t *there;
  int64_t got = window_get(&scan->window, scan->fd, 0, sizeof bytes, 0, &there);
  if (got < 0) return (int)got;
  memcpy(bytes, there, (uint64_t)got);
  memcpy(&scan->header, bytes, SEGMENT_HEADER_BYTES);
  uint64_t length = SEGMENT_HEADER_BYTES + sizeof(lane_mark) * (uint64_t)scan->header.lane_count;
  if (got < SEGMENT_HEADER_BYTES || scan->header.lane_count > WEIR_MAX_LANES || (uint64_t)got < length ||
      scan->header.salt == 0 || scan->header.base_offset > MAX_OFFSET ||
      crc32c(bytes + 20, length - 20) != scan->header.header_crc) {
    damage->reason = "segment header checksum does not match";
    return open_by_first_block(scan, base_from_name, all_zero(bytes, sizeof bytes), damage);
  }
  if (scan->header.incompatible != 0) return -ENOTSUP;
  memcpy(scan->handed, bytes + SEGMENT_HEADER_BYTES, length - SEGMENT_HEADER_BYTES);
  scan->header_valid = 1;
  scan->start = length;
  scan_rewind(scan);
  if (is_newer(scan)) return -ENOTSUP;
  damage->reason = surface_problem(&scan->header, base_from_name);
  damage->to = damage->reason ? length : 0;
  return 0;
}

int scan_open(segment_scan *scan, int directory, const char *name, uint64_t base_from_name, int active,
              scan_damage *damage) {
  memset(scan, 0, sizeof *scan);
  memset(damage, 0, sizeof *damage);
  scan->active = active;
  scan->name_base = base_from_name;
  scan->fd = sys_open_read(directory, name);
  if (scan->fd < 0) return scan->fd;
  int error = look_at_size(scan);
  if (error == 0) error = read_segment_header(scan, base_from_name, damage);
  if (error != 0) scan_close(scan);
  return error;
}

void scan_close(segment_scan *scan) {
  if (scan->fd >= 0) sys_close(scan->fd);
  window_free(&scan->window);
  scan->fd = -1;
  scan->payload = NULL;
}
