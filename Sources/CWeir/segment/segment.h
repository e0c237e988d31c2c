/*
 * segment.h: writing one segment file. A prepared file becomes the active segment with its header, takes blocks, and is
 * sealed by a last block. Then it is finished: see finish.h.
 */
#ifndef WEIR_SEGMENT_H
#define WEIR_SEGMENT_H

#include "system/names.h"

#include "format/format.h"
#include "system/system.h"

typedef struct segment {
  int fd;
  int directory; /* not owned */
  sys_file file, home; /* which they are of */
  char name[64];
  uint8_t *map;
  uint64_t capacity;
  uint64_t at; /* position of the next block */
  uint64_t log_id;
  uint64_t salt;
  uint64_t opening;
  uint64_t base_offset;
  uint64_t number;
  int sealed;
  int named;    /* the sealer's: its name is known to be on the disk */
  int poisoned; /* the sealer's: a sync of its file failed, which is never tried again */
  int synced;   /* the sealer's: whole on the disk */
  int recovers; /* its events are in a ring still: a file that has lost some of them does not get a sealed name */
  uint64_t lost_from; /* then: the first offset that it lost */
  uint64_t lost; /* events that a file which took the place of a poisoned one does not have */
  uint64_t taken; /* bytes that count for it, in a log with bounds */
  uint8_t *kept; /* what is still to be written to such a file */
  seal_summary summary;
  uint8_t *definitions; /* the seal's: every definition in the segment */
  uint64_t definitions_bytes;
  uint64_t definitions_room;
  uint32_t totals; /* gap totals that its seal must have room for */
  struct segment *next;
} segment;

/* Whether both descriptors still belong to their files: the host may have closed them. */
static inline int segment_has_files(const segment *segment) {
  return sys_is_file(segment->fd, &segment->file) && sys_is_file(segment->directory, &segment->home);
}

/* The smallest segment that holds one record of the given size, any two definitions, header and seal. */
#define LEAST_SEGMENT_BYTES(record_bytes) (UINT64_C(131072) + 2 * (uint64_t)(record_bytes))

/*
 * The smallest that recovery makes: with the header of as many lanes as there may be, and each of those two definitions
 * as large as any. So no record of any ring is too large for an empty segment.
 */
#define LEAST_RECOVERED_BYTES(record_bytes) (LEAST_SEGMENT_BYTES(record_bytes) + 16384)

/* The end of a segment, as the next segment's header repeats it. */
typedef struct segment_end {
  uint64_t salt;
  uint64_t end;
  uint64_t base;
} segment_end;

/* Makes, allocates and maps the file prepared-<number>. Null and a negative errno in `*error` if that fails. */
segment *segment_prepare(int directory, uint64_t number, uint64_t capacity, int *error);

/* Where the events of a segment come from. */
typedef struct segment_origin {
  uint64_t log_id;
  uint64_t opening;
  const uint8_t *boot_id; /* of the ring that they were captured in */
} segment_origin;

/* Writes the header and gives the file its active name. 0 or a negative errno; then it is still prepared. */
int segment_begin(segment *segment, const segment_origin *origin, uint64_t base_offset, const segment_end *previous,
                  const lane_mark *drained, uint32_t lane_count, uint32_t flags);

/* Bytes of payload that one more block may have while the seal still fits. */
uint64_t segment_room(const segment *segment);

/*
 * Where the payload of the next block is to be written, in two steps so that events are copied once: the caller fills
 * segment_payload, then segment_append completes the block. `header` gives kind, payload_bytes, count, base_offset,
 * lane, positions, times, calibration; the rest is filled in.
 */
uint8_t *segment_payload(segment *segment);
void segment_append(segment *segment, block_header *header);

/* Appends a definitions block and keeps the entries for the seal. -ENOMEM: nothing was appended. */
int segment_append_definitions(segment *segment, const uint8_t *entries, uint64_t bytes, uint64_t next_offset,
                               const calibration *calibration);

/* Appends the seal. The segment takes no more blocks. */
void segment_seal(segment *segment, uint64_t next_offset, const gap_total *totals, uint32_t count,
                  const calibration *calibration);

/* What each block of a segment repeats. */
typedef struct block_owner {
  uint64_t log_id, salt, opening;
} block_owner;

/* Builds a seal block in `bytes` (segment_seal_bytes long). */
uint64_t segment_seal_bytes(uint64_t definitions_bytes, uint32_t totals);
void segment_build_seal(uint8_t *bytes, uint64_t position, block_owner owner, const seal_summary *summary,
                        const uint8_t *definitions, const gap_total *totals, const calibration *calibration);

/*
 * The most gap totals that a segment's seal takes, so that small ones hold any two definitions all the same. Where
 * there are more, refusals may be reported twice after a power cut.
 */
static inline uint32_t segment_most_totals(uint64_t capacity) { return (uint32_t)(capacity >> 11); }

/* Lets go of the file as it is, unsealed, for the next opening to recover. Frees. */
void segment_abandon(segment *segment);

/*
 * Unmaps and removes the file: it was prepared, or never took a block. Frees. Answers how many of the bytes that count
 * for it are free now.
 */
uint64_t segment_discard(segment *segment);

#endif
