/*
 * scan.h: reading one segment, raw or a batch, block by block with pread, never trusting a length or a count from it.
 * Shared by recovery, readers, verify and stat. Positions are those in the segment, whatever file it lies in.
 */
#ifndef WEIR_SCAN_H
#define WEIR_SCAN_H

#include "system/names.h"

#include "directory/segment_list.h"
#include "format/format.h"
#include "segment/read_buffer.h"
#include "segment/source.h"

typedef struct segment_scan {
  segment_source source;
  int active;              /* its name says so */
  uint64_t file_bytes;     /* of the raw segment at the last look; never grows, shrinks when the segment is sealed */
  uint64_t disk_bytes;     /* of the file: fewer for a batch */
  uint64_t inode;          /* of the file, which may be renamed */
  uint64_t name_base;      /* the base offset in its name */
  int header_valid;        /* its checksum vouches for salt, opening, base and `drained` */
  lane_mark drained[WEIR_MAX_LANES];
  int of_another_log;      /* then the fields below have no meaning */
  uint64_t start;          /* position of the first block */
  uint64_t position;       /* of the next block */
  uint64_t next_offset;    /* the offset expected at `position` */
  int sealed;              /* the seal has been read */
  block_header block;      /* the block last read */
  const uint8_t *payload;  /* its payload, in the buffer or in `rows`: valid until the next call */
  int in_columns;          /* the payload was stored in columns */
  read_buffer buffer;
  uint8_t *rows;           /* a payload that lies in columns there, and what it takes to bring it back */
  uint64_t rows_room;
  segment_header header; /* with a damaged header: opening, salt, base from the first good block */
} segment_scan;

typedef enum scan_result {
  SCAN_BLOCK,   /* a good block is in `block` and `payload`; `position` and `next_offset` are after it */
  SCAN_SEALED,  /* the good seal is in `block` and `payload`: the segment is complete. Repeats */
  SCAN_TAIL,    /* no good block at `position` nor anywhere after it: the end of what was written. Ask again if live.
                   With `resync`, `damage` tells the tail: [from, to) up to its last byte that is not zero. Its reason
                   is null for a torn tail; not null where a block was whole before it was damaged, and then its
                   offsets are in `damage` */
  SCAN_DAMAGE,  /* bytes [from, to) are no good block, but a good one follows, which the next call gives */
  SCAN_ERROR    /* a system error: its negative errno in `error` */
} scan_result;

typedef struct scan_damage {
  uint64_t from;          /* in the file */
  uint64_t to;
  uint64_t first_offset;  /* offsets that are missing for it */
  uint64_t count;
  const char *reason;     /* static */
  int error;
} scan_damage;

/* The reason for a segment that is whole, and not of the log that it lies in. */
#define ANOTHER_LOG "segment of another log"

/*
 * Opens a segment of the log with this id; with 0, of any. A damaged header is no error: `damage` then has a reason,
 * and header_valid is 0 unless the checksum still vouches for the fields that count (the damage is in the magic, the
 * version, the length or the name). `damage` has a null reason where the header is right. Where the salt is 0 it is no
 * segment of the log: it has neither a good header nor a good block, and if `damage` ends at 0, is a file of nothing
 * but zeros; or it is another log's. Errors: a negative errno; -ENOTSUP for a newer major version, or an unknown
 * incompatible flag. The version lies outside the checksum, so one that is higher by more than one is believed only
 * where what follows the header is neither a good block of this version nor empty.
 */
int scan_open(segment_scan *scan, int directory, uint64_t log_id, const char *name, uint64_t base_from_name,
              int active, scan_damage *damage);

/*
 * The same for the bytes of a sealed segment's file in memory, of any log: see source_open_memory. The base is the one
 * that the segment's header has.
 */
int scan_open_memory(segment_scan *scan, const uint8_t *bytes, uint64_t count, int is_batch, scan_damage *damage);

/*
 * The same for a segment from a listing, under its name or, where a batch was made of it since, the batch's, which
 * `name` then is. -ENOENT: neither is there.
 */
int scan_open_named(segment_scan *scan, int directory, uint64_t log_id, segment_name *name, scan_damage *damage);

/*
 * Reads the next block. With `resync` 0 a bad block answers SCAN_TAIL at once (for a live active segment, where it is
 * one being written); with 1 it looks for a good block further on.
 */
scan_result scan_next(segment_scan *scan, int resync, scan_damage *damage);

/*
 * Reads the header of the next block, without its payload: 1 if it is right, 0 if not, or a negative errno. scan_pass
 * then goes past the block; `block` is that header, and `payload` is not the block's. Not for a seal.
 */
int scan_peek(segment_scan *scan, block_header *header);
void scan_pass(segment_scan *scan, const block_header *header);

/* Goes back to the first block. */
void scan_rewind(segment_scan *scan);

/*
 * Goes on at the block that has `offset`, or somewhere before it, if an index knows where that is; so nothing before
 * that is decompressed. Damage in the skipped part is not reported.
 */
void scan_seek(segment_scan *scan, uint64_t offset);

/* A second scan of the same file, at the first block. Ends with scan_again_close, before the first one's scan_close. */
segment_scan scan_again(const segment_scan *scan);
void scan_again_close(segment_scan *again);

/* Skips to the seal of a sealed segment without reading the blocks before it; 0, or -1 where there is no good
 * seal, and then nothing has changed. */
int scan_seal(segment_scan *scan);

/* The summary in the payload after SCAN_SEALED or scan_seal; null if its size is wrong. */
const seal_summary *scan_summary(const segment_scan *scan);

/*
 * The offsets of a sealed segment that neither an event nor a notice has, because damage took them before a recovery
 * sealed it. Notices among them count as events.
 */
uint64_t scan_seal_missing(const seal_summary *seal, uint64_t base_offset, uint64_t next_offset);

/*
 * The first offset of a sealed segment at `name_base`. With a damaged header the header's offset is that of the first
 * good block, which may be too high: the lower of it and the name's counts.
 */
uint64_t scan_base(const segment_scan *scan, uint64_t name_base);

/*
 * Whether the `gap` offsets before a segment were left out after a power cut, and are not missing. With a damaged
 * header a gap of at least OFFSETS_LEFT_OUT counts as left out.
 */
int scan_gap_left_out(int header_valid, uint32_t flags, uint64_t gap);

/*
 * The same of a hole record that knows how many events it tells of: its reason is LOST_IN_HOLES. So the sums over all
 * notices of a segment are `dropped` of its seal.
 */
int scan_lost(const uint8_t *record, int32_t *reason, uint64_t *events);

/* The gap totals in the seal, `totals` of its summary. */
const gap_total *scan_seal_totals(const segment_scan *scan);

/* The definitions in the seal, `definition_bytes` of its summary long. */
const uint8_t *scan_seal_definitions(const segment_scan *scan);

void scan_close(segment_scan *scan);

/* Whether the sealed segment of that base, raw or a batch, has this salt: 1, 0, or a negative errno. */
int scan_is_sealed(int directory, uint64_t log_id, uint64_t base, uint64_t salt);

#endif
