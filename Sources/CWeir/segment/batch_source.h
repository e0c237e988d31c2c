/*
 * batch_source.h: the content of a batch segment by position. FileFormat.md, Batch segment, has the layout.
 *
 * No number in the file is believed against the rest of the file, and none beyond the caps leads to an allocation: 2
 * GiB of content, 4 MiB an LZ4 block, no more blocks than the file has bytes for. The CRC32C of the segment blocks
 * decides whether content is right, so a guess does no harm: if an LZ4 block's size, the frame's header or the index is
 * damaged, the others are enough.
 *
 * Frames that Weir wrote are read at random: the index, or else the sizes in front of the blocks, say where each block
 * is. Other frames may have linked blocks, blocks that are not full, or no size of their content. These are
 * decompressed once when they are opened, to learn where each block's content is; then they too are read at random.
 *
 * The first bytes, in which the segment's header is, are decompressed without the rest of their block, which few who
 * look at a header need. The header's checksum decides whether they are right.
 *
 * Memory: two spans of 1 MiB for Weir's frames (4 MiB for others), one compressed block, 56 bytes a block; with linked
 * blocks also 64 KiB for each 4 MiB.
 */
#ifndef WEIR_BATCH_SOURCE_H
#define WEIR_BATCH_SOURCE_H

#include "system/names.h"

#include "format/format.h"
#include "segment/source.h"
#include "segment/read_buffer.h"

enum {
  BATCH_MOST_BLOCK_BYTES = 4 << 20, /* of the largest block that a frame can have */
  BATCH_HISTORY_BYTES = 64 << 10,   /* how far linked blocks refer back */
  BATCH_HEAD_BYTES = 8 << 10,       /* of what is decompressed alone at the beginning: more than a segment's header */
  BATCH_CACHED = 2
};

/* The frame's header. */
typedef struct frame_form {
  int right;               /* its checksum is right; if not, these are the values that Weir writes */
  uint32_t header_bytes;
  uint32_t block_bytes;    /* the most content of a block */
  int linked;
  int checksums;           /* each block is followed by one */
  int content_checksum;
  int dictionary;
  uint64_t content_bytes;  /* 0: not stated */
} frame_form;

/* LZ4 blocks that are decompressed together. */
typedef struct batch_span {
  uint64_t position; /* [position, end) of the file */
  uint64_t end;
  uint64_t content;  /* position in the segment */
  uint32_t bytes;    /* of content */
  uint8_t damaged;   /* the blocks can't be decompressed, or have another length */
  uint8_t as_stated; /* one block, of `bytes` as its size says, when it was last decompressed: all but its checksum */
} batch_span;

typedef struct cached_span {
  uint8_t *bytes; /* BATCH_HISTORY_BYTES of the content before, then the span's content */
  uint64_t span;
  uint64_t used;  /* a count of uses at the last use; 0: empty */
} cached_span;

typedef struct batch_source {
  struct file_bytes file; /* compressed */
  uint64_t file_bytes;
  uint64_t content_bytes;
  frame_form form;
  int has_index;
  batch_index index;
  batch_block *entries; /* index.block_count of them */
  uint64_t frame_bytes; /* the frame's length; 0: its end was not found */
  int walked;           /* the blocks' places were compared with the frame */
  batch_span *spans;
  uint64_t span_count, span_room;
  int exact;            /* each span is one block, and all but the last are full */
  uint8_t *histories;   /* with linked blocks: the history of each span */
  read_buffer packed;
  cached_span cache[BATCH_CACHED];
  uint64_t clock;
  int head_given;       /* the content's first bytes were given without the rest of their block */
  int head_doubted;     /* they are decompressed with the rest from now on */
} batch_source;

/* Opens the content of an open file, whatever its bytes are. 0 or a negative errno. */
int batch_source_open(file_bytes file, batch_source **source);
void batch_source_close(batch_source *source);

/* As source_read, source_problem and source_place. */
int64_t batch_source_read(batch_source *source, void *bytes, uint64_t count, uint64_t at);
int batch_source_doubt_head(batch_source *source);
const char *batch_source_problem(const batch_source *source, uint64_t from, uint64_t to);
void batch_source_place(const batch_source *source, uint64_t from, uint64_t to, uint64_t *file_from, uint64_t *file_to);

#endif
