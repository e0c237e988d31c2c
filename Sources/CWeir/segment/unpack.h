/* unpack.h: the LZ4 blocks of a batch segment, one at a time. */
#ifndef WEIR_UNPACK_H
#define WEIR_UNPACK_H

#include "system/names.h"

#include "segment/batch_source.h"

/* As read_buffer_get, of the file as it is. */
int64_t unpack_get(batch_source *source, uint64_t position, uint64_t wanted, uint64_t next, const uint8_t **bytes);

/* What became of one LZ4 block. */
typedef struct unpacked {
  uint64_t file_bytes; /* that it takes in the file; 0: there is none, or where it ends is not known */
  uint32_t bytes;      /* of content; of a damaged one, unknown */
  int damaged;
  int as_stated;       /* with `exact`: it has the length and the form that its size says, and is not damaged */
  int end_mark;        /* in its place is the end of the frame */
} unpacked;

/*
 * Decompresses the block at `position` in the file, which ends before `end`, or right there if `exact`, to at most
 * `room` bytes; `history` bytes of what came before it lie before `to`. Of a damaged block
 * `to` gets the bytes before the damage, then zeros. 0 or a negative errno.
 */
int unpack_block(batch_source *source, uint64_t position, uint64_t end, int exact, uint8_t *to, uint32_t room,
                 uint32_t history, unpacked *out);

/*
 * Decompresses the first `bytes` of a block that is exactly [position, end) of the file, and no more of it, so that
 * nothing says whether the rest is right: 1; 0 if the block is not compressed or its size is another, or a negative
 * errno.
 */
int unpack_head(batch_source *source, uint64_t position, uint64_t end, uint8_t *to, uint32_t bytes);

#ifdef WEIR_FAULT_INJECTION
/* Test only: LZ4 blocks decompressed so far in this process. */
uint64_t unpack_count(void);
#endif

#endif
