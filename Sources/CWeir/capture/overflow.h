/* overflow.h: what a capture does about a full lane. See overflow.c. */
#ifndef WEIR_OVERFLOW_H
#define WEIR_OVERFLOW_H

#include "system/names.h"

#include "capture/lane.h"

/*
 * Whether a lane that the caller marked as busy has blocks, which it gets now if this is its first use, and room. Does
 * not wait. 0 for a closed or detached log.
 */
int overflow_is_fit(weir_lane *producer);

/* Whether the log can't grow: what is full stays full. */
int overflow_is_stuck(const intake *intake);

/*
 * Room for a record of any size in a lane that the caller marked as busy, or the reason why there is none; for a
 * detached log that is CLOSED too.
 */
weir_place overflow_find(weir_lane *producer, int may_wait);

#endif
