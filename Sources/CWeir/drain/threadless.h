/* threadless.h: the work of a log without threads, on the thread that calls. See threadless.c. */
#ifndef WEIR_THREADLESS_H
#define WEIR_THREADLESS_H

#include "system/names.h"

#include "drain/drainer.h"

void threadless_work(drainer *drainer); /* for whoever has the log's work: see callers_work */
void threadless_end(drainer *drainer);  /* in place of drainer_stop: takes the work for good, and drains all there is */

#endif
