/* batch_frame.c: see batch_frame.h. Finds the blocks by the index, by the frame, or by a search. */
#include "segment/batch_frame.h"

#include <errno.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "segment/unpack.h"
#include "system/crc32c.h"

enum { SIZE_BYTES = 4, CHECKSUM_BYTES = 4, LEAST_BLOCK_BYTES = 64 << 10 };
#define MOST_BLOCKS (MAX_SEGMENT_BYTES / LEAST_BLOCK_BYTES)
#define MOST_INDEX_BYTES (sizeof(batch_index) + MOST_BLOCKS * sizeof(batch_block) + sizeof(batch_end))
#define STORED_AS_IT_IS UINT32_C(0x80000000)

/* ---- The frame's header ------------------------------------------------------------------------------------------ */

static const frame_form as_weir_writes = {
    .header_bytes = BATCH_FRAME_HEADER_BYTES, .block_bytes = BATCH_BLOCK_BYTES, .checksums = 1};

static uint32_t most_of_block(LZ4F_blockSizeID_t size) {
  if (size == LZ4F_max64KB) return 64 << 10;
  if (size == LZ4F_max256KB) return 256 << 10;
  return size == LZ4F_max1MB ? 1 << 20 : BATCH_MOST_BLOCK_BYTES;
}

/* 0 or a negative errno. A damaged header is taken for one of Weir's: its blocks then show whether it was. */
static int read_form(batch_source *source) {
  uint8_t bytes[LZ4F_HEADER_SIZE_MAX];
  source->form = as_weir_writes;
  int64_t got = file_bytes_read(&source->file, bytes, sizeof bytes, 0);
  if (got < 0) return (int)got;
  LZ4F_dctx *context;
  LZ4F_frameInfo_t info;
  memset(&info, 0, sizeof info);
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) return -ENOMEM;
  size_t used = (size_t)got;
  int right = got >= LZ4F_HEADER_SIZE_MIN && !LZ4F_isError(LZ4F_getFrameInfo(context, &info, bytes, &used));
  LZ4F_freeDecompressionContext(context);
  if (!right || info.frameType != LZ4F_frame) return 0;
  source->form = (frame_form){.right = 1,
                              .header_bytes = (uint32_t)used,
                              .block_bytes = most_of_block(info.blockSizeID),
                              .linked = info.blockMode == LZ4F_blockLinked,
                              .checksums = info.blockChecksumFlag == LZ4F_blockChecksumEnabled,
                              .content_checksum = info.contentChecksumFlag == LZ4F_contentChecksumEnabled,
                              .dictionary = info.dictID != 0,
                              .content_bytes = info.contentSize};
  return 0;
}

/* The bytes after the last block. */
static uint64_t frame_end_bytes(const frame_form *form) {
  return SIZE_BYTES + (form->content_checksum ? CHECKSUM_BYTES : 0);
}

/* ---- The index --------------------------------------------------------------------------------------------------- */

/* Whether the numbers of an index whose checksum is right can be those of this file. */
static int index_is_possible(const batch_source *source, const batch_index *index, const batch_block *entries,
                             uint64_t frame_bytes) {
  const frame_form *form = &source->form;
  if (index->frame_bytes != frame_bytes || index->block_count == 0) return 0;
  if (index->content_bytes > MAX_SEGMENT_BYTES) return 0;
  if (form->right ? index->block_bytes != form->block_bytes : index->block_bytes < LEAST_BLOCK_BYTES) return 0;
  if (index->block_bytes > BATCH_MOST_BLOCK_BYTES) return 0;
  if ((index->content_bytes + index->block_bytes - 1) / index->block_bytes != index->block_count) return 0;
  if (index->base_offset > MAX_OFFSET || index->next_offset > MAX_OFFSET || index->salt == 0) return 0;
  if (index->next_offset < index->base_offset) return 0;
  if (form->right && (form->linked || (form->content_bytes && form->content_bytes != index->content_bytes))) return 0;
  if (entries[0].position != form->header_bytes) return 0;
  uint64_t trailer = form->checksums ? CHECKSUM_BYTES : 0;
  for (uint32_t i = 0; i < index->block_count; i++) {
    uint64_t end = i + 1 < index->block_count ? entries[i + 1].position : frame_bytes - frame_end_bytes(form);
    uint64_t least = entries[i].position + SIZE_BYTES + 1 + trailer;
    if (end > frame_bytes || end < least || end - least >= index->block_bytes) return 0;
  }
  return 1;
}

