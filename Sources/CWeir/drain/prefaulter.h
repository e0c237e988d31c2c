/* prefaulter.h: the thread that populates the ring's pages ahead of the producers. */
#ifndef WEIR_PREFAULTER_H
#define WEIR_PREFAULTER_H

#include "system/names.h"

#include "log/log.h"

int prefaulter_start(event_log *log); /* where there is something to populate. 0 or negative errno */
void prefaulter_wake(event_log *log); /* something is being captured. A load; a system call only if it sleeps */
void prefaulter_stop(event_log *log);

#endif
