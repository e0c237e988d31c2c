/*
 * batch_source.h: the content of a batch segment by position. FileFormat.md, Batch segment, has the layout.
 *
 * Nothing in the file is believed that the rest of it does not bear out, and nothing is allocated for a number in it
 * that is beyond the caps: 2 GiB of content, 4 MiB an LZ4 block, no more blocks than the file has bytes for. What a
 * block unpacks to is vouched for by the CRC32C of the segment blocks in it, so a guess costs nothing: where an LZ4
 * block's size, the frame's header or the index is damaged, the others are enough.
 *
 * Frames as Weir writes them are read at random: the index, or else the sizes in front of the blocks, say where each
 * is. Of one whose blocks are linked, or hold less than they may, or which does not say how much content there is,
 * everything is decompressed once when it is opened, to learn where what is; then at random too.
 *
 * Memory: two spans of 1 MiB for Weir's frames (4 MiB for others), one block as it is compressed; 56 bytes a block; of
 * linked blocks 64 KiB for each 4 MiB.
 */
#ifndef WEIR_BATCH_SOURCE_H
#define WEIR_BATCH_SOURCE_H

#include "system/names.h"

#include "format/format.h"
#include "segment/source.h"
#include "segment/window.h"

enum {
  BATCH_MOST_BLOCK_BYTES = 4 << 20, /* that a frame can have */
  BATCH_HISTORY_BYTES = 64 << 10,   /* that linked blocks look back */
  BATCH_CACHED = 2
};

/* What the frame's header says. */
typedef struct frame_form {
  int right;               /* there is one, and its checksum is right; otherwise this is what Weir writes */
  uint32_t header_bytes;
  uint32_t block_bytes;    /* of content that a block has at most */
  int linked;
  int checksums;           /* behind the blocks */
  int content_checksum;
  int dictionary;
  uint64_t content_bytes;  /* 0: it does not say */
} frame_form;

/* LZ4 blocks that are decompressed together. */
typedef struct batch_span {
  uint64_t position; /* [position, end) of the file */
  uint64_t end;
  uint64_t content;  /* position in the segment */
  uint32_t bytes;    /* of it */
  uint32_t damaged;  /* they were read, and can't be decompressed, or to another length */
} batch_span;

typedef struct cached_span {
  uint8_t *bytes; /* BATCH_HISTORY_BYTES of what came before, then the content */
  uint64_t span;
  uint64_t used;  /* when: counts up. 0: empty */
} cached_span;

typedef struct batch_source {
  segment_source file; /* as it is */
  uint64_t file_bytes;
  uint64_t content_bytes;
  frame_form form;
  int has_index;
  batch_index index;
  batch_block *entries; /* index.block_count of them */
  uint64_t frame_bytes; /* of the frame; 0: its end was not found */
  int walked;           /* the blocks' places were held against the frame */
  batch_span *spans;
  uint64_t span_count, span_room;
  int exact;            /* a span is one block, all but the last hold as much as they may */
  uint8_t *histories;   /* linked: of each span */
  window packed;
  cached_span cache[BATCH_CACHED];
  uint64_t clock;
} batch_source;

/* For a file that is open: 0 or a negative errno. Whatever the bytes are, they are the content of something. */
int batch_source_open(int fd, batch_source **source);
void batch_source_close(batch_source *source);

/* As source_read, source_problem and source_place. */
int64_t batch_source_read(batch_source *source, void *bytes, uint64_t count, uint64_t at);
const char *batch_source_problem(const batch_source *source, uint64_t from, uint64_t to);
void batch_source_place(const batch_source *source, uint64_t from, uint64_t to, uint64_t *file_from, uint64_t *file_to);

#endif