/* Takes the index in this user data: 1; 0: it is no valid index; or a negative errno. */
static int take_index(batch_source *source, const uint8_t *data, uint64_t bytes, uint64_t frame_bytes) {
  batch_index index;
  batch_end end;
  uint64_t fixed = sizeof index + sizeof end;
  if (bytes < fixed + sizeof(batch_block) || frame_bytes < SIZE_BYTES + CHECKSUM_BYTES) return 0;
  memcpy(&index, data, sizeof index);
  memcpy(&end, data + bytes - sizeof end, sizeof end);
  if (index.magic != BATCH_MAGIC || end.magic != BATCH_MAGIC || end.index_bytes != bytes) return 0;
  if (index.major != FORMAT_MAJOR) return 0;
  if (bytes - fixed != index.block_count * sizeof(batch_block)) return 0;
  uint64_t state = crc_extend(CRC_START, data, offsetof(batch_index, crc));
  state = crc_extend(state, data + offsetof(batch_index, flags), bytes - offsetof(batch_index, flags));
  if (crc_end(state) != index.crc) return 0;
  if (index.flags & ~(uint32_t)BATCH_COLUMNS) return -ENOTSUP;
  batch_block *entries = (batch_block *)malloc(index.block_count * sizeof *entries);
  if (!entries) return -ENOMEM;
  memcpy(entries, data + sizeof index, index.block_count * sizeof *entries);
  if (!index_is_possible(source, &index, entries, frame_bytes)) {
    free(entries);
    return 0;
  }
  free(source->entries);
  source->entries = entries;
  source->index = index;
  source->has_index = 1;
  source->form.block_bytes = index.block_bytes;
  return 1;
}

/* Reads and takes the user data at [at, at + bytes) of the file, which follow the skippable frame's header. */
static int read_index(batch_source *source, uint64_t at, uint64_t bytes) {
  if (bytes > MOST_INDEX_BYTES || at < BATCH_SKIPPABLE_BYTES) return 0;
  uint8_t *data = (uint8_t *)malloc(bytes + 1);
  if (!data) return -ENOMEM;
  int64_t got = file_bytes_read(&source->file, data, bytes, at);
  int result = got < 0 ? (int)got : 0;
  if (got == (int64_t)bytes) result = take_index(source, data, bytes, at - BATCH_SKIPPABLE_BYTES);
  free(data);
  return result;
}

/* Finds the index by the file's last bytes. */
static int find_index(batch_source *source) {
  batch_end end;
  if (source->file_bytes < sizeof end) return 0;
  int64_t got = file_bytes_read(&source->file, &end, sizeof end, source->file_bytes - sizeof end);
  if (got < 0) return (int)got;
  if (got < (int64_t)sizeof end || end.magic != BATCH_MAGIC || end.index_bytes > source->file_bytes) return 0;
  return read_index(source, source->file_bytes - end.index_bytes, end.index_bytes);
}

/* Finds the index by the end of the frame, because bytes may follow it. */
static int find_index_at(batch_source *source, uint64_t frame_bytes) {
  uint32_t head[3];
  int64_t got = file_bytes_read(&source->file, head, sizeof head, frame_bytes);
  if (got < (int64_t)sizeof head) return got < 0 ? (int)got : 0;
  if (head[0] != LZ4_LEGACY_MAGIC || head[1] != LZ4_SKIPPABLE_MAGIC) return 0;
  return read_index(source, frame_bytes + sizeof head, head[2]);
}

/* ---- Spans ------------------------------------------------------------------------------------------------------- */

static void drop_spans(batch_source *source) {
  free(source->spans);
  free(source->histories);
  source->spans = NULL;
  source->histories = NULL;
  source->span_count = source->span_room = source->content_bytes = 0;
}

/* Appends a span; with linked blocks, with room for its history. 0 or -ENOMEM. */
static int add_span(batch_source *source, uint64_t position, uint64_t end, uint32_t bytes) {
  if (source->span_count == source->span_room) {
    uint64_t room = source->span_room ? source->span_room * 2 : 64;
    batch_span *spans = (batch_span *)realloc(source->spans, room * sizeof *spans);
    if (!spans) return -ENOMEM;
    source->spans = spans;
    source->span_room = room;
    if (source->form.linked) {
      uint8_t *histories = (uint8_t *)realloc(source->histories, room * BATCH_HISTORY_BYTES);
      if (!histories) return -ENOMEM;
      source->histories = histories;
    }
  }
  source->spans[source->span_count++] =
      (batch_span){.position = position, .end = end, .content = source->content_bytes, .bytes = bytes};
  source->content_bytes += bytes;
  return 0;
}

