/* unpack.c: see unpack.h. */
#include "segment/unpack.h"

#include <lz4.h>
#include <string.h>

#ifdef WEIR_FAULT_INJECTION
static uint64_t blocks_unpacked;
uint64_t unpack_count(void) { return __atomic_load_n(&blocks_unpacked, __ATOMIC_RELAXED); }
#define COUNT_UNPACKED() __atomic_fetch_add(&blocks_unpacked, 1, __ATOMIC_RELAXED)
#else
#define COUNT_UNPACKED() ((void)0)
#endif

enum { SIZE_BYTES = 4, CHECKSUM_BYTES = 4 };
#define STORED_AS_IT_IS UINT32_C(0x80000000)

/* Decompresses or copies. The number of bytes, or -1. */
static int expand(const uint8_t *packed, uint32_t count, int stored, uint8_t *to, uint32_t room, uint32_t history) {
  COUNT_UNPACKED();
  if (!stored) {
    return LZ4_decompress_safe_usingDict((const char *)packed, (char *)to, (int)count, (int)room,
                                         (const char *)(to - history), (int)history);
  }
  if (count > room) return -1;
  memcpy(to, packed, count);
  return (int)count;
}

/* The rest of a length whose first four bits are in the token: 1, or 0 if the block ends within the length. */
static int read_length(const uint8_t *packed, uint32_t count, uint64_t *at, uint64_t *length) {
  uint8_t more = 255;
  if (*length < 15) return 1;
  for (; more == 255; *length += more) {
    if (*at >= count) return 0;
    more = packed[(*at)++];
  }
  return 1;
}

/*
 * Makes what an LZ4 block makes up to its damage. liblz4 leaves behind that what it has copied ahead, which depends on
 * its version; here the bytes behind it stay as they are.
 */
static void expand_to_damage(const uint8_t *packed, uint32_t count, uint8_t *to, uint32_t room, uint32_t history) {
  enum { LEAST_MATCH = 4, LAST_LITERALS = 5, MATCH_ROOM = 12, BEHIND_LITERALS = 8 };
  uint64_t at = 0, made = 0;
  while (at < count) {
    uint8_t token = packed[at++];
    uint64_t literals = token >> 4, match = token & 15;
    if (!read_length(packed, count, &at, &literals)) return;
    uint64_t left = count - at;
    int last = made + literals + MATCH_ROOM > room || literals + BEHIND_LITERALS > left;
    if (last && (literals != left || made + literals > room)) return;
    memcpy(to + made, packed + at, literals);
    made += literals;
    at += literals;
    if (last) return;
    uint64_t distance = packed[at] | (uint64_t)packed[at + 1] << 8;
    at += 2;
    if (!read_length(packed, count, &at, &match)) return;
    match += LEAST_MATCH;
    if (distance > made + history || made + match + LAST_LITERALS > room) return;
    /* The offset 0, which only damage makes, leaves zeros: what follows may be whole, in its place. */
    for (uint64_t i = 0; i < match && distance > 0; i++) to[made + i] = to[(int64_t)(made + i) - (int64_t)distance];
    made += match;
  }
}

/* The stored length of the block, and whether it is compressed; 0: no block has such a length. */
static uint32_t packed_size(const batch_source *source, uint32_t word, uint64_t there, int exact, int *stored) {
  uint64_t trailer = source->form.checksums ? CHECKSUM_BYTES : 0, count = word & ~STORED_AS_IT_IS;
  *stored = (word & STORED_AS_IT_IS) != 0;
  if (exact) count = there > SIZE_BYTES + trailer ? there - SIZE_BYTES - trailer : 0;
  if (count > source->form.block_bytes) return 0;
  if (count + SIZE_BYTES + trailer > there) count = there - SIZE_BYTES; /* the file ends within the block */
  return (uint32_t)count;
}

static int64_t read_file(const void *file, void *bytes, uint64_t count, uint64_t at) {
  return file_bytes_read((const file_bytes *)file, bytes, count, at);
}

int64_t unpack_get(batch_source *source, uint64_t position, uint64_t wanted, uint64_t next, const uint8_t **bytes) {
  return read_buffer_get(&source->packed, read_file, &source->file, position, wanted, next, bytes);
}

int unpack_block(batch_source *source, uint64_t position, uint64_t end, int exact, uint8_t *to, uint32_t room,
                 uint32_t history, unpacked *out) {
  const uint8_t *bytes = NULL;
  uint32_t word;
  *out = (unpacked){.damaged = 1};
  if (position > end || end - position < SIZE_BYTES) return 0;
  int64_t got = unpack_get(source, position, SIZE_BYTES, 0, &bytes);
  if (got < SIZE_BYTES) return got < 0 ? (int)got : 0;
  memcpy(&word, bytes, sizeof word);
  out->end_mark = word == 0 && !exact;
  int stored;
  uint32_t count = out->end_mark ? 0 : packed_size(source, word, end - position, exact, &stored);
  if (count == 0) return 0;
  out->file_bytes = SIZE_BYTES + (uint64_t)count + (source->form.checksums ? CHECKSUM_BYTES : 0);
  if (out->file_bytes > end - position) out->file_bytes = end - position;
  uint64_t wanted = SIZE_BYTES + (uint64_t)count;
  got = unpack_get(source, position, wanted, SIZE_BYTES + CHECKSUM_BYTES, &bytes);
  if (got < 0) return (int)got;
  if (got < (int64_t)wanted) return 0;
  const uint8_t *packed = bytes + SIZE_BYTES;
  int made = expand(packed, count, stored, to, room, history);
  out->as_stated = exact && made == (int)room && (word & ~STORED_AS_IT_IS) == count;
  if (exact && made != (int)room) { /* the size may be what is damaged, which also says whether it is compressed */
    int other = expand(packed, count, !stored, to, room, history);
    if (other == (int)room) made = other;
    else made = -1;
  }
  if (made < 0) {
    memset(to, 0, room);
    if (stored) expand(packed, count, stored, to, room, history);
    else expand_to_damage(packed, count, to, room, history);
    return 0;
  }
  out->bytes = (uint32_t)made;
  out->damaged = 0;
  return 0;
}

int unpack_head(batch_source *source, uint64_t position, uint64_t end, uint8_t *to, uint32_t bytes) {
  const uint8_t *packed = NULL;
  uint32_t word;
  uint64_t enough = 2 * (uint64_t)bytes; /* LZ4 makes few bytes more of what it can't compress */
  int64_t got = unpack_get(source, position, SIZE_BYTES + enough, 0, &packed);
  if (got < SIZE_BYTES) return got < 0 ? (int)got : 0;
  memcpy(&word, packed, sizeof word);
  uint64_t trailer = source->form.checksums ? CHECKSUM_BYTES : 0, there = (uint64_t)got - SIZE_BYTES;
  if (word & STORED_AS_IT_IS || word != end - position - SIZE_BYTES - trailer) return 0;
  int count = (int)(there < word ? there : word);
  int made = LZ4_decompress_safe_partial((const char *)packed + SIZE_BYTES, (char *)to, count, (int)bytes, (int)bytes);
  return made == (int)bytes;
}
