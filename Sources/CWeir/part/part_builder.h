/*
 * part_builder.h: a segment in memory that is built of the records of other segments, each as it was captured: with its
 * checksum, which covers its opening, its lane and its position. Offsets may be others than before.
 *
 * What is kept true:
 *   - What a segment has of a lane is one stretch without a break, so its first and last position say what is in it.
 *   - Every definition that a record needs comes before the record, and once more in the seal.
 */
#ifndef WEIR_PART_BUILDER_H
#define WEIR_PART_BUILDER_H

#include "system/names.h"

#include "segment/definitions.h"
#include "segment/segment.h"

/* What the header of the segment says beside what its records say. */
typedef struct part_origin {
  uint64_t log_id;
  uint64_t opening;
  uint64_t salt;
  uint64_t base_offset;
  int64_t created_ns;
  uint8_t boot_id[16];
  uint8_t captured_boot_id[16];
  uint32_t lane_count;
  uint32_t flags;
  segment_end previous;
  collected_room collected; /* zeros: the log's own events */
} part_origin;

/* Finds the definition of a number in the opening; null: it is lost. */
typedef const definition *part_find(void *context, uint64_t opening, uint32_t number);

/* Records that follow on one another in a block. */
typedef struct part_run {
  const block_header *block;
  const uint8_t *records;
  uint32_t count;
  uint64_t position; /* of the first in its lane */
  part_find *find;
  void *context; /* of `find` */
} part_run;

/* Starts as all zeros. */
typedef struct part_builder {
  struct segment segment; /* its map is memory; null: no segment was begun */
  uint64_t room;   /* of that memory */
  part_origin origin;
  block_header block; /* the block that is being filled, if its count is not 0 */
  uint64_t first_ticks, last_ticks;
  uint64_t next_offset;
  struct calibration calibration; /* of the last block */
  weir_span spans[WEIR_MAX_LANES]; /* by lane; `from` is `to` where there is none */
  uint64_t defined[MAX_TYPES / 64];
} part_builder;

/* Begins a segment that takes records up to so many bytes, and at least one. 0 or -ENOMEM. */
int part_builder_begin(part_builder *builder, const part_origin *origin, uint64_t bytes);

/*
 * Takes the first records of a run, as many as fit: how many, and their bytes in `*bytes`; 0: the segment is full, or
 * has another stretch of the lane; or a negative errno. Notices are taken all or none, and get checksums for their
 * offsets.
 */
int64_t part_builder_add(part_builder *builder, const part_run *run, uint64_t *bytes);

/* Whether the segment has a record or a notice. */
int part_builder_has_any(const part_builder *builder);

/* Seals the segment: its bytes, `*count` of them, which are valid until the next call. */
const uint8_t *part_builder_seal(part_builder *builder, uint64_t *count);

/* What the segment has of each lane, in order of their numbers, and last of the offsets: how many spans. */
uint32_t part_builder_spans(const part_builder *builder, weir_span spans[WEIR_MAX_LANES + 1]);

void part_builder_free(part_builder *builder);

#endif
