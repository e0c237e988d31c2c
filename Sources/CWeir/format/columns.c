/* columns.c: see columns.h. Both directions make the same plan, from lengths and types, and differ in the copying. */
#include "format/columns.h"

#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { MOST_GROUPS = 64, OTHERS = MOST_GROUPS, VARIED = 0 };

/* The records of one type. */
typedef struct group {
  uint32_t count;
  uint32_t size;  /* of each record with its header; VARIED: they differ */
  uint32_t first; /* in `order` */
} group;

/* The positions of all records. They are below 2^32: a payload has at most MAX_BLOCK_PAYLOAD_BYTES. */
typedef struct plan {
  uint32_t *at;    /* the position of each record in the rows, and the end of the last */
  uint32_t *order; /* the same positions, group after group */
  uint8_t *member; /* the group of each record */
  uint32_t count;
  uint64_t bytes;
  uint32_t groups;
  struct group group[MOST_GROUPS + 1];
  uint8_t of_type[MAX_TYPES]; /* 1 + the group; 0: not met yet */
} plan;

static void start_plan(plan *plan, uint64_t bytes, uint32_t count, void *scratch) {
  plan->at = (uint32_t *)scratch;
  plan->order = plan->at + count + 1;
  plan->member = (uint8_t *)(plan->order + count);
  plan->count = count;
  plan->bytes = bytes;
  plan->groups = 0;
  memset(plan->group, 0, sizeof plan->group);
  memset(plan->of_type, 0, sizeof plan->of_type);
  plan->at[0] = 0;
}

static uint32_t group_of(plan *plan, uint32_t type) {
  if (type >= MAX_TYPES) return OTHERS;
  if (plan->of_type[type] == 0) {
    uint32_t fresh = plan->groups < MOST_GROUPS ? plan->groups++ : (uint32_t)OTHERS;
    plan->of_type[type] = (uint8_t)(1 + fresh);
  }
  return plan->of_type[type] - 1u;
}

/* Adds the next record to the plan. 0: it runs past the end. */
static inline int add(plan *plan, uint32_t number, uint32_t length, uint32_t word) {
  uint64_t at = plan->at[number], size = record_size(length);
  if (size > plan->bytes - at) return 0;
  uint32_t index = group_of(plan, record_type(word));
  group *group = &plan->group[index];
  if (group->count++ == 0) group->size = (uint32_t)size;
  else if (group->size != size) group->size = VARIED;
  plan->member[number] = (uint8_t)index;
  plan->at[number + 1] = (uint32_t)(at + size);
  return 1;
}

/* Completes the plan after the last record. 0: the records do not fill the payload. */
static int finish_plan(plan *plan) {
  if (plan->at[plan->count] != plan->bytes) return 0;
  uint32_t next[MOST_GROUPS + 1], first = 0;
  plan->group[OTHERS].size = VARIED;
  for (uint32_t i = 0; i <= OTHERS; i++) {
    plan->group[i].first = next[i] = first;
    first += plan->group[i].count;
  }
  for (uint32_t i = 0; i < plan->count; i++) plan->order[next[plan->member[i]]++] = plan->at[i];
  return 1;
}

/* ---- Planes ------------------------------------------------------------------------------------------------------ */

/* Eight words of eight bytes, transposed: byte i of word j becomes byte j of word i. Its own inverse. */
static inline void transpose(uint64_t word[8]) {
  for (int i = 0; i < 8; i += 2) {
    uint64_t swapped = (word[i] >> 8 ^ word[i + 1]) & UINT64_C(0x00ff00ff00ff00ff);
    word[i + 1] ^= swapped;
    word[i] ^= swapped << 8;
  }
  for (int i = 0; i < 8; i += (i & 1) ? 3 : 1) {
    uint64_t swapped = (word[i] >> 16 ^ word[i + 2]) & UINT64_C(0x0000ffff0000ffff);
    word[i + 2] ^= swapped;
    word[i] ^= swapped << 16;
  }
  for (int i = 0; i < 4; i++) {
    uint64_t swapped = (word[i] >> 32 ^ word[i + 4]) & UINT64_C(0x00000000ffffffff);
    word[i + 4] ^= swapped;
    word[i] ^= swapped << 32;
  }
}

/*
 * Sixteen records at a time, a word of each. Every step interleaves the bytes of two registers whose numbers differ in
 * one bit. After as many steps as the numbers have bits, the bytes are transposed.
 */
