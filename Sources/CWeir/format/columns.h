/*
 * columns.h: the payload of a block of events in columns. Records of one type have much in common, byte for byte, and
 * LZ4 finds it once the bytes that are alike lie side by side: small events take three fifths of the space, and are
 * compressed faster. A permutation of the bytes, which needs nothing but the bytes to be undone. See FileFormat.md,
 * Columns, and Decisions/BatchSegments.md for what it gains and where it would not.
 */
#ifndef WEIR_COLUMNS_H
#define WEIR_COLUMNS_H

#include "system/names.h"

#include "format/format.h"

/* Of records that are larger on average most bytes are text, which LZ4 finds more in as it is. */
enum { COLUMNS_MOST_RECORD_BYTES = 128 };

/*
 * Whether the payload of a block is put into columns in a batch segment: a matter of its header alone. The header is
 * one that is right; its count may lie.
 */
static inline int columns_apply(const block_header *header) {
  uint64_t bytes = header->payload_bytes, count = header->count;
  return header->kind == BLOCK_EVENTS && count * sizeof(record_header) <= bytes &&
         bytes <= count * COLUMNS_MOST_RECORD_BYTES && count > 0;
}

/* Memory that the two below need for a block of `count` records, aligned to 8 bytes. */
static inline uint64_t columns_scratch_bytes(uint64_t count) { return align8(9 * count + 4); }

/*
 * Puts the records of `rows` into columns: `bytes` to `columns`, another piece of memory. 0, and nothing is in
 * `columns` to be used, if they are not `count` records that fill it. For headers that columns_apply holds for.
 */
int columns_permute(const uint8_t *rows, uint64_t bytes, uint32_t count, uint8_t *columns, void *scratch);

/* The other way round. 0 if it can't be the columns of so many records. Of any bytes: it trusts none of them. */
int columns_restore(const uint8_t *columns, uint64_t bytes, uint32_t count, uint8_t *rows, void *scratch);

#endif
