/*
 * bell.h: waking the drainer: a futex, and flags that the drainer sets while it sleeps. Any thread; async-signal-safe.
 */
#ifndef WEIR_BELL_H
#define WEIR_BELL_H

#include "system/names.h"

#include "log/log.h"

void bell_ring(event_log *log);
void bell_wake(event_log *log);    /* if the drainer sleeps */
void bell_end_nap(event_log *log); /* if the drainer waits for its interval to pass */

#endif
