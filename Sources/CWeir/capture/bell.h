/*
 * bell.h: waking the drainer: a futex, and flags that the drainer sets while it sleeps. Any thread; async-signal-safe.
 */
#ifndef WEIR_BELL_H
#define WEIR_BELL_H

#include "system/names.h"

#include "capture/intake.h"

void bell_ring(intake *intake);
void bell_wake(intake *intake);    /* if the drainer sleeps */
void bell_end_nap(intake *intake); /* if the drainer waits for its interval to pass */

#endif
