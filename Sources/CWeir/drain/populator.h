/* populator.h: the thread that populates the ring's pages ahead of the producers. */
#ifndef WEIR_POPULATOR_H
#define WEIR_POPULATOR_H

#include "system/names.h"

#include "log/log.h"

int populator_start(event_log *log); /* where there is something to populate. 0 or negative errno */
void populator_wake(event_log *log); /* something is being captured. A load; a system call only if it sleeps */
void populator_stop(event_log *log);

#endif
