/* scan.c: see scan.h. Goes from block to block; scan_block.c decides whether a block is good. */
#include "segment/scan.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "directory/segment_list.h"
#include "format/notice.h"
#include "segment/batch_source.h"
#include "segment/scan_block.h"
#include "system/bytes.h"
#include "system/crc32c.h"

enum { CHUNK_BYTES = 1 << 20, HEADER_ROOM = SEGMENT_HEADER_BYTES + sizeof(lane_mark) * WEIR_MAX_LANES };

static_assert((int)HEADER_ROOM <= (int)BATCH_HEAD_BYTES, "a header is read without the rest of its LZ4 block");

/* ---- Looking further ------------------------------------------------------------------------------------------- */

/* The position after the last byte of a chunk that is not zero. */
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
  uint64_t chunk_from, chunk_count; /* the part of the segment in the chunk, which serves several searches */
  int chunk_last;                   /* the chunk is the segment's end */
  uint64_t used; /* the position after the last byte so far that is not zero */
} search;

/* Moves the chunk to `at`, if need be. How many bytes it has from there on, or a negative errno. */
static int64_t fill_chunk(search *search, uint64_t at) {
  uint64_t end = search->chunk_from + search->chunk_count;
  int there = at >= search->chunk_from && at < end;
  if (there && (search->chunk_last || end - at >= sizeof(block_header))) return (int64_t)(end - at);
  int64_t got = source_read(&search->scan->source, search->chunk, CHUNK_BYTES, at);
  search->chunk_from = at;
  search->chunk_count = got < 0 ? 0 : (uint64_t)got;
  search->chunk_last = got < CHUNK_BYTES;
  return got;
}

/* Finds the first valid block header at a multiple of 8 from `from` on: 1, 0 if there is none, or a negative errno. */
static int find_header(search *search, uint64_t from, uint64_t *found) {
  segment_scan *scan = search->scan;
  uint64_t at = from;
  while (at < scan->file_bytes) {
    int64_t got = fill_chunk(search, at);
    if (got < 0) return (int)got;
    const uint8_t *bytes = search->chunk + (at - search->chunk_from);
    uint64_t count = (uint64_t)got, used = used_bytes(bytes, count), p = 0;
    if (used > 0 && at + used > search->used) search->used = at + used;
    for (; p < used && p + sizeof(block_header) <= count; p += 8) {
      uint32_t magic;
      memcpy(&magic, bytes + p, sizeof magic);
      if (magic != BLOCK_MAGIC) continue;
      block_header header;
      memcpy(&header, bytes + p, sizeof header);
      if (scan_block_header_problem(scan, &header, at + p)) continue;
      *found = at + p;
      return 1;
    }
    if (search->chunk_last) break;
    /* The last bytes of this chunk may hold the beginning of a header. */
    at += count - sizeof(block_header) + 8;
  }
  return 0;
}

/*
 * Finds the first good block from `from` on: 1, and its header is in `header`; 0, and `*used` is the position after the
 * last byte that is not zero; or a negative errno.
 */
