/*
 * crc32c.c: see crc32c.h.
 *
 * The instruction takes a word or two a cycle but answers after three cycles, so one chain of words leaves most of it
 * idle. Long stretches are therefore summed as three neighbouring stretches at once, which are then joined: the
 * checksum of A followed by n bytes is that of A multiplied by x^8n, modulo the polynomial.
 *
 * A carry-less multiplication does that in a few cycles. And because all three stretches start from zero, with the
 * state so far joined like a fourth, the next three do not wait for the join: the processor works on several at once.
 * Without the multiplication a join is a loop over 32 bits, and only much longer stretches make up for it.
 *
 * What is copied on the way is summed by the multiplication alone, where the processor multiplies 256 bits at once: the
 * instruction of the checksum takes single words, so that the copy would consist of single words too.
 */
#include "system/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define POLYNOMIAL UINT32_C(0x82f63b78)

static inline uint64_t word_at(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, 8);
  return word;
}

/*
 * The word at a place, which also goes to the same place of `to`, if there is one. It is read once: what is copied is
 * what is summed, even if somebody writes to the source meanwhile.
 */
static inline __attribute__((always_inline)) uint64_t take_word(uint8_t *to, const uint8_t *bytes, uint64_t at) {
  uint64_t word = word_at(bytes + at);
  if (to) memcpy(to + at, &word, 8);
  return word;
}

/* One chain of words, for what is too short to be split. Copies, if there is a place to copy to. */
static inline __attribute__((always_inline)) uint64_t take_one(uint64_t state, uint8_t *to, const uint8_t *bytes,
                                                               uint64_t count) {
  uint64_t at = 0;
  for (; count - at >= 8; at += 8) state = weir_crc_u64(state, take_word(to, bytes, at));
  for (; at < count; at++) {
    uint8_t byte = bytes[at];
    if (to) to[at] = byte;
    state = weir_crc_u8(state, byte);
  }
  return state;
}

/* ---- With carry-less multiplication ------------------------------------------------------------------------------ */

/*
 * x^(8n - 33) modulo the polynomial for one, two and three stretches of n bytes, in the reflected order of bits (bit 31
 * is x^0). The product of two reflected numbers lies one bit off, and the instruction multiplies what it is given by
 * x^32: hence the 33.
 */
#define SHORT_SHIFTS UINT64_C(0x9e4addf8), UINT64_C(0x0d3b6092), UINT64_C(0xab7aff2a)
#define LONG_SHIFTS UINT64_C(0xb9e02b86), UINT64_C(0xdd7e3b0c), UINT64_C(0xd7a4825c)
enum { FOLDED_SHORT_BYTES = 64, FOLDED_LONG_BYTES = 256 };

/* The carry-less product of two numbers of 32 bits. In assembly, so that nothing is asked of the compiler's options. */
static inline uint64_t multiply_carryless(uint64_t a, uint64_t b) {
#if defined(__x86_64__)
  __m128i product = _mm_cvtsi64_si128((long long)a), factor = _mm_cvtsi64_si128((long long)b);
  __asm__("pclmulqdq $0, %1, %0" : "+x"(product) : "x"(factor));
  return (uint64_t)_mm_cvtsi128_si64(product);
#else
  uint64_t product;
  __asm__(".arch_extension crypto\n\t"
          "fmov d30, %1\n\tfmov d31, %2\n\t"
          "pmull v30.1q, v30.1d, v31.1d\n\t"
          "fmov %0, d30"
          : "=r"(product)
          : "r"(a), "r"(b)
          : "v30", "v31");
  return product;
#endif
}

/* Fetches, for writing, the lines that are copied to some hundred bytes later: the drainer has dropped them. */
static inline void fetch_lines(const uint8_t *to) {
  enum { AHEAD_BYTES = 1536, LINE_BYTES = 64 };
  for (int i = 0; i < 3; i++) weir_fetch_ahead(to + AHEAD_BYTES + i * LINE_BYTES);
}

/* Takes in three stretches of `stretch` bytes each, side by side. `one` to `three` are the shifts for its length. */
static inline __attribute__((always_inline)) uint64_t fold_three(uint64_t state, uint8_t *to, const uint8_t *bytes,
                                                                 uint64_t stretch, uint64_t one, uint64_t two,
                                                                 uint64_t three) {
  uint64_t first = 0, second = 0, third = 0;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 8
#endif
  for (uint64_t i = 0; i < stretch; i += 8) {
    if (to && i % 64 == 0) fetch_lines(to + 3 * i);
    first = weir_crc_u64(first, take_word(to, bytes, i));
    second = weir_crc_u64(second, take_word(to, bytes, stretch + i));
    third = weir_crc_u64(third, take_word(to, bytes, 2 * stretch + i));
  }
  uint64_t joined = multiply_carryless((uint32_t)state, three) ^ multiply_carryless(first, two) ^
                    multiply_carryless(second, one);
  return weir_crc_u64(0, joined) ^ third;
}

