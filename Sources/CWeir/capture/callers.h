/*
 * callers.h: counts the callers that use an open log: a close waits for them. In a log without threads one of them at a
 * time has the log's work: the lock hands from one to the next what the drainer, the sealer and the preparer own.
 */
#ifndef WEIR_CALLERS_H
#define WEIR_CALLERS_H

#include "system/names.h"

#include "capture/intake.h"

/* Announces a caller. 0: the log is closed. */
int callers_enter(intake *intake);

/* The same for a caller that only reads the ring's counters, which a closed log too has until its ring is released. */
int callers_enter_counters(intake *intake);

void callers_leave(intake *intake);
void callers_await(intake *intake); /* under callers.lock: until all have left */

/*
 * Of a log without threads: does its work, once nobody else does. Not if `deadline` passes before that, or the log is
 * closed. With threads: does nothing.
 */
void callers_work(intake *intake, uint64_t deadline);
void callers_keep_work(intake *intake); /* the same for a close, which does the work itself and never gives it back */

/* The error for a caller if callers_enter returned 0. */
weir_status callers_closed(const intake *intake, weir_error *error);

#endif
