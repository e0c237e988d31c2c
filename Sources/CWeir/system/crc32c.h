/*
 * crc32c.h: CRC32C (Castagnoli, iSCSI: reflected, initial value and final xor of all ones) with the CPU's
 * instruction.
 */
#ifndef WEIR_CRC32C_H
#define WEIR_CRC32C_H

#include "system/names.h"

#include <stdint.h>

#include "weir_capture.h"

/* The running state: start with CRC_START, extend, end with crc_end. */
#define CRC_START UINT32_C(0xffffffff)
static inline uint32_t crc_end(uint64_t state) { return ~(uint32_t)state; }
uint64_t crc_extend(uint64_t state, const void *from, uint64_t count);

/* The same for bytes that are few most of the time: without a call then. */
static inline uint64_t crc_extend_inline(uint64_t state, const void *from, uint64_t count) {
  enum { FEW = 192 };
  const uint8_t *bytes = (const uint8_t *)from;
  if (count >= FEW) return crc_extend(state, bytes, count);
  for (; count >= 8; count -= 8, bytes += 8) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    state = weir_crc_u64(state, word);
  }
  for (; count > 0; count--, bytes++) state = weir_crc_u8(state, *bytes);
  return state;
}

/* The same for a processor that has no carry-less multiplication: half as fast on long stretches. */
uint64_t crc_extend_plain(uint64_t state, const void *bytes, uint64_t count);

/* weir_copy_long for a processor that does not multiply 256 bits at once. */
uint64_t crc_copy_narrow(uint8_t *to, const uint8_t *from, uint64_t count, uint64_t state);

/*
 * The state after `count` bytes of zeros, fewer than 16 MiB. The state after some bytes is crc_shift(state, count) ^
 * (the state that the same bytes make of 0). So the checksum of a stretch follows from two states of the whole.
 */
uint32_t crc_shift(uint32_t state, uint64_t count);

/* The checksum of one stretch of bytes. */
static inline uint32_t crc32c(const void *bytes, uint64_t count) {
  return crc_end(crc_extend(CRC_START, bytes, count));
}

/* Whether this processor has the instruction. */
int crc_available(void);

/* Whether it has carry-less multiplication too, so that crc_extend does not come down to crc_extend_plain. */
int crc_folds(void);

/* Whether it multiplies 256 bits at once, so that weir_copy_long does not come down to crc_copy_narrow. */
int crc_folds_wide(void);

#endif
