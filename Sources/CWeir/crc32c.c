/*
 * crc32c.c: see crc32c.h.
 *
 * The instruction takes one word a cycle but answers after three, so one chain of words leaves two thirds of it idle.
 * Long stretches are therefore summed as three neighbouring stretches at once, which are then joined: the checksum of A
 * followed by n bytes is that of A multiplied by x^8n, modulo the polynomial.
 */
#include "crc32c.h"

#include <string.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* x^(8 n) modulo the polynomial for the two stretch lengths, in the reflected order of bits (bit 31 is x^0). */
enum { LONG_BYTES = 4096, SHORT_BYTES = 512 };
#define LONG_SHIFT UINT32_C(0x35d73a62)
#define SHORT_SHIFT UINT32_C(0x74c360a4)
#define POLYNOMIAL UINT32_C(0x82f63b78)

/* The product of two polynomials modulo POLYNOMIAL. */
static uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 31; bit >= 0; bit--) {
    product ^= b & -(a >> bit & 1);
    b = b >> 1 ^ (POLYNOMIAL & -(b & 1));
  }
  return product;
}

static inline uint64_t word_at(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, 8);
  return word;
}

/* Takes in three stretches of `stretch` bytes each, side by side. */
static inline uint64_t extend_three(uint64_t state, const uint8_t *bytes, uint64_t stretch, uint32_t shift) {
  uint64_t first = state, second = 0, third = 0;
  for (uint64_t i = 0; i < stretch; i += 8) {
    first = weir_crc_u64(first, word_at(bytes + i));
    second = weir_crc_u64(second, word_at(bytes + stretch + i));
    third = weir_crc_u64(third, word_at(bytes + 2 * stretch + i));
  }
  uint32_t joined = multiply(shift, (uint32_t)first) ^ (uint32_t)second;
  return multiply(shift, joined) ^ (uint32_t)third;
}

uint64_t crc_extend(uint64_t state, const void *from, uint64_t count) {
  const uint8_t *bytes = from;
  for (; count >= 3 * LONG_BYTES; count -= 3 * LONG_BYTES, bytes += 3 * LONG_BYTES) {
    state = extend_three(state, bytes, LONG_BYTES, LONG_SHIFT);
  }
  for (; count >= 3 * SHORT_BYTES; count -= 3 * SHORT_BYTES, bytes += 3 * SHORT_BYTES) {
    state = extend_three(state, bytes, SHORT_BYTES, SHORT_SHIFT);
  }
  for (; count >= 8; count -= 8, bytes += 8) state = weir_crc_u64(state, word_at(bytes));
  for (; count > 0; count--, bytes++) state = weir_crc_u8(state, *bytes);
  return state;
}

int crc_available(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}
