/*
 * record.h: walking the records of a lane, in the mapped ring while draining, in a private copy when reading a dead
 * process's ring. Trusts nothing: each record is believed only with its checksum.
 */
#ifndef WEIR_RECORD_H
#define WEIR_RECORD_H

#include "system/names.h"

#include "format/format.h"

/*
 * What keeps a search through damage in proportion to the lane. Each eight bytes of a forged lane can look like the
 * header of a record of a MiB, all of which has to be summed up to see that it is none. Once as many bytes were summed
 * up in vain as the lane has, the states of a checksum over the whole lane are noted, a KiB apart; the sum of any
 * stretch follows from two of them. So a search finds what it would find without. Zeros to begin with.
 */
typedef struct record_sums {
  uint64_t in_vain; /* bytes that were summed up for what is no record */
  uint32_t *states; /* null: not worth it yet, or no memory for them */
} record_sums;

void record_sums_free(record_sums *sums);

/* A lane's bytes and what its records' checksums are seeded with. */
typedef struct lane_view {
  const uint8_t *data;   /* capacity + overhang bytes */
  uint64_t capacity;     /* a power of two */
  uint64_t record_bytes; /* the largest record */
  uint32_t seed;         /* record_seed(opening, lane) */
  int rebooted;          /* under another boot id: pages of different ages, so an index has to follow on, too */
  record_sums *sums;     /* of a lane that nobody writes to any more; null: each record is summed up by itself */
} lane_view;

/*
 * The highest position at which a record of any size fits while `head` is not drained. Eight bytes are kept free
 * because a commit clears the word after the record.
 */
static inline uint64_t lane_limit(const lane_view *lane, uint64_t head) {
  return head + lane->capacity - lane->record_bytes - RECORD_SLACK_BYTES;
}

/* CRC32C state after the opening and the lane number. */
uint32_t record_seed(uint64_t opening, uint64_t lane);

/* The checksum that a record at `position` must carry. `record` has its header and `length` bytes of payload. */
uint32_t record_checksum(uint32_t seed, uint64_t position, const uint8_t *record);

/*
 * The record at `position` if it is whole, ends at or before `end`, and its checksum and padding are right; its size in
 * `*size`. Null otherwise.
 */
const record_header *record_at(const lane_view *lane, uint64_t position, uint64_t end, uint64_t *size);

/* The same for the record after so many others of its lane (RECORDS_UNKNOWN: any number). */
const record_header *record_next(const lane_view *lane, uint64_t position, uint64_t end, uint64_t records,
                                 uint64_t *size);

/* How many records come before one of that index, given about how many they are, or RECORDS_UNKNOWN. */
uint64_t record_number(uint64_t records, uint32_t index);

/*
 * The first position after `position` where a valid record starts, or `end`. `records` come before `position`; to
 * `*skipped` goes how many lie between it and that record, or RECORDS_UNKNOWN. Under another boot id only a record
 * whose index can be true there counts. Of more than two laps the first and the last are looked at.
 */
uint64_t record_resync(const lane_view *lane, uint64_t position, uint64_t end, uint64_t records, uint64_t *skipped);

/*
 * The end of the last record to be found from `position` on, for a lane of whose positions nothing is known but that,
 * and perhaps (`hint`, or 0) one that it had once got to. `position` if there is none. It looks for records through
 * RECORD_MOST_LAPS laps at the most, stretches of records not counted: each page of a lane is of one moment, and one of
 * a MiB has so many. A forged lane can have a record in each of a million laps.
 */
enum { RECORD_MOST_LAPS = 256 };
uint64_t record_last(const lane_view *lane, uint64_t position, uint64_t records, uint64_t hint);

#endif
