/* bytes.h: questions to bytes of any kind. */
#ifndef WEIR_BYTES_H
#define WEIR_BYTES_H

#include <stdint.h>

/* Whether all bytes are zero, as reserved bytes and padding must be. */
static inline int bytes_are_zero(const void *bytes, uint64_t count) {
  const uint8_t *byte = (const uint8_t *)bytes;
  uint8_t any = 0;
  for (uint64_t i = 0; i < count; i++) any |= byte[i];
  return any == 0;
}

#endif