#if defined(__x86_64__)
/* The last three steps, from `a` to `b`. `a` is used up. */
static inline void interleave(__m128i a[8], __m128i b[8]) {
  for (int k = 0; k < 4; k++) { /* b[4 * h + k] has half h */
    b[k] = _mm_unpacklo_epi8(a[k], a[k + 4]);
    b[4 + k] = _mm_unpackhi_epi8(a[k], a[k + 4]);
  }
  for (int h = 0; h < 8; h += 4) {
    for (int k = 0; k < 2; k++) {
      a[h + k] = _mm_unpacklo_epi8(b[h + k], b[h + k + 2]);
      a[h + 2 + k] = _mm_unpackhi_epi8(b[h + k], b[h + k + 2]);
    }
  }
  for (int h = 0; h < 8; h += 2) {
    b[h] = _mm_unpacklo_epi8(a[h], a[h + 1]);
    b[h + 1] = _mm_unpackhi_epi8(a[h], a[h + 1]);
  }
}

/* Returns the number of records that were copied; the others are left to the caller. */
static inline uint64_t put_sixteens(uint8_t *planes, const uint8_t *rows, const uint32_t *at, uint64_t stride,
                                    uint64_t count) {
  uint64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m128i a[8], b[8];
    for (uint32_t k = 0; k < 8; k++) {
      __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(rows + at[i + k]));
      __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(rows + at[i + k + 8]));
      a[k] = _mm_unpacklo_epi8(low, high);
    }
    interleave(a, b);
    for (uint32_t k = 0; k < 8; k++) _mm_storeu_si128((__m128i *)(void *)(planes + k * stride + i), b[k]);
  }
  return i;
}

static inline uint64_t take_sixteens(const uint8_t *planes, uint8_t *rows, const uint32_t *at, uint64_t stride,
                                     uint64_t count) {
  uint64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m128i a[8], b[8];
    for (uint32_t k = 0; k < 8; k++) a[k] = _mm_loadu_si128((const __m128i *)(const void *)(planes + k * stride + i));
    interleave(a, b);
    for (uint32_t k = 0; k < 8; k++) {
      _mm_storel_epi64((__m128i *)(void *)(rows + at[i + 2 * k]), b[k]);
      _mm_storel_epi64((__m128i *)(void *)(rows + at[i + 2 * k + 1]), _mm_unpackhi_epi64(b[k], b[k]));
    }
  }
  return i;
}
#else
static inline uint64_t put_sixteens(uint8_t *planes, const uint8_t *rows, const uint32_t *at, uint64_t stride,
                                    uint64_t count) {
  (void)planes, (void)rows, (void)at, (void)stride, (void)count;
  return 0;
}

static inline uint64_t take_sixteens(const uint8_t *planes, uint8_t *rows, const uint32_t *at, uint64_t stride,
                                     uint64_t count) {
  (void)planes, (void)rows, (void)at, (void)stride, (void)count;
  return 0;
}
#endif

/* One word of `count` records to its eight planes, which are `stride` bytes apart. */
static void put_word(uint8_t *planes, const uint8_t *rows, const uint32_t *at, uint64_t stride, uint64_t count) {
  uint64_t i = put_sixteens(planes, rows, at, stride, count);
  for (; i + 8 <= count; i += 8) {
    uint64_t word[8];
    for (uint32_t k = 0; k < 8; k++) memcpy(&word[k], rows + at[i + k], 8);
    transpose(word);
    for (uint32_t k = 0; k < 8; k++) memcpy(planes + k * stride + i, &word[k], 8);
  }
  for (; i < count; i++) {
    for (uint32_t k = 0; k < 8; k++) planes[k * stride + i] = rows[at[i] + k];
  }
}

static void take_word(const uint8_t *planes, uint8_t *rows, const uint32_t *at, uint64_t stride, uint64_t count) {
  uint64_t i = take_sixteens(planes, rows, at, stride, count);
  for (; i + 8 <= count; i += 8) {
    uint64_t word[8];
    for (uint32_t k = 0; k < 8; k++) memcpy(&word[k], planes + k * stride + i, 8);
    transpose(word);
    for (uint32_t k = 0; k < 8; k++) memcpy(rows + at[i + k], &word[k], 8);
  }
  for (; i < count; i++) {
    for (uint32_t k = 0; k < 8; k++) rows[at[i] + k] = planes[k * stride + i];
  }
}

/* Records whose words are all copied before the next ones': their rows stay in the nearest cache meanwhile. */
enum { TOGETHER = 256 };

