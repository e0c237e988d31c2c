/* crc.c: the checksum alone, as a capture folds it in: an instruction for eight bytes, each waiting for the last. */
#include <string.h>

#include "capture_subjects.h"
#include "weir_capture.h"

uint32_t support_crc32c(const uint8_t *bytes, uint64_t count) {
  uint64_t crc = UINT32_MAX;
  for (; count >= 8; count -= 8, bytes += 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    crc = weir_crc_u64(crc, word);
  }
  for (; count > 0; count--, bytes++) crc = weir_crc_u8(crc, *bytes);
  return ~(uint32_t)crc;
}
