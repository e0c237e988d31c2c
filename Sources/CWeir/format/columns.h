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

/* Records that are larger on average are mostly text, which LZ4 compresses better as it is. */
enum { COLUMNS_MOST_RECORD_BYTES = 128 };

/*
 * Whether a batch segment has the payload of a block in columns, which its header alone decides. The header is valid;
 * its count may be forged.
 */
static inline int columns_apply(const block_header *header) {
  uint64_t bytes = header->payload_bytes, count = header->count;
  return header->kind == BLOCK_EVENTS && count * sizeof(record_header) <= bytes &&
         bytes <= count * COLUMNS_MOST_RECORD_BYTES && count > 0;
}

/* Memory that the two below need for a block of `count` records, aligned to 8 bytes. */
static inline uint64_t columns_scratch_bytes(uint64_t count) { return align8(9 * count + 4); }

/*
 * Converts the `bytes` of `rows` to `columns`, which must not overlap. 0: `rows` is not exactly `count` records, and
 * `columns` is not valid. Only if columns_apply says so.
 */
int columns_permute(const uint8_t *rows, uint64_t bytes, uint32_t count, uint8_t *columns, void *scratch);

/* Converts columns to rows. 0: these can't be the columns of `count` records. Takes any bytes, and trusts none. */
int columns_restore(const uint8_t *columns, uint64_t bytes, uint32_t count, uint8_t *rows, void *scratch);

#endif