static inline __attribute__((always_inline)) uint64_t take_folded(uint64_t state, uint8_t *to, const uint8_t *bytes,
                                                                  uint64_t count) {
  uint64_t at = 0;
  for (; count - at >= 3 * FOLDED_LONG_BYTES; at += 3 * FOLDED_LONG_BYTES) {
    state = fold_three(state, to ? to + at : NULL, bytes + at, FOLDED_LONG_BYTES, LONG_SHIFTS);
  }
  for (; count - at >= 3 * FOLDED_SHORT_BYTES; at += 3 * FOLDED_SHORT_BYTES) {
    state = fold_three(state, to ? to + at : NULL, bytes + at, FOLDED_SHORT_BYTES, SHORT_SHIFTS);
  }
  return take_one(state, to ? to + at : NULL, bytes + at, count - at);
}

static inline int folds(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("pclmul") != 0;
#else
  return (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
#endif
}

/* ---- With carry-less multiplication of 256 bits ------------------------------------------------------------------ */

#if defined(__x86_64__)

enum { WIDE_BYTES = 32, WIDE_STEP_BYTES = 4 * WIDE_BYTES };
#define WIDE inline __attribute__((always_inline, target("avx2")))

static inline int folds_wide(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

/*
 * x^(8n + 31) and x^(8n - 33) modulo the polynomial: what the first and the last eight of 16 bytes are multiplied by to
 * count as if they stood n bytes later. (The product lies one bit off, and the factor has 32 bits of 64: hence 31 and
 * -33 instead of 64 and 0.)
 */
#define LATER_BY_32 UINT64_C(0x3da6d0cb), UINT64_C(0xba4fc28e)
#define LATER_BY_64 UINT64_C(0x740eef02), UINT64_C(0x9e4addf8)
#define LATER_BY_128 UINT64_C(0x6992cea2), UINT64_C(0x0d3b6092)

static WIDE __m256i shift_by(uint64_t first, uint64_t last) {
  return _mm256_set_epi64x((long long)last, (long long)first, (long long)last, (long long)first);
}

/* `bytes`, moved to where `next` is, and `next`. In assembly, because compilers differ in the options they ask for. */
static WIDE __m256i fold_wide(__m256i bytes, __m256i shift, __m256i next) {
  __m256i first, last;
  __asm__("vpclmulqdq $0x00, %2, %1, %0" : "=x"(first) : "x"(bytes), "x"(shift));
  __asm__("vpclmulqdq $0x11, %2, %1, %0" : "=x"(last) : "x"(bytes), "x"(shift));
  return _mm256_xor_si256(_mm256_xor_si256(first, last), next);
}

static WIDE __m256i copy_wide(uint8_t *to, const uint8_t *from) {
  __m256i bytes = _mm256_loadu_si256((const __m256i *)from);
  __asm__("" : "+x"(bytes)); /* keeps the compiler from reading the source again: see take_word */
  _mm256_storeu_si256((__m256i *)to, bytes);
  return bytes;
}

/* Fetches, for writing, two lines of what is copied later on: the drainer has dropped them. */
static inline void fetch_two_lines(const uint8_t *to) {
  enum { AHEAD_BYTES = 1536, LINE_BYTES = 64 };
  weir_fetch_ahead(to + AHEAD_BYTES);
  weir_fetch_ahead(to + AHEAD_BYTES + LINE_BYTES);
}

/*
 * From WIDE_STEP_BYTES on (Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction,
 * Intel 2009). Four stretches of 32 bytes are moved on by 128 bytes as long as 128 follow, then the first three onto
 * the fourth, and that one onto what follows. In the end it is summed as words. The state so far is part of the first
 * four bytes.
 */
static __attribute__((target("avx2"))) uint64_t take_wide(uint64_t state, uint8_t *to, const uint8_t *from,
                                                          uint64_t count) {
  __m256i before = _mm256_set_epi64x(0, 0, 0, (long long)(uint32_t)state);
  __m256i a = _mm256_xor_si256(copy_wide(to, from), before), b = copy_wide(to + 32, from + 32),
          c = copy_wide(to + 64, from + 64), d = copy_wide(to + 96, from + 96);
  fetch_two_lines(to);
  uint64_t at = WIDE_STEP_BYTES;
  for (__m256i shift = shift_by(LATER_BY_128); count - at >= WIDE_STEP_BYTES; at += WIDE_STEP_BYTES) {
    fetch_two_lines(to + at);
    a = fold_wide(a, shift, copy_wide(to + at, from + at));
    b = fold_wide(b, shift, copy_wide(to + at + 32, from + at + 32));
    c = fold_wide(c, shift, copy_wide(to + at + 64, from + at + 64));
    d = fold_wide(d, shift, copy_wide(to + at + 96, from + at + 96));
  }
  fetch_two_lines(to + at);
  __m256i shift = shift_by(LATER_BY_32);
  b = fold_wide(a, shift, b);
  d = fold_wide(c, shift, d);
  d = fold_wide(b, shift_by(LATER_BY_64), d);
  for (; count - at >= WIDE_BYTES; at += WIDE_BYTES) d = fold_wide(d, shift, copy_wide(to + at, from + at));
  __m128i low = _mm256_castsi256_si128(d), high = _mm256_extracti128_si256(d, 1);
  uint64_t words[] = {(uint64_t)_mm_cvtsi128_si64(low), (uint64_t)_mm_extract_epi64(low, 1),
                      (uint64_t)_mm_cvtsi128_si64(high), (uint64_t)_mm_extract_epi64(high, 1)};
  _mm256_zeroupper(); /* or the caller's next instruction of SSE takes hundreds of cycles; no compiler adds it at -O0 */
  state = 0;
  for (int i = 0; i < 4; i++) state = weir_crc_u64(state, words[i]);
  return take_one(state, to + at, from + at, count - at);
}

#else

enum { WIDE_STEP_BYTES = 128 };

static inline int folds_wide(void) { return 0; }

static uint64_t take_wide(uint64_t state, uint8_t *to, const uint8_t *from, uint64_t count) {
  return take_one(state, to, from, count);
}

#endif

/* ---- Without ----------------------------------------------------------------------------------------------------- */

/* x^(8n) modulo the polynomial for the two lengths of a stretch. */
#define PLAIN_LONG_SHIFT UINT32_C(0x35d73a62)
#define PLAIN_SHORT_SHIFT UINT32_C(0x74c360a4)
enum { PLAIN_LONG_BYTES = 4096, PLAIN_SHORT_BYTES = 512 };

/* The product of two polynomials modulo POLYNOMIAL. */
static uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 31; bit >= 0; bit--) {
    product ^= b & -(a >> bit & 1);
    b = b >> 1 ^ (POLYNOMIAL & -(b & 1));
  }
  return product;
}

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

