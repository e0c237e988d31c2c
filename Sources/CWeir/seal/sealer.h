/* sealer.h: the sealer: full segments to the disk. */
#ifndef WEIR_SEALER_H
#define WEIR_SEALER_H

#include "system/names.h"

#include "log/log.h"

void sealer_make(event_log *log); /* in memory that is zeros; sealer_free undoes it */
void sealer_free(event_log *log);
int sealer_start(event_log *log); /* 0 or negative errno */
int sealer_stop(event_log *log);  /* finishes what is left, as it can. 0, or negative errno of what it could not */
void sealer_change(event_log *log, segment *next); /* makes `next` the active segment; the one before is queued */
uint64_t sealer_waiting(const event_log *log); /* full segments that are not on the disk yet */
int sealer_trouble(const event_log *log);      /* negative errno of the disk while it takes none, 0 */
void sealer_expect(event_log *log);            /* the log has grown: its files' times are to follow, and the disk */
void sealer_drained(event_log *log);           /* a drain request is done with, one way or the other */
void sealer_quarantine(event_log *log, const damaged_lane *lane); /* before it is drained */
void sealer_lose(event_log *log, lane *lane, uint64_t from, uint64_t to); /* before `drained` moves past it */
int sealer_add(event_log *log, sync_wait *wait);  /* 1 if it is settled at once */
sync_result sealer_await(event_log *log, sync_wait *wait, uint64_t deadline_ns); /* not of one with `announce` */

#endif
