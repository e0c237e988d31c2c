/*
 * batch_builder.h: makes batch segments without the code that writes them in the library: liblz4's frames, and the
 * index as FileFormat.md has it. So a test of reading does not depend on the writing, and can make frames as others do,
 * and lie in any place.
 */
#ifndef WEIR_TESTS_BATCH_BUILDER_H
#define WEIR_TESTS_BATCH_BUILDER_H

#include <lz4frame.h>

#include "check.h"

#include "format/columns.h"
#include "format/format.h"
#include "system/crc32c.h"

/* How a batch is made; all zeros: as Weir does. */
typedef struct batch_form {
  int columns;          /* the payloads of small events in them */
  int level;
  LZ4F_blockSizeID_t block_size; /* 0: 1 MiB */
  int linked;
  int no_block_checksums;
  int content_checksum;
  int no_content_size;
  uint32_t dictionary;  /* its id */
  uint64_t piece_bytes; /* flushed so often: blocks that are not full. 0: only full ones */
  int no_index;
} batch_form;

typedef struct bytes {
  uint8_t *at;
  uint64_t count;
} bytes;

static inline bytes read_bytes(const char *path) {
  struct stat status;
  FILE *file = fopen(path, "rb");
  REQUIRE(file && fstat(fileno(file), &status) == 0);
  bytes read = {malloc((size_t)status.st_size + 1), (uint64_t)status.st_size};
  REQUIRE(read.at && fread(read.at, 1, read.count, file) == read.count);
  fclose(file);
  return read;
}

static inline void write_bytes(const char *path, const bytes *bytes) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fwrite(bytes->at, 1, bytes->count, file) == bytes->count && fclose(file) == 0);
}

/* Puts the payloads of a segment that columns_apply holds for into columns. */
static inline void columnize(uint8_t *segment, uint64_t count) {
  segment_header head;
  if (count < sizeof head) return;
  memcpy(&head, segment, sizeof head);
  uint8_t *columns = malloc(MAX_BLOCK_PAYLOAD_BYTES), *scratch = malloc(columns_scratch_bytes(MAX_BLOCK_PAYLOAD_BYTES));
  REQUIRE(columns && scratch);
  for (uint64_t at = head.header_bytes; at + sizeof(block_header) <= count;) {
    block_header block;
    memcpy(&block, segment + at, sizeof block);
    if (block.magic != BLOCK_MAGIC || block.payload_bytes > MAX_BLOCK_PAYLOAD_BYTES) break;
    if (block.payload_bytes > count - at - sizeof block) break;
    uint8_t *payload = segment + at + sizeof block;
    if (columns_apply(&block) && columns_permute(payload, block.payload_bytes, block.count, columns, scratch)) {
      memcpy(payload, columns, block.payload_bytes);
    }
    at += sizeof block + block.payload_bytes;
  }
  free(columns);
  free(scratch);
}

/* The index over a frame of full blocks of 1 MiB: user data and what goes round it, to `to`. Answers its bytes. */
static inline uint64_t build_index(uint8_t *to, const bytes *segment, const uint8_t *frame, uint64_t frame_bytes,
                                   uint32_t flags) {
  uint32_t count = (uint32_t)((segment->count + BATCH_BLOCK_BYTES - 1) / BATCH_BLOCK_BYTES);
  uint32_t data_bytes = (uint32_t)(sizeof(batch_index) + count * sizeof(batch_block) + sizeof(batch_end));
  segment_header head = {0};
  memcpy(&head, segment->at, segment->count < sizeof head ? segment->count : sizeof head);
  batch_index index = {.magic = BATCH_MAGIC,
                       .major = 1,
                       .flags = flags,
                       .block_bytes = BATCH_BLOCK_BYTES,
                       .salt = head.salt,
                       .log_id = head.log_id,
                       .opening = head.opening,
                       .base_offset = head.base_offset,
                       .content_bytes = segment->count,
                       .frame_bytes = frame_bytes,
                       .block_count = count};
  batch_block *blocks = malloc((count + 1) * sizeof *blocks);
  REQUIRE(blocks);
  uint64_t position = BATCH_FRAME_HEADER_BYTES;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t size;
    blocks[i] = (batch_block){position, BATCH_NO_HEADER, BATCH_NO_HEADER};
    memcpy(&size, frame + position, 4);
    position += 8 + (size & 0x7fffffff);
  }
  for (uint64_t at = head.header_bytes; at + sizeof(block_header) <= segment->count;) {
    block_header block;
    memcpy(&block, segment->at + at, sizeof block);
    if (block.magic != BLOCK_MAGIC) break; /* it may be damaged before it is compressed */
    batch_block *entry = &blocks[at / BATCH_BLOCK_BYTES];
    if (entry->segment_at == BATCH_NO_HEADER) {
      entry->segment_at = at;
      entry->base_offset = block.base_offset;
    }
    if (block.kind == BLOCK_EVENTS) index.events += block.count;
    index.next_offset = block.base_offset + block.count;
    at += sizeof block + block.payload_bytes;
  }
  const uint32_t around[3] = {LZ4_LEGACY_MAGIC, LZ4_SKIPPABLE_MAGIC, data_bytes};
  const batch_end end = {data_bytes, BATCH_MAGIC};
  uint8_t *data = to + sizeof around;
  memcpy(to, around, sizeof around);
  memcpy(data, &index, sizeof index);
  memcpy(data + sizeof index, blocks, count * sizeof *blocks);
  memcpy(data + data_bytes - sizeof end, &end, sizeof end);
  uint32_t crc = crc_end(crc_extend(crc_extend(CRC_START, data, 12), data + 16, data_bytes - 16));
  memcpy(data + 12, &crc, 4);
  free(blocks);
  return sizeof around + data_bytes;
}