/*
 * Copies bytes [from, from + 8 * words) of `count` records, one plane for each byte. Answers the end of the planes.
 * Goes several records at a time, a word of each: byte by byte takes many times as long.
 */
static uint8_t *put_planes(uint8_t *planes, const uint8_t *rows, const uint32_t *at, uint64_t count, uint32_t from,
                           uint32_t words) {
  for (uint64_t i = 0; i < count; i += TOGETHER) {
    uint64_t some = count - i < TOGETHER ? count - i : (uint64_t)TOGETHER;
    for (uint64_t w = 0; w < words; w++) {
      put_word(planes + 8 * w * count + i, rows + from + 8 * w, at + i, count, some);
    }
  }
  return planes + 8 * count * words;
}

static const uint8_t *take_planes(const uint8_t *planes, uint8_t *rows, const uint32_t *at, uint64_t count,
                                  uint32_t from, uint32_t words) {
  for (uint64_t i = 0; i < count; i += TOGETHER) {
    uint64_t some = count - i < TOGETHER ? count - i : (uint64_t)TOGETHER;
    for (uint64_t w = 0; w < words; w++) {
      take_word(planes + 8 * w * count + i, rows + from + 8 * w, at + i, count, some);
    }
  }
  return planes + 8 * count * words;
}

/* ---- Both ways --------------------------------------------------------------------------------------------------- */

enum { HEADER = sizeof(record_header), HEADER_WORDS = HEADER / 8 };

/* The bytes after the header of the record at `at`, in a group whose records differ in size. */
static inline uint64_t rest_of(const uint8_t *rows, uint32_t at) {
  uint32_t length;
  memcpy(&length, rows + at + offsetof(record_header, length), sizeof length);
  return record_size(length) - HEADER;
}

int columns_permute(const uint8_t *rows, uint64_t bytes, uint32_t count, uint8_t *columns, void *scratch) {
  plan plan;
  start_plan(&plan, bytes, count, scratch);
  for (uint32_t i = 0; i < count; i++) {
    record_header header;
    if (bytes - plan.at[i] < HEADER) return 0;
    memcpy(&header, rows + plan.at[i], HEADER);
    if (!add(&plan, i, header.length, header.type)) return 0;
  }
  if (!finish_plan(&plan)) return 0;
  columns = put_planes(columns, rows, plan.at, count, 0, HEADER_WORDS);
  for (uint32_t i = 0; i <= OTHERS; i++) {
    const group *group = &plan.group[i];
    const uint32_t *at = plan.order + group->first;
    if (group->size != VARIED) {
      columns = put_planes(columns, rows, at, group->count, HEADER, group->size / 8 - HEADER_WORDS);
      continue;
    }
    for (uint32_t k = 0; k < group->count; k++) {
      uint64_t rest = rest_of(rows, at[k]);
      memcpy(columns, rows + at[k] + HEADER, rest);
      columns += rest;
    }
  }
  return 1;
}

/* Copies the four bytes of each header from `from` on, which lie in four planes. */
static inline uint32_t number_in(const uint8_t *planes, uint64_t count, uint64_t from, uint64_t i) {
  const uint8_t *byte = planes + from * count + i;
  return byte[0] | (uint32_t)byte[count] << 8 | (uint32_t)byte[2 * count] << 16 | (uint32_t)byte[3 * count] << 24;
}

int columns_restore(const uint8_t *columns, uint64_t bytes, uint32_t count, uint8_t *rows, void *scratch) {
  plan plan;
  if (bytes > MAX_BLOCK_PAYLOAD_BYTES || count * (uint64_t)HEADER > bytes) return 0;
  start_plan(&plan, bytes, count, scratch);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t length = number_in(columns, count, offsetof(record_header, length), i);
    if (!add(&plan, i, length, number_in(columns, count, offsetof(record_header, type), i))) return 0;
  }
  if (!finish_plan(&plan)) return 0;
  columns = take_planes(columns, rows, plan.at, count, 0, HEADER_WORDS);
  for (uint32_t i = 0; i <= OTHERS; i++) {
    const group *group = &plan.group[i];
    const uint32_t *at = plan.order + group->first;
    if (group->size != VARIED) {
      columns = take_planes(columns, rows, at, group->count, HEADER, group->size / 8 - HEADER_WORDS);
      continue;
    }
    for (uint32_t k = 0; k < group->count; k++) {
      uint64_t rest = rest_of(rows, at[k]);
      memcpy(rows + at[k] + HEADER, columns, rest);
      columns += rest;
    }
  }
  return 1;
}
