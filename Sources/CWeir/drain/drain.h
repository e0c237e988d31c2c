/* drain.h: the drainer. */
#ifndef WEIR_DRAIN_H
#define WEIR_DRAIN_H

#include "system/names.h"

#include "log/log.h"

typedef enum drain_result { DRAIN_COMPLETE, DRAIN_STALLED } drain_result;
drain_result drain_all(event_log *log, uint64_t *moved); /* every lane up to its tail now, then the due gap records */
int drain_begin_segment(event_log *log, segment *fresh); /* header and name; 0 or negative errno */
void drain_seal_active(event_log *log);
void *drain_main(void *log);

#endif
