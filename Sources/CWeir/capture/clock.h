/* clock.h: how a capture takes the time. See calibration.h for what becomes of it. */
#ifndef WEIR_CLOCK_H
#define WEIR_CLOCK_H

#include "system/names.h"

#include "log/log.h"

uint32_t clock_resolve(uint32_t wanted);
void clock_start(event_log *log);
int clock_measure(event_log *log, uint32_t clock); /* sets the log's calibration; 0 if the counter stepped back */
void clock_calibrate(event_log *log); /* measures, and persists in the ring */

#endif
