/* calibration.c: see calibration.h. */
#include "format/calibration.h"

#include <stddef.h>

#include "system/crc32c.h"

/* Nanoseconds from the calibration's base to `ticks`, as two's complement. */
static uint64_t since_base(const calibration *calibration, uint64_t ticks) {
  __int128 since = (__int128)(int64_t)(ticks - calibration->base_ticks) * calibration->multiplier;
  return (uint64_t)(since >> 32);
}

/* These wrap instead of trapping where a damaged or foreign calibration makes nonsense of it. */
int64_t calibration_time(const calibration *calibration, uint64_t ticks) {
  return (int64_t)((uint64_t)calibration->wall_ns + since_base(calibration, ticks));
}

int64_t calibration_monotonic(const calibration *calibration, uint64_t ticks) {
  if (calibration->multiplier == 0) return INT64_MIN;
  return (int64_t)((uint64_t)calibration->monotonic_ns + since_base(calibration, ticks));
}

calibration_slot calibration_in_slot(const calibration *value, uint32_t sequence) {
  calibration_slot slot = {.value = *value, .sequence = sequence};
  slot.crc = crc32c(&slot, offsetof(calibration_slot, crc));
  return slot;
}
