/*
 * overflow_lanes.h: lanes for as long as the drainer stands still. See overflow_lanes.c. The orders are in the table at
 * the top of lane.c.
 */
#ifndef WEIR_OVERFLOW_LANES_H
#define WEIR_OVERFLOW_LANES_H

#include "system/names.h"

#include "capture/intake.h"

/* How many the options ask for: as many as overflow_bytes holds, and a ring may have beside its other lanes. */
uint32_t overflow_lanes_count(const weir_options *options);

/* A capture found its lane half full, or more: looks whether the drainer moves, and has lanes made ready if not. */
void overflow_lanes_watch(intake *intake);

/* A thread has given its overflow lane back, whose memory is not needed any more. */
void overflow_lanes_ring(const intake *intake);

/* Whether the drainer has drained nothing for some time although captures wait for it. The ring must stay mapped. */
int overflow_lanes_wanted(const intake *intake);

/*
 * The prefaulter's: makes lanes ready while the drainer stands still; gives the memory of drained ones back once it
 * goes on. Whether to look again soon.
 */
int overflow_lanes_tend(intake *intake);

#endif
