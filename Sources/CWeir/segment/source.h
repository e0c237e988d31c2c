/*
 * source.h: the bytes of a segment by their position in it, wherever they lie: in a raw file, or compressed in a batch
 * segment (batch_source.h). Readers of segments use this, so that they need not know which.
 */
#ifndef WEIR_SOURCE_H
#define WEIR_SOURCE_H

#include "system/names.h"

#include "format/format.h"
#include "segment/file_bytes.h"
#include "segment/read_buffer.h"

struct batch_source;

typedef struct segment_source {
  file_bytes file;
  struct batch_source *batch; /* null: a raw file */
} segment_source;

typedef struct source_size {
  uint64_t bytes;      /* of the segment */
  uint64_t file_bytes; /* of the file */
  uint64_t inode;
} source_size;

/* Opens the file; its name's suffix says what it is. 0 or a negative errno: -ENOTSUP for a newer version's index. */
int source_open(segment_source *source, int directory, const char *name);

/* The same for the bytes of a file in memory, which stay there, unchanged, until the source is closed. */
int source_open_memory(segment_source *source, const uint8_t *bytes, uint64_t count, int is_batch);
void source_close(segment_source *source);

/* How large it is now: a raw file that is being written grows. 0 or a negative errno. */
int source_look(const segment_source *source, source_size *size);

/*
 * Reads bytes of the segment: how many there are, fewer only at its end, or a negative errno. Bytes that can't
 * be unpacked read as zeros.
 */
int64_t source_read(const segment_source *source, void *bytes, uint64_t count, uint64_t at);

/* As read_buffer_get, of the segment. */
int64_t source_get(const segment_source *source, read_buffer *buffer, uint64_t position, uint64_t wanted, uint64_t next,
                   const uint8_t **bytes);

/*
 * The fault in the compressed form that explains wrong bytes in [from, to) of the segment; null: there is none.
 */
const char *source_problem(const segment_source *source, uint64_t from, uint64_t to);

/*
 * The segment's first bytes are wrong: whether another read may have others, because these were read in a way that
 * passes over damage which can be mended. Where that is so, they are read in the other way from now on.
 */
int source_doubt_head(segment_source *source);

/*
 * Whether checksums outside the segment confirm its beginning: 1, 0, or a negative errno. 1 for a raw file.
 */
int source_vouches(const segment_source *source);

/* The index of a batch segment; null where there is none, or it is not believed. */
const batch_index *source_index(const segment_source *source);

/* Drops the index: the content contradicts it. */
void source_disown_index(segment_source *source);

/*
 * By the index, the last block header known to lie at or before the one that has `offset`: 1, its position in the
 * segment and its base offset; 0 without one. Check that a header is there.
 */
int source_seek(const segment_source *source, uint64_t offset, uint64_t *position, uint64_t *base);

/* Where the bytes [from, to) of the segment lie in the file: the same of a raw one, whole LZ4 blocks of a batch. */
void source_place(const segment_source *source, uint64_t from, uint64_t to, uint64_t *file_from, uint64_t *file_to);

#endif
