/* supply.h: the segments that come next. */
#ifndef WEIR_SUPPLY_H
#define WEIR_SUPPLY_H

#include "system/names.h"

#include "log/log.h"

void supply_make(event_log *log); /* in memory that is zeros; supply_free undoes it */
void supply_free(event_log *log);
weir_status supply_start(event_log *log, weir_error *error);
segment *supply_take(event_log *log, int *error); /* the next segment, or null: not ready (0) or a negative errno */
void supply_want(event_log *log);
void supply_stop(event_log *log);

#endif