/* A batch segment of the raw one whose bytes these are. To be freed. */
static inline bytes build_batch(const bytes *raw, const batch_form *form) {
  bytes segment = {malloc(raw->count + 1), raw->count};
  REQUIRE(segment.at);
  memcpy(segment.at, raw->at, raw->count);
  if (form->columns) columnize(segment.at, segment.count);
  LZ4F_preferences_t preferences;
  memset(&preferences, 0, sizeof preferences);
  preferences.frameInfo.blockSizeID = form->block_size ? form->block_size : LZ4F_max1MB;
  preferences.frameInfo.blockMode = form->linked ? LZ4F_blockLinked : LZ4F_blockIndependent;
  preferences.frameInfo.blockChecksumFlag = form->no_block_checksums ? LZ4F_noBlockChecksum : LZ4F_blockChecksumEnabled;
  preferences.frameInfo.contentChecksumFlag = form->content_checksum ? LZ4F_contentChecksumEnabled : 0;
  preferences.frameInfo.contentSize = form->no_content_size ? 0 : segment.count;
  preferences.frameInfo.dictID = form->dictionary;
  preferences.compressionLevel = form->level;
  preferences.autoFlush = 1;
  LZ4F_cctx *context;
  REQUIRE(!LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)));
  uint64_t piece = form->piece_bytes ? form->piece_bytes : 1 << 20, pieces = segment.count / piece + 2;
  uint64_t room = LZ4F_compressBound(segment.count, &preferences) + pieces * 64 + LZ4F_HEADER_SIZE_MAX;
  room += sizeof(batch_index) + (segment.count / BATCH_BLOCK_BYTES + 2) * sizeof(batch_block) + 64;
  bytes batch = {malloc(room), 0};
  REQUIRE(batch.at);
  batch.count = LZ4F_compressBegin(context, batch.at, room, &preferences);
  REQUIRE(!LZ4F_isError(batch.count));
  for (uint64_t at = 0; at < segment.count; at += piece) {
    uint64_t count = segment.count - at < piece ? segment.count - at : piece;
    uint8_t *to = batch.at + batch.count;
    uint64_t made = LZ4F_compressUpdate(context, to, room - batch.count, segment.at + at, count, NULL);
    REQUIRE(!LZ4F_isError(made));
    batch.count += made;
  }
  uint64_t made = LZ4F_compressEnd(context, batch.at + batch.count, room - batch.count, NULL);
  REQUIRE(!LZ4F_isError(made));
  batch.count += made;
  LZ4F_freeCompressionContext(context);
  if (!form->no_index) {
    uint64_t frame_bytes = batch.count;
    batch.count += build_index(batch.at + frame_bytes, raw, batch.at, frame_bytes, form->columns ? BATCH_COLUMNS : 0);
  }
  free(segment.at);
  return batch;
}

/* The batch's name of a raw sealed segment. Good as long as join's answers. */
static inline const char *batch_path(const char *raw_path) {
  char path[4096];
  snprintf(path, sizeof path, "%s.lz4", raw_path);
  return join("", path) + 1;
}

/* Replaces a raw sealed segment by a batch of it, in the order in which the writer does. */
static inline void make_batch(const char *raw_path, const batch_form *form) {
  char temporary[4096];
  bytes raw = read_bytes(raw_path), batch = build_batch(&raw, form);
  snprintf(temporary, sizeof temporary, "%s.new", raw_path);
  write_bytes(temporary, &batch);
  REQUIRE(rename(temporary, batch_path(raw_path)) == 0);
  REQUIRE(unlink(raw_path) == 0);
  free(raw.at);
  free(batch.at);
}

/* After a change to an index: makes its checksum right again. `frame_bytes`: where what it is in begins. */
static inline void repair_index(bytes *batch, uint64_t frame_bytes) {
  uint8_t *data = batch->at + frame_bytes + BATCH_SKIPPABLE_BYTES;
  uint64_t count = batch->count - frame_bytes - BATCH_SKIPPABLE_BYTES;
  uint32_t crc = crc_end(crc_extend(crc_extend(CRC_START, data, 12), data + 16, count - 16));
  memcpy(data + 12, &crc, 4);
}

#endif