uint64_t crc_extend_plain(uint64_t state, const void *from, uint64_t count) {
  const uint8_t *bytes = (const uint8_t *)from;
  for (; count >= 3 * PLAIN_LONG_BYTES; count -= 3 * PLAIN_LONG_BYTES, bytes += 3 * PLAIN_LONG_BYTES) {
    state = extend_three(state, bytes, PLAIN_LONG_BYTES, PLAIN_LONG_SHIFT);
  }
  for (; count >= 3 * PLAIN_SHORT_BYTES; count -= 3 * PLAIN_SHORT_BYTES, bytes += 3 * PLAIN_SHORT_BYTES) {
    state = extend_three(state, bytes, PLAIN_SHORT_BYTES, PLAIN_SHORT_SHIFT);
  }
  return take_one(state, NULL, bytes, count);
}

/* x^(8n) modulo the polynomial for n = 1, 2, 4 and so on. */
static const uint32_t shifts[] = {
    0x00800000, 0x00008000, 0x82f63b78, 0x6ea2d55c, 0x18b8ea18, 0x510ac59a, 0xb82be955, 0xb8fdb1e7,
    0x88e56f72, 0x74c360a4, 0xe4172b16, 0x0d65762a, 0x35d73a62, 0x28461564, 0xbf455269, 0xe2ea32dc,
    0xfe7740e6, 0xf946610b, 0x3c204f8f, 0x538586e3, 0x59726915, 0x734d5309, 0xbc1ac763, 0x7d0722cc};

uint32_t crc_shift(uint32_t state, uint64_t count) {
  for (int bit = 0; count > 0; bit++, count >>= 1) {
    if (count & 1) state = multiply(shifts[bit], state);
  }
  return state;
}

/* ---- Either ------------------------------------------------------------------------------------------------------ */

uint64_t crc_extend(uint64_t state, const void *from, uint64_t count) {
  const uint8_t *bytes = (const uint8_t *)from;
  if (count < 3 * FOLDED_SHORT_BYTES) return take_one(state, NULL, bytes, count);
  return folds() ? take_folded(state, NULL, bytes, count) : crc_extend_plain(state, bytes, count);
}

uint64_t crc_copy_narrow(uint8_t *to, const uint8_t *from, uint64_t count, uint64_t state) {
  return folds() ? take_folded(state, to, from, count) : take_one(state, to, from, count);
}

uint64_t weir_copy_long(uint8_t *to, const uint8_t *from, uint64_t count, uint64_t state) {
  if (count >= WIDE_STEP_BYTES && folds_wide()) return take_wide(state, to, from, count);
  return crc_copy_narrow(to, from, count, state);
}

int crc_folds(void) { return folds(); }

int crc_folds_wide(void) { return folds_wide(); }

int crc_available(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}
