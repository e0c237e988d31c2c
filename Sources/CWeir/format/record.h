/*
 * record.h: walks the records of a lane: in the mapped ring for the drainer, in a private copy for a reader of a dead
 * process's ring. Trusts nothing: a record counts only with a right checksum.
 */
#ifndef WEIR_RECORD_H
#define WEIR_RECORD_H

#include "system/names.h"

#include "format/format.h"

/*
 * Bounds a search through damage. In a forged lane every eight bytes may look like the header of a record of a MiB,
 * which has to be summed up to reject it. Once as many bytes were summed up in vain as the lane has, the states of a
 * checksum over the whole lane are noted, a KiB apart: two of them give the sum of any stretch. A search finds the same
 * records with and without them. Starts as all zeros.
 */
typedef struct record_sums {
  uint64_t in_vain; /* bytes that were summed up and were no record */
  uint32_t *states; /* null: not needed yet, or there is no memory */
} record_sums;

void record_sums_free(record_sums *sums);

/* A lane's bytes, and the seed of its records' checksums. */
typedef struct lane_view {
  const uint8_t *data;   /* capacity + overhang bytes */
  uint64_t capacity;     /* a power of two */
  uint64_t record_bytes; /* the largest record */
  uint32_t seed;         /* record_seed(opening, lane) */
  int rebooted;          /* under another boot id pages are of different ages: indices are checked, too */
  record_sums *sums;     /* for a lane that nobody writes to; null: each record is summed up by itself */
} lane_view;

/*
 * The highest position at which a record of any size fits while `head` is not drained. Eight bytes are kept free
 * because a commit clears the word after the record.
 */
static inline uint64_t lane_limit(const lane_view *lane, uint64_t head) {
  return head + lane->capacity - lane->record_bytes - RECORD_SLACK_BYTES;
}

/* A lane is half full above so many bytes: half of what is below lane_limit, however large the largest record is. */
static inline uint64_t lane_half(const lane_view *lane) { return lane_limit(lane, 0) / 2; }

/* CRC32C state after the opening and the lane number. */
uint32_t record_seed(uint64_t opening, uint64_t lane);

/* The checksum that a record at `position` must carry. `record` has its header and `length` bytes of payload. */
uint32_t record_checksum(uint32_t seed, uint64_t position, const uint8_t *record);

/*
 * The record at `position`, and its size in `*size`, if it ends at or before `end` and its checksum and padding are
 * right. Null otherwise.
 */
const record_header *record_at(const lane_view *lane, uint64_t position, uint64_t end, uint64_t *size);

/* The same for the record after `records` others of its lane; RECORDS_UNKNOWN: any number. */
const record_header *record_next(const lane_view *lane, uint64_t position, uint64_t end, uint64_t records,
                                 uint64_t *size);

/* The number of records before one with this index, given about how many they are, or RECORDS_UNKNOWN. */
static inline uint64_t record_number(uint64_t records, uint32_t index) {
  return records == RECORDS_UNKNOWN ? index : records + (uint32_t)(index - (uint32_t)records);
}

/*
 * The first position after `position` where a valid record starts, or `end`. `records` come before `position`;
 * `*skipped`: how many lie between it and that record, or RECORDS_UNKNOWN. Under another boot id a record counts only
 * if its index is possible there. Of more than two laps only the first and the last are searched.
 */
uint64_t record_resync(const lane_view *lane, uint64_t position, uint64_t end, uint64_t records, uint64_t *skipped);

/*
 * The end of the last record from `position` on, for a lane of which only this position is known, and perhaps one that
 * it once reached (`hint`, else 0). `position`: there is no record. Searches at most RECORD_MOST_LAPS laps, without
 * those that have records: each page of a lane is of one moment, and a lane of a MiB has so many pages. A forged lane
 * may have a record in each of a million laps.
 */
enum { RECORD_MOST_LAPS = 256 };
uint64_t record_last(const lane_view *lane, uint64_t position, uint64_t records, uint64_t hint);

#endif
