/* callers.h: who uses an open log at the moment: a close waits for them. */
#ifndef WEIR_CALLERS_H
#define WEIR_CALLERS_H

#include "system/names.h"

#include "log/log.h"

/* Announces a caller. 0: the log is closed. */
int callers_enter(event_log *log);

/* The same of a caller that only reads the counters in the ring, which a closed log too has until it lets go. */
int callers_enter_counters(event_log *log);

void callers_leave(event_log *log);

/* The error of whoever comes too late. */
weir_status callers_closed(const event_log *log, weir_error *error);

#endif
