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

/*
 * Whether all is drained that the caller captured, up to the last event in the overflow lane that it holds, whose tail
 * was `entered` when it came. 0 for a closed or detached log, and as long as nothing of the caller is in the lane.
 */
int overflow_is_drained(const weir_lane *producer, uint64_t entered);

/*
 * Room for a record of any size in a lane that the caller marked as busy, or the reason why there is none; for a
 * detached log that is CLOSED too. `may_leave`: OVERFLOW_ELSEWHERE where the capture is to try an overflow lane.
 * `since`: when the capture first found no room, from which on it waits; 0 before that.
 */
enum { OVERFLOW_ELSEWHERE = -1 };
weir_place overflow_find(weir_lane *producer, int may_wait, int may_leave, uint64_t *since);

#endif
