/*
 * lane.h: which lane a capture goes to, and the end of all captures. The table of barriers at the top of lane.c covers
 * overflow.c and detach.c too.
 */
#ifndef WEIR_LANE_H
#define WEIR_LANE_H

#include "system/names.h"

#include "capture/intake.h"

static inline lane *lane_of(weir_lane *producer) { return (lane *)producer; }
static inline intake *intake_of(weir_log *producer) { return (intake *)producer; }

void lane_close_all(intake *intake);    /* no capture begins any more; waits about a second for those in progress */
int lane_all_quiet(intake *intake);     /* after lane_close_all: whether all captures that began before it have ended */
log_state lane_log_state(const intake *intake);
void lane_unreference(intake *intake);
void lane_forget(intake *intake);       /* gives back the calling thread's lane in a closed log; others keep theirs */
void lane_set_up_threads(void);                                  /* call once per process */
void lane_let_threads_go(void);                                  /* threads that end from now on clean nothing up */

/* Call around a host function: captures in it never wait for room, and their refusals are not reported to the host. */
void lane_begin_host_call(void);
void lane_end_host_call(void);

#endif
