/* drain.h: the drainer. */
#ifndef WEIR_DRAIN_H
#define WEIR_DRAIN_H

#include "system/names.h"

#include "log/log.h"

typedef enum drain_result { DRAIN_COMPLETE, DRAIN_STALLED } drain_result;
drain_result drain_all(event_log *log, uint64_t *moved); /* every lane up to its tail now, then the due gap records */
int drain_begin_segment(event_log *log, segment *fresh, uint32_t flags); /* header and name; 0 or negative errno */
int drain_tail_notice(event_log *log); /* that events may be missing from here on. 0: stalled */
void drain_seal_active(event_log *log);
void *drain_main(void *log);

/* Notes that the log says so many events, or RECORDS_UNKNOWN, were lost in a hole: in its active segment. */
static inline void drain_note_hole(event_log *log, uint64_t events) {
  if (events == RECORDS_UNKNOWN) return;
  log->missing += events;
  log->active->summary.dropped[LOST_IN_HOLES] += events;
}

#endif