static int find_block(segment_scan *scan, uint64_t from, block_header *header, uint64_t *used) {
  search search = {.scan = scan, .chunk = (uint8_t *)malloc(CHUNK_BYTES), .used = from};
  if (!search.chunk) return -ENOMEM;
  int result;
  uint64_t at = from;
  for (;;) {
    const char *problem;
    int whole_header;
    result = find_header(&search, at, &at);
    if (result != 1) break;
    int error = scan_block_read(scan, at, header, &problem, &whole_header);
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
 * Whether one changed byte explains an invalid block header; `header` is then corrected. So a damaged last block
 * differs from one that was being written, of which more is missing. Takes half a millisecond, once a segment.
 */
static int repair_header(const segment_scan *scan, block_header *header, uint64_t position) {
  uint8_t *bytes = (uint8_t *)header;
  if (bytes_are_zero(bytes, sizeof *header)) return 0;
  for (uint64_t i = 0; i < sizeof *header; i++) {
    uint8_t was = bytes[i];
    for (int change = 1; change < 256; change++) {
      bytes[i] = (uint8_t)(was ^ change);
      if (header->magic != BLOCK_MAGIC) continue;
      if (header->header_crc == scan_block_crc(header) && !scan_block_field_problem(scan, header, position)) return 1;
    }
    bytes[i] = was;
  }
  return 0;
}

/* If the compressed bytes are damaged, reports that, and not what it makes of the block. */
static const char *compressed_problem(const segment_scan *scan, uint64_t from, uint64_t to, const char *problem) {
  const char *compressed = source_problem(&scan->source, from, to);
  return compressed ? compressed : problem;
}

/*
 * Ends the scan of a batch segment without a valid seal. The index may know the segment's last offset.
 */
static void end_of_batch(segment_scan *scan, const char *problem, scan_damage *damage) {
  const batch_index *index = source_index(&scan->source);
  if (scan->position >= scan->file_bytes) return;
  damage->to = scan->file_bytes;
  damage->reason = compressed_problem(scan, damage->from, damage->to, problem);
  uint64_t most = (scan->file_bytes - scan->position) / sizeof(record_header), next = index ? index->next_offset : 0;
  if (next > scan->next_offset && next - scan->next_offset <= most) damage->count = next - scan->next_offset;
  scan->next_offset += damage->count;
  scan->position = scan->file_bytes;
}

static void accept(segment_scan *scan, const block_header *header) {
  scan->block = *header;
  scan->position = header->position + sizeof *header + header->payload_bytes;
  uint64_t next = header->base_offset + header->count;
  if (next > scan->next_offset) scan->next_offset = next;
  scan->sealed = header->kind == BLOCK_SEAL;
}

static int look_at_size(segment_scan *scan) {
  source_size size;
  int error = source_look(&scan->source, &size);
  if (error != 0) return error;
  scan->file_bytes = size.bytes;
  scan->disk_bytes = size.file_bytes;
  scan->inode = size.inode;
  return 0;
}

/* Reads the block at scan->position from the file, whatever is in the buffer. */
static int read_anew(segment_scan *scan, block_header *header, const char **problem, int *whole_header) {
  read_buffer_forget(&scan->buffer);
  int error = look_at_size(scan);
  return error ? error : scan_block_read(scan, scan->position, header, problem, whole_header);
}

/* After a bad block at scan->position: finds the next good block, or decides what the tail is. */
static scan_result look_further(segment_scan *scan, const block_header *bad, const char *problem, int whole_header,
                                scan_damage *damage) {
  block_header header;
  uint64_t from = scan->position, used = from;
  int found = 0;
  if (from < scan->file_bytes) found = find_block(scan, from, &header, &used);
  if (scan->active && found >= 0 && used > from) {
    /* A recovery may have written the block meanwhile. What the search found was written later, if it is good. */
    block_header now;
    const char *still;
    int whole, error = read_anew(scan, &now, &still, &whole);
    if (error == 0 && !still) {
      accept(scan, &now);
      return scan->sealed ? SCAN_SEALED : SCAN_BLOCK;
    }
    if (error != 0) found = error;
    read_buffer_forget(&scan->buffer);
  }
  if (found < 0) {
    damage->error = found;
    return SCAN_ERROR;
  }
  damage->from = from;
  damage->first_offset = scan->next_offset;
  if (found == 1) {
    damage->to = header.position;
    damage->reason = compressed_problem(scan, from, header.position, problem);
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
  if (scan->source.batch) end_of_batch(scan, problem, damage);
  return SCAN_TAIL;
}

/* ---- The scan -------------------------------------------------------------------------------------------------- */

scan_result scan_next(segment_scan *scan, int resync, scan_damage *damage) {
  memset(damage, 0, sizeof *damage);
  if (scan->sealed) return SCAN_SEALED;
  block_header header;
  const char *problem = NULL;
  int whole_header = 0;
  /* A good block in the buffer is good, because blocks never change. A bad one may have been completed since. */
  int old = scan->buffer.count > 0;
  int error = old ? 0 : look_at_size(scan);
  if (error == 0) error = scan_block_read(scan, scan->position, &header, &problem, &whole_header);
  if (error == 0 && problem && old) {
    error = read_anew(scan, &header, &problem, &whole_header);
  }
  if (error == 0 && !problem) {
    accept(scan, &header);
    return scan->sealed ? SCAN_SEALED : SCAN_BLOCK;
  }
  read_buffer_forget(&scan->buffer);
  if (error != 0) {
    damage->error = error;
    return SCAN_ERROR;
  }
  return resync ? look_further(scan, &header, problem, whole_header, damage) : SCAN_TAIL;
}

int scan_peek(segment_scan *scan, block_header *header) {
  if (scan->sealed || scan->position > scan->file_bytes || scan->file_bytes - scan->position < sizeof *header) return 0;
  const uint8_t *bytes = NULL;
  int64_t got = source_get(&scan->source, &scan->buffer, scan->position, sizeof *header, 0, &bytes);
  if (got < (int64_t)sizeof *header) return got < 0 ? (int)got : 0;
  memcpy(header, bytes, sizeof *header);
  if (!scan_block_header_problem(scan, header, scan->position)) return 1;
  read_buffer_forget(&scan->buffer); /* the block may be complete at the next call */
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
  again.buffer = (read_buffer){0};
  again.rows = NULL;
  again.rows_room = 0;
  again.payload = NULL;
  scan_rewind(&again);
  return again;
}

static void free_buffers(segment_scan *scan) {
  read_buffer_free(&scan->buffer);
  free(scan->rows);
  scan->rows = NULL;
  scan->rows_room = 0;
}

void scan_again_close(segment_scan *again) { free_buffers(again); }

void scan_seek(segment_scan *scan, uint64_t offset) {
  uint64_t position = 0, base = 0;
  block_header header;
  if (!scan->header_valid || !source_seek(&scan->source, offset, &position, &base)) return;
  if (position % 8 != 0 || position <= scan->position) return;
  uint64_t before = scan->position;
  scan->position = position;
  /* Only a valid header in its place decides; the index does not. */
  if (scan_peek(scan, &header) == 1 && header.base_offset == base && base <= offset) scan->next_offset = base;
  else scan->position = before;
}

/* Reads the seal at the end of the file: 0, or -1 if there is no good one. */
static int read_seal(segment_scan *scan, block_header *seal) {
  uint64_t position, end = scan->file_bytes;
  const char *problem;
  int whole_header;
  if (end % 8 != 0 || end < scan->start + sizeof *seal + sizeof(seal_summary) + SEAL_POSITION_BYTES) return -1;
  /* Read the file's end at once: most seals are in it. */
  uint64_t from = end > READ_AHEAD_LEAST ? end - READ_AHEAD_LEAST : 0;
  const uint8_t *bytes = NULL;
  read_buffer_forget(&scan->buffer);
  int64_t got = source_get(&scan->source, &scan->buffer, from, end - from, 0, &bytes);
  if (got < (int64_t)(end - from)) return -1;
  memcpy(&position, bytes + (end - from) - sizeof position, sizeof position);
  if (position % 8 != 0 || position < scan->start || position > end) return -1;
  if (scan_block_read(scan, position, seal, &problem, &whole_header) != 0 || problem) return -1;
  return seal->kind == BLOCK_SEAL && position + sizeof *seal + seal->payload_bytes == end ? 0 : -1;
}

int scan_seal(segment_scan *scan) {
  block_header seal;
  int error = read_seal(scan, &seal);
  if (error == 0) accept(scan, &seal);
  return error;
}

const seal_summary *scan_summary(const segment_scan *scan) {
  return scan->sealed && scan->block.kind == BLOCK_SEAL ? (const seal_summary *)(const void *)scan->payload : NULL;
}

uint64_t scan_seal_missing(const seal_summary *seal, uint64_t base_offset, uint64_t next_offset) {
  uint64_t offsets = next_offset > base_offset ? next_offset - base_offset : 0;
  if (seal->events > offsets || seal->notices > offsets - seal->events) return 0;
  return offsets - seal->events - seal->notices;
}

uint64_t scan_base(const segment_scan *scan, uint64_t name_base) {
  uint64_t base = scan->header.base_offset;
  return !scan->header_valid && name_base < base ? name_base : base;
}

int scan_gap_left_out(int header_valid, uint32_t flags, uint64_t gap) {
  return header_valid ? (flags & SEGMENT_AFTER_CUT) != 0 : gap >= OFFSETS_LEFT_OUT;
}

/* Reads a gap record, whole: 1, its reason and how many refusals it reports; 0 if it is none. */
static int read_gap(const uint8_t *record, int32_t *reason, uint64_t *dropped) {
  record_header header;
  uint32_t lane;
  uint64_t total;
  memcpy(&header, record, sizeof header);
  return header.type == WEIR_TYPE_GAP &&
         notice_read_gap(record + sizeof header, header.length, &lane, reason, &total, dropped);
}

int scan_lost(const uint8_t *record, int32_t *reason, uint64_t *events) {
  record_header header;
  memcpy(&header, record, sizeof header);
  if (header.type != WEIR_TYPE_HOLE) return read_gap(record, reason, events);
  *reason = LOST_IN_HOLES;
  *events = notice_read_hole(record + sizeof header, header.length);
  return *events != RECORDS_UNKNOWN;
}

const uint8_t *scan_seal_definitions(const segment_scan *scan) { return scan->payload + sizeof(seal_summary); }

const gap_total *scan_seal_totals(const segment_scan *scan) {
  return (const gap_total *)(const void *)(scan_seal_definitions(scan) + scan_summary(scan)->definition_bytes);
}

/* ---- The header of a segment ----------------------------------------------------------------------------------- */

/* Whether what a segment's header has reserved, or keeps for later versions, is zero. */
static int room_is_empty(const segment_header *header) {
  segment_header other = *header;
  if (header->incompatible & SEGMENT_COLLECTED) {
    memset(&other.host, 0, sizeof other.host);
    other.collected_log_id = other.collected_from = other.collected_to = 0;
  }
  return header->reserved0 == 0 &&
         bytes_are_zero(&other.previous_chain, sizeof other - offsetof(segment_header, previous_chain));
}

/* The problem of a header whose checksum is right; null: none. The fields that it covers can be used in any case. */
static const char *surface_problem(const segment_header *header, uint64_t base_from_name) {
  if (header->magic != SEGMENT_MAGIC) return "segment header does not begin with the format's name";
  if (header->major != FORMAT_MAJOR) return "segment header has a damaged version";
  if (header->minor > FORMAT_MINOR) return "segment header has a damaged version, or is of a later minor one";
  if (header->header_bytes != SEGMENT_HEADER_BYTES + sizeof(lane_mark) * header->lane_count) {
    return "segment header has a wrong length";
  }
  if (!room_is_empty(header)) {
    return "reserved bytes of a segment header are not zero";
  }
  if (header->base_offset != base_from_name) return "file name and segment header disagree on the first offset";
  return NULL;
}

/* Takes opening and base of a batch without a valid header or block from its index. */
static void open_by_index(segment_scan *scan, scan_damage *damage) {
  const batch_index *index = source_index(&scan->source);
  damage->to = scan->disk_bytes; /* the file is not all zeros */
  if (!index || index->base_offset != scan->name_base) return;
  scan->header.salt = index->salt;
  scan->header.opening = index->opening;
  scan->header.log_id = index->log_id;
  scan->header.base_offset = index->base_offset;
  scan->start = damage->to =
      SEGMENT_HEADER_BYTES < scan->file_bytes ? (uint64_t)SEGMENT_HEADER_BYTES : scan->file_bytes;
}

/*
 * Takes salt, opening and log from the seal of a raw segment with a sealed name. What lies before its blocks may be old
 * bytes of the disk: good blocks of a segment that was removed, where they lay in that one.
 */
static void take_identity_of_seal(segment_scan *scan) {
  block_header seal;
  if (scan->active || scan->source.batch || read_seal(scan, &seal) != 0) return;
  scan->header.salt = seal.salt;
  scan->header.opening = seal.opening;
  scan->header.log_id = seal.log_id;
}

/* Without a valid header, takes salt, opening and base from the first good block: of those that have the seal's salt. */
static int open_by_first_block(segment_scan *scan, uint64_t base_from_name, int blank, scan_damage *damage) {
  memset(&scan->header, 0, sizeof scan->header);
  memset(scan->drained, 0, sizeof scan->drained);
  scan->header.lane_count = WEIR_MAX_LANES;
  scan->header.base_offset = base_from_name;
  take_identity_of_seal(scan);
  block_header first;
  uint64_t used = SEGMENT_HEADER_BYTES;
  int found = find_block(scan, SEGMENT_HEADER_BYTES, &first, &used);
  /* The name of a file that is being written is right: blocks of lower offsets are old bytes of the disk. */
  while (found == 1 && scan->active && first.base_offset < base_from_name) {
    found = find_block(scan, first.position + 8, &first, &used);
  }
  if (found < 0) return found;
  damage->first_offset = base_from_name;
  damage->reason = compressed_problem(scan, 0, SEGMENT_HEADER_BYTES, damage->reason);
  scan->start = found ? first.position : scan->file_bytes;
  damage->to = found ? first.position : used < scan->file_bytes ? used : scan->file_bytes;
  if (!found && blank && used == SEGMENT_HEADER_BYTES) damage->to = 0;
  if (found) {
    scan->header.salt = first.salt;
    scan->header.opening = first.opening;
    scan->header.log_id = first.log_id;
    scan->header.base_offset = first.base_offset;
    if (first.base_offset > base_from_name) damage->count = first.base_offset - base_from_name;
  } else if (scan->source.batch) {
    open_by_index(scan, damage);
  } else {
    damage->reason = "no segment: neither its header nor any block is right";
  }
  scan_rewind(scan);
  return 0;
}

/*
 * Whether a higher version in the header is believed. The checksum does not cover it. A good block of this version
 * after the header, or no block at all, contradicts it. The next version's number is believed all the same: it differs
 * in two bits, so no single flipped bit makes it. In a batch one flipped bit may change the version and all that
 * follows: there it is believed only if there is no index, which has a version of its own, and if its LZ4 block is
 * undamaged. 1, 0 or a negative errno.
 */
static int is_newer(segment_scan *scan) {
  if (scan->header.magic != SEGMENT_MAGIC || scan->header.major <= FORMAT_MAJOR) return 0;
  if (source_index(&scan->source)) return 0;
  int vouched = source_vouches(&scan->source);
  if (vouched != 1) return vouched;
  if (scan->header.major == FORMAT_MAJOR + 1) return 1;
  block_header header;
  const char *problem;
  int whole_header;
  int error = scan_block_read(scan, scan->start, &header, &problem, &whole_header);
  if (error != 0) return error;
  return problem && !bytes_are_zero(&header, sizeof header);
}

/* Reads the header, of `*length`, and bytes after it into HEADER_ROOM bytes: 1; 0: it is wrong; or a negative errno. */
static int take_segment_header(segment_scan *scan, uint8_t *bytes, uint64_t *length) {
  const uint8_t *there = NULL;
  int64_t got = source_get(&scan->source, &scan->buffer, 0, HEADER_ROOM, 0, &there);
  if (got < 0) return (int)got;
  memset(bytes, 0, HEADER_ROOM);
  memcpy(bytes, there, (uint64_t)got);
  memcpy(&scan->header, bytes, SEGMENT_HEADER_BYTES);
  *length = SEGMENT_HEADER_BYTES + sizeof(lane_mark) * (uint64_t)scan->header.lane_count;
  return got >= SEGMENT_HEADER_BYTES && scan->header.lane_count <= WEIR_MAX_LANES && (uint64_t)got >= *length &&
         scan->header.salt != 0 && scan->header.base_offset <= MAX_OFFSET &&
         crc32c(bytes + 20, *length - 20) == scan->header.header_crc;
}

static int read_segment_header(segment_scan *scan, uint64_t base_from_name, scan_damage *damage) {
  alignas(8) uint8_t bytes[HEADER_ROOM];
  uint64_t length;
  int right = take_segment_header(scan, bytes, &length);
  if (right == 0 && source_doubt_head(&scan->source)) {
    read_buffer_forget(&scan->buffer);
    right = take_segment_header(scan, bytes, &length);
  }
  if (right < 0) return right;
  if (!right) {
    damage->reason = "segment header checksum does not match";
    return open_by_first_block(scan, base_from_name, bytes_are_zero(bytes, sizeof bytes), damage);
  }
  if (scan->header.incompatible & ~(uint64_t)SEGMENT_COLLECTED) return -ENOTSUP;
  memcpy(scan->drained, bytes + SEGMENT_HEADER_BYTES, length - SEGMENT_HEADER_BYTES);
  scan->header_valid = 1;
  const batch_index *index = source_index(&scan->source);
  if (index && (index->log_id != scan->header.log_id || index->salt != scan->header.salt ||
                index->opening != scan->header.opening || index->base_offset != scan->header.base_offset)) {
    source_disown_index(&scan->source); /* the index is another segment's */
  }
  scan->start = length;
  scan_rewind(scan);
  int newer = is_newer(scan);
  if (newer != 0) return newer < 0 ? newer : -ENOTSUP;
  damage->reason = surface_problem(&scan->header, base_from_name);
  damage->to = damage->reason ? length : 0;
  return 0;
}

/* Treats a segment of another log as a foreign file with a segment's name. */
static void disown(segment_scan *scan, scan_damage *damage) {
  memset(&scan->header, 0, sizeof scan->header);
  memset(scan->drained, 0, sizeof scan->drained);
  scan->header.lane_count = WEIR_MAX_LANES;
  scan->header.base_offset = scan->name_base;
  scan->header_valid = 0;
  scan->of_another_log = 1;
  scan->start = scan->file_bytes;
  *damage = (scan_damage){.to = scan->disk_bytes, .first_offset = scan->name_base, .reason = ANOTHER_LOG};
  scan_rewind(scan);
}

/* Of an open source. Closes it after an error. */
static int open_source(segment_scan *scan, uint64_t log_id, scan_damage *damage) {
  int error = look_at_size(scan);
  if (error == 0) error = read_segment_header(scan, scan->name_base, damage);
  if (error == 0 && log_id != 0 && scan->header.salt != 0 && scan->header.log_id != log_id) disown(scan, damage);
  if (error != 0) scan_close(scan);
  return error;
}

int scan_open(segment_scan *scan, int directory, uint64_t log_id, const char *name, uint64_t base_from_name,
              int active, scan_damage *damage) {
  *scan = (segment_scan){.active = active, .name_base = base_from_name};
  *damage = (scan_damage){0};
  int error = source_open(&scan->source, directory, name);
  return error == 0 ? open_source(scan, log_id, damage) : error;
}

int scan_open_memory(segment_scan *scan, const uint8_t *bytes, uint64_t count, int is_batch, scan_damage *damage) {
  *scan = (segment_scan){0};
  *damage = (scan_damage){0};
  int error = source_open_memory(&scan->source, bytes, count, is_batch);
  if (error != 0) return error;
  segment_header header;
  int64_t got = source_read(&scan->source, &header, sizeof header, 0);
  if (got == (int64_t)sizeof header) scan->name_base = header.base_offset;
  if (got < 0) scan_close(scan);
  return got < 0 ? (int)got : open_source(scan, 0, damage);
}

int scan_open_named(segment_scan *scan, int directory, uint64_t log_id, segment_name *name, scan_damage *damage) {
  /* A raw file may become a batch meanwhile, and somebody who decompresses it by hand may undo that. */
  enum { TRIES = 6 };
  int error = -ENOENT;
  for (int i = 0; i < TRIES && error == -ENOENT; i++) {
    if (i > 0 && name->active) break;
    if (i > 0) {
      name->batch = !name->batch;
      if (name->batch) segment_list_batch_name(name->name, name->base);
      else segment_list_raw_name(name->name, name->base, 0);
    }
    error = scan_open(scan, directory, log_id, name->name, name->base, name->active, damage);
  }
  return error;
}

void scan_close(segment_scan *scan) {
  source_close(&scan->source);
  free_buffers(scan);
  scan->payload = NULL;
}

int scan_is_sealed(int directory, uint64_t log_id, uint64_t base, uint64_t salt) {
  segment_name sealed = {.base = base};
  segment_scan scan;
  scan_damage damage;
  segment_list_raw_name(sealed.name, base, 0);
  int error = scan_open_named(&scan, directory, log_id, &sealed, &damage);
  if (error != 0) return error;
  int same = scan.header.salt == salt;
  scan_close(&scan);
  return same;
}
