/* calibration.h: how ticks become time. See clock.c for where a calibration comes from. */
#ifndef WEIR_CALIBRATION_H
#define WEIR_CALIBRATION_H

#include "system/names.h"

#include "format/format.h"

/* Wall time of ticks under a calibration; monotonic time, INT64_MIN where the calibration has none. */
int64_t calibration_time(const calibration *calibration, uint64_t ticks);
int64_t calibration_monotonic(const calibration *calibration, uint64_t ticks);

/* The slot of a ring's header that has a calibration, checksum included. */
calibration_slot calibration_in_slot(const calibration *value, uint32_t sequence);

#endif
