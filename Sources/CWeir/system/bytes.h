/* bytes.h: questions to bytes of any kind. */
#ifndef WEIR_BYTES_H
#define WEIR_BYTES_H

#include <stdint.h>

/* As reserved ones and padding are. */
static inline int bytes_are_zero(const void *bytes, uint64_t count) {
  const uint8_t *byte = bytes;
  uint8_t any = 0;
  for (uint64_t i = 0; i < count; i++) any |= byte[i];
  return any == 0;
}

#endif
