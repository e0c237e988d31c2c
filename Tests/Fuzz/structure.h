/*
 * structure.h: where the structures of the format lie in a file that may be damaged, and repairing the checksums over
 * them. A mutation that leaves a checksum wrong shows only that the checksum is looked at; one that is repaired gets
 * behind it, and every length, count, offset and position in it is hostile though vouched for.
 */
#ifndef WEIR_FUZZ_STRUCTURE_H
#define WEIR_FUZZ_STRUCTURE_H

#include "archive.h"

typedef enum part_kind {
  PART_SEGMENT_HEADER,
  PART_BLOCK,
  PART_RECORD,
  PART_SEAL,
  PART_DEFINITION,
  PART_RING_HEADER,
  PART_LANE,
  PART_LOCATOR,
  PART_START,
  PART_FRAME,       /* the header of an LZ4 frame */
  PART_LZ4_BLOCK,
  PART_INDEX,
  PART_INDEX_BLOCK,
  PART_INDEX_END,
  PART_WORDS, /* of a file whose structure is not known here: eight bytes anywhere */
  PART_KINDS
} part_kind;

typedef struct part {
  part_kind kind;
  uint32_t at;    /* in the file */
  uint32_t bytes; /* of a block with its payload, a record with its padding */
} part;

enum { MAX_PARTS = 2048 };

typedef struct parts {
  part items[MAX_PARTS];
  uint32_t count;
} parts;

/* A field of a structure: where it begins in it, and how long it is. */
typedef struct field {
  uint16_t at;
  uint16_t bytes;
} field;

/* The fields of a kind of part; their count in `*count`. */
const field *fields_of(part_kind kind, uint32_t *count);

void find_parts(const archived *file, parts *found);

/*
 * Makes the checksums of a file right, innermost first. With `adopt`, blocks say that they are of the segment they lie
 * in and lie where they do: a moved or foreign block then passes for one of its own.
 */
void repair_file(archived *file, int adopt);

#endif
