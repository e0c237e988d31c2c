/* lane_pages.h: a lane's blocks on the disk and its pages in memory, before its first capture. See lane_pages.c. */
#ifndef WEIR_LANE_PAGES_H
#define WEIR_LANE_PAGES_H

#include "system/names.h"

#include "capture/intake.h"

/* Of a lane's records, what is populated before the first capture. The prefaulter populates the rest. */
enum { LANE_FIRST_BYTES = 64 << 10 };

/* After a failure nobody tries again for so long: a full disk may take milliseconds to say that it is. */
enum { LANE_RETRY_NS = 10000000 };

/*
 * Gives the lane its blocks and its first pages, unless it has them. `mine`: the caller holds the lane and captures to
 * it. The caller always holds an overflow lane, whatever `mine` is. For signal handlers too: errno stays. 0 or a
 * negative errno: then nothing of the lane may be stored to, its control page included. -EINVAL: Linux can't populate,
 * and the lane is not the caller's.
 */
int lane_pages_make(intake *intake, lane *lane, int mine);

/* Removes the pages and blocks of an overflow lane that the caller has taken, if all in it is drained. */
void lane_pages_release(intake *intake, lane *lane);

#endif
