/* callers.h: counts the callers that use an open log: a close waits for them. */
#ifndef WEIR_CALLERS_H
#define WEIR_CALLERS_H

#include "system/names.h"

#include "log/log.h"

/* Announces a caller. 0: the log is closed. */
int callers_enter(event_log *log);

/* The same for a caller that only reads the ring's counters, which a closed log too has until its ring is released. */
int callers_enter_counters(event_log *log);

void callers_leave(event_log *log);

/* The error for a caller if callers_enter returned 0. */
weir_status callers_closed(const event_log *log, weir_error *error);

#endif
