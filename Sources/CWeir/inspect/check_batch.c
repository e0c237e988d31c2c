/*
 * check_batch.c: checks that every byte of a batch segment's file is as FileFormat.md says. The scan has decompressed
 * each LZ4 block already; where that went as the block's size says, only the block's checksum is left to check. Any
 * other block is put into a frame of its own, so that liblz4 judges the block and a problem has a position. A frame of
 * another form than Weir's is checked as a whole, as `lz4 -t` does.
 */
#include "inspect/check_batch.h"

#include <errno.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "format/columns.h"
#include "inspect/check.h"
#include "inspect/findings.h"
#include "segment/batch_source.h"
#include "system/bytes.h"
#include "system/xxh32.h"

enum { SIZE_BYTES = 4, CHECKSUM_BYTES = 4, END_MARK_BYTES = 4, PIECE_BYTES = 64 << 10 };

static void report(checker *checker, uint64_t position, uint64_t bytes, const char *problem) {
  findings_report(checker, checker->name->name, position, bytes, checker->next_offset, 0, problem);
}

/* ---- While the blocks are gone through --------------------------------------------------------------------------- */

int check_batch_block(checker *checker, const segment_scan *scan) {
  batch_headers *headers = &checker->headers;
  const block_header *block = &scan->block;
  if (!scan->source.batch) return 0;
  const batch_index *index = source_index(&scan->source);
  if (index && scan->in_columns != ((index->flags & BATCH_COLUMNS) && columns_apply(block))) {
    headers->columns_wrong = 1;
  }
  uint64_t in = block->position / BATCH_BLOCK_BYTES;
  while (headers->count <= in) {
    if (headers->count == headers->room) {
      uint64_t room = headers->room ? headers->room * 2 : 64;
      batch_block *grown = (batch_block *)realloc(headers->items, room * sizeof *grown);
      if (!grown) return -ENOMEM;
      headers->items = grown;
      headers->room = room;
    }
    headers->items[headers->count++] = (batch_block){.segment_at = BATCH_NO_HEADER, .base_offset = BATCH_NO_HEADER};
  }
  if (headers->items[in].segment_at != BATCH_NO_HEADER) return 0;
  headers->items[in].segment_at = block->position;
  headers->items[in].base_offset = block->base_offset;
  return 0;
}

/* ---- The frame --------------------------------------------------------------------------------------------------- */

typedef struct unframing {
  struct checker *checker;
  const batch_source *batch;
  LZ4F_cctx *packing; /* only for the headers of frames */
  LZ4F_dctx *context;
  uint8_t *packed;    /* a frame of one block, or a piece of the file */
  uint8_t *content;
} unframing;

/* The header that Weir writes, in LZ4F_HEADER_SIZE_MAX bytes; of `content_bytes` 0, that of a frame without a size. */
static size_t expected_header(const unframing *unframing, uint64_t content_bytes, uint8_t *header) {
  LZ4F_preferences_t form;
  memset(&form, 0, sizeof form);
  form.frameInfo.blockSizeID = LZ4F_max1MB;
  form.frameInfo.blockMode = LZ4F_blockIndependent;
  form.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
  form.frameInfo.contentSize = content_bytes;
  size_t bytes = LZ4F_compressBegin(unframing->packing, header, LZ4F_HEADER_SIZE_MAX, &form);
  return LZ4F_isError(bytes) ? 0 : bytes;
}

/* Whether the block in `size` bytes has the checksum behind it. */
static int checksum_is_right(const uint8_t *block, uint64_t size) {
  uint32_t checksum;
  memcpy(&checksum, block + size - CHECKSUM_BYTES, sizeof checksum);
  return xxh32(block + SIZE_BYTES, size - SIZE_BYTES - CHECKSUM_BYTES) == checksum;
}

