/* structure_batch.c: see structure_batch.h. */
#include "structure_batch.h"

#include <string.h>

#include "format/format.h"
#include "system/crc32c.h"

enum { HASHED_FROM = 4, HASH_AT = BATCH_FRAME_HEADER_BYTES - 1, WORD = 4 };

/* ---- XXH32, which liblz4 has for itself -------------------------------------------------------------------------- */

#define PRIME1 UINT32_C(0x9e3779b1)
#define PRIME2 UINT32_C(0x85ebca77)
#define PRIME3 UINT32_C(0xc2b2ae3d)
#define PRIME4 UINT32_C(0x27d4eb2f)
#define PRIME5 UINT32_C(0x165667b1)

static uint32_t rotate(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

static uint32_t word_at(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static uint32_t xxh32(const uint8_t *bytes, uint64_t count) {
  const uint8_t *end = bytes + count;
  uint32_t hash = PRIME5;
  if (count >= 16) {
    uint32_t lanes[4] = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1};
    for (; end - bytes >= 16; bytes += 16) {
      for (int i = 0; i < 4; i++) lanes[i] = rotate(lanes[i] + word_at(bytes + 4 * i) * PRIME2, 13) * PRIME1;
    }
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
  }
  hash += (uint32_t)count;
  for (; end - bytes >= 4; bytes += 4) hash = rotate(hash + word_at(bytes) * PRIME3, 17) * PRIME4;
  for (; bytes < end; bytes++) hash = rotate(hash + *bytes * PRIME5, 11) * PRIME1;
  hash = (hash ^ hash >> 15) * PRIME2;
  hash = (hash ^ hash >> 13) * PRIME3;
  return hash ^ hash >> 16;
}

/* ---- Where what is ----------------------------------------------------------------------------------------------- */

static void add(parts *found, part_kind kind, uint64_t at, uint64_t bytes) {
  if (found->count < MAX_PARTS) found->items[found->count++] = (part){kind, (uint32_t)at, (uint32_t)bytes};
}

/* The block at `at` of a frame as Weir writes it: where it ends, or 0 if there is none that does. */
static uint64_t block_end(const archived *file, uint64_t at) {
  if (file->bytes < 2 * WORD || at > file->bytes - 2 * WORD) return 0;
  uint64_t size = word_at(file->data + at) & 0x7fffffff, rest = file->bytes - at - 2 * WORD;
  return size > 0 && size <= rest ? at + 2 * WORD + size : 0;
}

/* The user data of the index: where they begin, or 0. */
static uint64_t index_at(const archived *file) {
  batch_end end;
  if (file->bytes < sizeof end) return 0;
  memcpy(&end, file->data + file->bytes - sizeof end, sizeof end);
  uint64_t least = sizeof(batch_index) + sizeof end;
  return end.index_bytes >= least && end.index_bytes < file->bytes ? file->bytes - end.index_bytes : 0;
}

void find_in_batch(const archived *file, parts *found) {
  if (file->bytes < BATCH_FRAME_HEADER_BYTES) return;
  add(found, PART_FRAME, 0, BATCH_FRAME_HEADER_BYTES);
  for (uint64_t at = BATCH_FRAME_HEADER_BYTES, end; (end = block_end(file, at)) > 0; at = end) {
    add(found, PART_LZ4_BLOCK, at, end - at);
  }
  uint64_t at = index_at(file), entries = at + sizeof(batch_index), last = file->bytes - sizeof(batch_end);
  if (at == 0) return;
  add(found, PART_INDEX, at, sizeof(batch_index));
  for (; entries + sizeof(batch_block) <= last; entries += sizeof(batch_block)) {
    add(found, PART_INDEX_BLOCK, entries, sizeof(batch_block));
  }
  add(found, PART_INDEX_END, last, sizeof(batch_end));
}

void repair_batch(archived *file) {
  if (file->bytes < BATCH_FRAME_HEADER_BYTES) return;
  file->data[HASH_AT] = (uint8_t)(xxh32(file->data + HASHED_FROM, HASH_AT - HASHED_FROM) >> 8);
  for (uint64_t at = BATCH_FRAME_HEADER_BYTES, end; (end = block_end(file, at)) > 0; at = end) {
    uint32_t checksum = xxh32(file->data + at + WORD, end - at - 2 * WORD);
    memcpy(file->data + end - WORD, &checksum, sizeof checksum);
  }
  uint64_t at = index_at(file), bytes = file->bytes - at;
  if (at == 0) return;
  uint64_t state = crc_extend(CRC_START, file->data + at, offsetof(batch_index, crc));
  uint32_t crc = crc_end(crc_extend(state, file->data + at + 16, bytes - 16));
  memcpy(file->data + at + offsetof(batch_index, crc), &crc, sizeof crc);
}