static int spans_by_index(batch_source *source) {
  const batch_index *index = &source->index;
  drop_spans(source);
  source->exact = 1;
  source->frame_bytes = index->frame_bytes;
  for (uint32_t i = 0; i < index->block_count; i++) {
    uint64_t left = index->content_bytes - source->content_bytes;
    uint64_t end = i + 1 < index->block_count ? source->entries[i + 1].position
                                              : index->frame_bytes - frame_end_bytes(&source->form);
    uint32_t bytes = left < index->block_bytes ? (uint32_t)left : index->block_bytes;
    int error = add_span(source, source->entries[i].position, end, bytes);
    if (error != 0) return error;
  }
  return 0;
}

/*
 * Finds the blocks by the sizes in front of them, if all but the last are full: 1 if the sum agrees with the frame's
 * size, or the frame is cut; 0 if every block has to be decompressed; or a negative errno. Sets frame_bytes if the
 * frame's end is there.
 */
static int spans_by_sizes(batch_source *source) {
  const frame_form *form = &source->form;
  uint64_t trailer = form->checksums ? CHECKSUM_BYTES : 0, at = form->header_bytes, most = form->content_bytes;
  drop_spans(source);
  source->exact = 1;
  source->frame_bytes = 0;
  if (!form->right || form->linked || most == 0 || most > MAX_SEGMENT_BYTES) return 0;
  for (;;) {
    const uint8_t *bytes = NULL;
    uint32_t word;
    int64_t got = unpack_get(source, at, SIZE_BYTES, 0, &bytes);
    if (got < 0) return (int)got;
    if (got < SIZE_BYTES) return 1;
    memcpy(&word, bytes, sizeof word);
    uint64_t count = word & ~STORED_AS_IT_IS;
    if (word == 0) break;
    if (source->content_bytes == most) return 0; /* more blocks than the frame's size allows */
    if (count > form->block_bytes || count == 0) return 1;
    uint64_t left = most - source->content_bytes, end = at + SIZE_BYTES + count + trailer;
    int cut = end > source->file_bytes;
    int error = add_span(source, at, cut ? source->file_bytes + trailer : end,
                         (uint32_t)(left < form->block_bytes ? left : form->block_bytes));
    if (error != 0) return error;
    if (cut) return 1;
    at = end;
  }
  if (source->content_bytes != most) return 0;
  source->frame_bytes = at + frame_end_bytes(form);
  return 1;
}

/* ---- Looking through all ----------------------------------------------------------------------------------------- */

/* Copies the last bytes of `history` and then `bytes` to before `block`. Answers how many. */
static uint32_t keep_history(uint8_t *block, uint32_t history, uint32_t bytes) {
  uint64_t all = (uint64_t)history + bytes;
  uint32_t kept = all < BATCH_HISTORY_BYTES ? (uint32_t)all : (uint32_t)BATCH_HISTORY_BYTES;
  memmove(block - kept, block + bytes - kept, kept);
  return kept;
}

/*
 * Decompresses one block after the other to learn how much content each has. A damaged block counts as a full one: if
 * it was, the blocks after it are at their right positions. 0 or a negative errno.
 */
static int look_through(batch_source *source, uint8_t *block) {
  const frame_form *form = &source->form;
  uint64_t at = form->header_bytes;
  uint32_t history = 0;
  unpacked out;
  for (;;) {
    uint32_t most = form->block_bytes;
    int error = unpack_block(source, at, source->file_bytes, 0, block, most, form->linked ? history : 0, &out);
    if (error != 0) return error;
    if (out.file_bytes == 0) break;
    uint64_t left = form->content_bytes > source->content_bytes ? form->content_bytes - source->content_bytes : most;
    uint32_t bytes = !out.damaged ? out.bytes : left < most ? (uint32_t)left : most;
    if (source->content_bytes + bytes > MAX_SEGMENT_BYTES) break;
    batch_span *last = source->span_count > 0 ? &source->spans[source->span_count - 1] : NULL;
    if (last && last->bytes + bytes <= BATCH_MOST_BLOCK_BYTES) {
      last->bytes += bytes;
      last->end = at + out.file_bytes;
      source->content_bytes += bytes;
    } else {
      error = add_span(source, at, at + out.file_bytes, bytes);
      if (error != 0) return error;
      uint8_t *histories = source->histories ? source->histories + source->span_count * BATCH_HISTORY_BYTES : NULL;
      if (histories) memcpy(histories - history, block - history, history);
    }
    history = keep_history(block, history, bytes);
    at += out.file_bytes;
  }
  if (out.end_mark) source->frame_bytes = at + frame_end_bytes(form);
  return 0;
}

