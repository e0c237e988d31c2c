/*
 * lane.h: what the files around the lanes share: lane.c (which lane), room.c (a full lane), detach.c (forks and lost
 * pages). The table of barriers at the top of lane.c is that of all three.
 */
#ifndef WEIR_LANE_H
#define WEIR_LANE_H

#include "system/names.h"

#include "log/log.h"

static inline lane *lane_of(weir_lane *producer) { return (lane *)producer; }
static inline event_log *log_of(weir_log *producer) { return (event_log *)producer; }

/* ---- lane.c ---- */
void lane_close_all(event_log *log);    /* no capture begins any more; returns when none is in progress */
int lanes_quiet(event_log *log);        /* after lane_close_all: no capture is in progress that began before it */
log_state lane_log_state(const event_log *log);
void lane_unreference(event_log *log);
void lane_forget(event_log *log);       /* the calling thread's lane in a closed log; others keep theirs to their end */
void lane_set_up_threads(void);                                  /* once a process */
void lane_let_threads_go(void);                                  /* threads that end from now on clean nothing up */

/* Around a function of the host's: captures in it never wait for room, and their refusals are not told of. */
void lane_begin_telling(void);
void lane_end_telling(void);

/* ---- room.c ---- */

/*
 * Room for a record of any size in a lane that the caller marked as busy, or why there is none: CLOSED, also for a log
 * that is detached.
 */
weir_place room_find(weir_lane *producer, int may_wait);

#endif