/* The problem of one block; null: none, or a negative errno is in `*error`. */
static const char *block_problem(const unframing *unframing, const batch_span *span, int *error) {
  uint64_t size = span->end - span->position;
  uint8_t *packed = unframing->packed;
  size_t at = expected_header(unframing, 0, packed);
  int64_t got = file_bytes_read(&unframing->batch->file, packed + at, size, span->position);
  if (got < 0) *error = (int)got;
  if (got < (int64_t)size) return "the LZ4 frame is cut";
  if (span->as_stated && checksum_is_right(packed + at, size)) return NULL;
  memset(packed + at + size, 0, END_MARK_BYTES);
  size_t made = BATCH_BLOCK_BYTES, used = at + size + END_MARK_BYTES;
  LZ4F_resetDecompressionContext(unframing->context);
  size_t result = LZ4F_decompress(unframing->context, unframing->content, &made, packed, &used, NULL);
  if (LZ4F_isError(result)) return "LZ4 block is damaged, or its checksum does not match";
  if (result != 0 || made != span->bytes) return "LZ4 block holds another number of bytes than it should";
  return NULL;
}

/* Checks the blocks one by one, and the frame around them. 0 or a negative errno. */
static int check_frame(const unframing *unframing) {
  const batch_source *batch = unframing->batch;
  checker *checker = unframing->checker;
  uint8_t wanted[LZ4F_HEADER_SIZE_MAX], header[LZ4F_HEADER_SIZE_MAX] = {0}, mark[END_MARK_BYTES] = {0};
  size_t bytes = expected_header(unframing, batch->content_bytes, wanted);
  int64_t got = file_bytes_read(&batch->file, header, bytes, 0);
  if (got < 0) return (int)got;
  if (memcmp(header, wanted, bytes) != 0) report(checker, 0, bytes, "header of the LZ4 frame is damaged");
  uint64_t at = bytes;
  for (uint64_t i = 0; i < batch->span_count; i++) {
    const batch_span *span = &batch->spans[i];
    int error = 0;
    const char *problem = block_problem(unframing, span, &error);
    if (error != 0) return error;
    if (problem) report(checker, span->position, span->end - span->position, problem);
    at = span->end;
  }
  got = file_bytes_read(&batch->file, mark, sizeof mark, at);
  if (got < 0) return (int)got;
  if (batch->frame_bytes == 0) report(checker, at, 0, "the LZ4 frame is cut");
  else if (got < (int64_t)sizeof mark || !bytes_are_zero(mark, sizeof mark)) {
    report(checker, at, sizeof mark, "end of the LZ4 frame is damaged");
  }
  return 0;
}

/* Checks a frame of another form as a whole, up to its first problem. 0 or a negative errno. */
static int check_stream(const unframing *unframing) {
  const batch_source *batch = unframing->batch;
  checker *checker = unframing->checker;
  uint64_t at = 0, content = 0;
  size_t result = 1;
  LZ4F_resetDecompressionContext(unframing->context);
  while (at < batch->file_bytes && result != 0) {
    int64_t got = file_bytes_read(&batch->file, unframing->packed, PIECE_BYTES, at);
    if (got <= 0) return (int)got;
    for (size_t piece = 0; piece < (size_t)got && result != 0;) {
      size_t made = BATCH_BLOCK_BYTES, used = (size_t)got - piece;
      result = LZ4F_decompress(unframing->context, unframing->content, &made, unframing->packed + piece, &used, NULL);
      content += LZ4F_isError(result) ? 0 : made;
      int stuck = !LZ4F_isError(result) && result != 0 && used == 0 && made == 0;
      if (LZ4F_isError(result) || content > MAX_SEGMENT_BYTES || stuck) {
        report(checker, at + piece, 0, "the LZ4 frame is damaged from about here on");
        return 0;
      }
      piece += used;
      at += used;
    }
  }
  if (result != 0) report(checker, at, 0, "the LZ4 frame is cut");
  else if (at != batch->frame_bytes || at != batch->file_bytes) report(checker, at, 0, "bytes after the LZ4 frame");
  return 0;
}

/* ---- The index --------------------------------------------------------------------------------------------------- */

static int check_places(const checker *checker, const batch_source *batch) {
  const batch_headers *headers = &checker->headers;
  for (uint64_t i = 0; i < batch->index.block_count; i++) {
    const batch_block none = {.segment_at = BATCH_NO_HEADER, .base_offset = BATCH_NO_HEADER};
    const batch_block *wanted = i < headers->count ? &headers->items[i] : &none, *entry = &batch->entries[i];
    if (entry->segment_at != wanted->segment_at || entry->base_offset != wanted->base_offset) return 0;
    if (entry->position != batch->spans[i].position) return 0;
  }
  return 1;
}

