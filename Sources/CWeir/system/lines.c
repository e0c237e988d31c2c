/* lines.c: see lines.h. */
#include "system/lines.h"

#if defined(__x86_64__)
#include <cpuid.h>

int lines_can_be_released(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 23); /* clflushopt */
}

void lines_release(const uint8_t *bytes, uint64_t count) {
  enum { CACHE_LINE = 64 };
  const uint8_t *end = (const uint8_t *)((uintptr_t)(bytes + count) & ~(uintptr_t)(CACHE_LINE - 1));
  const uint8_t *line = (const uint8_t *)((uintptr_t)bytes & ~(uintptr_t)(CACHE_LINE - 1));
  for (; line < end; line += CACHE_LINE) {
    __asm__ volatile("clflushopt %0" : : "m"(*line));
  }
}

#else

int lines_can_be_released(void) { return 0; } /* not measured on others */

void lines_release(const uint8_t *bytes, uint64_t count) { (void)bytes, (void)count; }

#endif