static int spans_by_content(batch_source *source) {
  uint8_t *bytes = (uint8_t *)malloc(BATCH_HISTORY_BYTES + (uint64_t)source->form.block_bytes);
  if (!bytes) return -ENOMEM;
  drop_spans(source);
  source->exact = 0;
  source->frame_bytes = 0;
  int error = look_through(source, bytes + BATCH_HISTORY_BYTES);
  free(bytes);
  return error;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int spans_by_frame(batch_source *source) {
  source->walked = 1;
  int result = spans_by_sizes(source);
  return result == 0 ? spans_by_content(source) : result < 0 ? result : 0;
}

/* Whether the index at the frame's end agrees with the frame on the blocks' places. */
static int agrees(const batch_source *source) {
  if (!source->exact || source->span_count != source->index.block_count) return 0;
  for (uint64_t i = 0; i < source->span_count; i++) {
    if (source->spans[i].position != source->entries[i].position) return 0;
  }
  return 1;
}

int batch_frame_find(batch_source *source) {
  int result = read_form(source);
  if (result == 0) result = find_index(source);
  if (result < 0) return result;
  if (result == 1) return spans_by_index(source);
  result = spans_by_frame(source);
  if (result != 0 || source->frame_bytes == 0) return result;
  result = find_index_at(source, source->frame_bytes);
  if (result == 1) source->has_index = agrees(source);
  return result < 0 ? result : 0;
}

/* Has liblz4 check the frame, with every checksum that it has. */
static int first_block_is_right(const batch_source *source, const uint8_t *packed, uint64_t count, uint8_t *content) {
  LZ4F_dctx *context;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) return -ENOMEM;
  uint64_t at = 0;
  int right = 1;
  while (right && at < count) {
    size_t made = source->form.block_bytes, used = count - at;
    size_t result = LZ4F_decompress(context, content, &made, packed + at, &used, NULL);
    right = !LZ4F_isError(result) && (used > 0 || made > 0);
    at += used;
  }
  LZ4F_freeDecompressionContext(context);
  return right;
}

int batch_frame_vouches(const batch_source *source) {
  const frame_form *form = &source->form;
  uint32_t word;
  if (!form->right) return 0;
  int64_t got = file_bytes_read(&source->file, &word, sizeof word, form->header_bytes);
  if (got < (int64_t)sizeof word) return got < 0 ? (int)got : 0;
  uint64_t bytes = word & ~STORED_AS_IT_IS;
  if (bytes == 0 || bytes > form->block_bytes) return 0;
  uint64_t count = form->header_bytes + SIZE_BYTES + bytes + (form->checksums ? CHECKSUM_BYTES : 0);
  uint8_t *packed = (uint8_t *)malloc(count), *content = (uint8_t *)malloc(form->block_bytes);
  int result = packed && content ? 0 : -ENOMEM;
  if (result == 0) {
    got = file_bytes_read(&source->file, packed, count, 0);
    result = got < 0 ? (int)got : got < (int64_t)count ? 0 : first_block_is_right(source, packed, count, content);
  }
  free(packed);
  free(content);
  return result;
}

int batch_frame_reconsider(batch_source *source) {
  if (source->walked) return 0;
  source->walked = 1;
  if (!source->form.right) return 0;
  /* In a copy, so that the index's places stay if the frame has none. */
  batch_source frame = {.file = source->file, .file_bytes = source->file_bytes, .form = source->form};
  int error = spans_by_frame(&frame);
  int other = error == 0 && frame.frame_bytes > 0 && frame.span_count > 0;
  if (other && frame.exact && frame.span_count == source->span_count) {
    other = 0;
    for (uint64_t i = 0; i < frame.span_count; i++) {
      const batch_span *one = &frame.spans[i], *two = &source->spans[i];
      other |= one->position != two->position || one->end != two->end || one->bytes != two->bytes;
    }
  }
  read_buffer_free(&frame.packed);
  if (!other) {
    drop_spans(&frame);
    return error;
  }
  free(source->spans);
  free(source->histories);
  source->spans = frame.spans;
  source->histories = frame.histories;
  source->span_count = frame.span_count;
  source->span_room = frame.span_room;
  source->content_bytes = frame.content_bytes;
  source->exact = frame.exact;
  source->frame_bytes = frame.frame_bytes;
  source->has_index = 0;
  return 1;
}
