/* clock.h: how a capture takes the time. See calibration.h for what becomes of it. */
#ifndef WEIR_CLOCK_H
#define WEIR_CLOCK_H

#include "system/names.h"

#include "format/format.h"

/* A clock, and what its ticks are worth. The drainer's. */
typedef struct event_clock {
  struct calibration calibration; /* in force */
  uint64_t measure_at;     /* monotonic: when to measure again */
  uint64_t start_ticks, start_ns; /* both clocks, when the opening began */
  int64_t time_offset;     /* this process's monotonic clock less the machine's */
} event_clock;

uint32_t clock_resolve(uint32_t wanted);
void clock_start(event_clock *clock, uint32_t wanted);
int clock_measure(event_clock *clock, uint32_t source); /* sets the calibration; 0 if the counter stepped back */
void clock_calibrate(event_clock *clock, ring_header *header); /* measures, and persists in the ring */

#endif