/* Compares the index with the content; if the content is damaged, checks the index by itself. */
static void check_index(checker *checker, const segment_scan *scan, uint64_t next_offset) {
  const batch_source *batch = scan->source.batch;
  const batch_index *index = &batch->index;
  uint64_t at = batch->frame_bytes + BATCH_SKIPPABLE_BYTES, bytes = sizeof *index;
  if (index->minor > 0) report(checker, at + offsetof(batch_index, minor), 2, "the index is of a later minor version");
  if (index->reserved != 0) report(checker, at, bytes, "reserved bytes of the index are not zero");
  if (index->block_bytes != BATCH_BLOCK_BYTES) report(checker, at, bytes, "the index has another size of blocks");
  if (checker->damaged || !scan->header_valid) return;
  if (index->next_offset != next_offset || index->events != checker->sums.events) {
    report(checker, at, bytes, "the index's counts are not the segment's");
  }
  if (!check_places(checker, batch)) report(checker, at, bytes, "the index has blocks elsewhere than they are");
  if (checker->headers.columns_wrong) report(checker, at, bytes, "payloads are not in columns as the index says");
}

/* Checks the frames that hold the index. 0 or a negative errno. */
static int check_skippable(checker *checker, const segment_scan *scan, uint64_t next_offset) {
  const batch_source *batch = scan->source.batch;
  uint32_t head[3] = {0};
  if (!batch->has_index) {
    report(checker, batch->frame_bytes, batch->file_bytes - batch->frame_bytes, "the index is damaged or missing");
    return 0;
  }
  int64_t got = file_bytes_read(&batch->file, head, sizeof head, batch->frame_bytes);
  if (got < 0) return (int)got;
  uint64_t bytes = sizeof(batch_index) + batch->index.block_count * sizeof(batch_block) + sizeof(batch_end);
  if (head[0] != LZ4_LEGACY_MAGIC || head[1] != LZ4_SKIPPABLE_MAGIC || head[2] != bytes) {
    report(checker, batch->frame_bytes, sizeof head, "what lies in front of the index is damaged");
  }
  uint64_t end = batch->frame_bytes + sizeof head + bytes;
  if (end < batch->file_bytes) report(checker, end, batch->file_bytes - end, "bytes after the index");
  check_index(checker, scan, next_offset);
  return 0;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int check_file(unframing *unframing, const segment_scan *scan, uint64_t next_offset) {
  const batch_source *batch = unframing->batch;
  const frame_form *form = &batch->form;
  uint64_t most = BATCH_BLOCK_BYTES + LZ4F_HEADER_SIZE_MAX + 4 * END_MARK_BYTES;
  unframing->packed = (uint8_t *)malloc(most);
  unframing->content = (uint8_t *)malloc(BATCH_BLOCK_BYTES);
  if (!unframing->packed || !unframing->content) return -ENOMEM;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&unframing->context, LZ4F_VERSION))) return -ENOMEM;
  if (LZ4F_isError(LZ4F_createCompressionContext(&unframing->packing, LZ4F_VERSION))) return -ENOMEM;
  int ours = batch->exact && !form->linked && form->checksums && form->block_bytes == BATCH_BLOCK_BYTES &&
             !form->content_checksum && !form->dictionary;
  if (!ours) report(unframing->checker, 0, form->header_bytes, "the LZ4 frame is not as Weir writes it");
  int error = ours ? check_frame(unframing) : check_stream(unframing);
  return error == 0 && ours ? check_skippable(unframing->checker, scan, next_offset) : error;
}

int check_batch(checker *checker, const segment_scan *scan, uint64_t next_offset) {
  if (!scan->source.batch) return 0;
  unframing unframing = {.checker = checker, .batch = scan->source.batch};
  int error = check_file(&unframing, scan, next_offset);
  LZ4F_freeDecompressionContext(unframing.context);
  LZ4F_freeCompressionContext(unframing.packing);
  free(unframing.packed);
  free(unframing.content);
  return error;
}
