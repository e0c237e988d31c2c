/* xxh32.c: see xxh32.h. After Collet, "xxHash fast digest algorithm", in its 32-bit form. */
#include "system/xxh32.h"

#include <string.h>

#define PRIME_1 UINT32_C(2654435761)
#define PRIME_2 UINT32_C(2246822519)
#define PRIME_3 UINT32_C(3266489917)
#define PRIME_4 UINT32_C(668265263)
#define PRIME_5 UINT32_C(374761393)

static inline uint32_t rotate(uint32_t word, int by) { return word << by | word >> (32 - by); }

/* Words are little-endian, as the processors are. */
static inline uint32_t word_at(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static inline uint32_t take(uint32_t state, const uint8_t *bytes) {
  return rotate(state + word_at(bytes) * PRIME_2, 13) * PRIME_1;
}

uint32_t xxh32(const void *from, uint64_t count) {
  const uint8_t *bytes = (const uint8_t *)from;
  uint64_t left = count;
  uint32_t sum = PRIME_5;
  if (left >= 16) {
    uint32_t a = PRIME_1 + PRIME_2, b = PRIME_2, c = 0, d = 0 - PRIME_1;
    for (; left >= 16; left -= 16, bytes += 16) {
      a = take(a, bytes);
      b = take(b, bytes + 4);
      c = take(c, bytes + 8);
      d = take(d, bytes + 12);
    }
    sum = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  }
  sum += (uint32_t)count;
  for (; left >= 4; left -= 4, bytes += 4) sum = rotate(sum + word_at(bytes) * PRIME_3, 17) * PRIME_4;
  for (; left > 0; left--, bytes++) sum = rotate(sum + *bytes * PRIME_5, 11) * PRIME_1;
  sum = (sum ^ sum >> 15) * PRIME_2;
  sum = (sum ^ sum >> 13) * PRIME_3;
  return sum ^ sum >> 16;
}
