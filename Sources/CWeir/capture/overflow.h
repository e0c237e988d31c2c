/* overflow.h: what a capture does about a full lane. See overflow.c. */
#ifndef WEIR_OVERFLOW_H
#define WEIR_OVERFLOW_H

#include "system/names.h"

#include "capture/lane.h"

/*
 * Room for a record of any size in a lane that the caller marked as busy, or the reason why there is none; for a
 * detached log that is CLOSED too.
 */
weir_place overflow_find(weir_lane *producer, int may_wait);

#endif
