/* preparer.h: the segments that come next. */
#ifndef WEIR_PREPARER_H
#define WEIR_PREPARER_H

#include "system/names.h"

#include "log/log.h"

void preparer_make(event_log *log); /* in memory that is zeros; preparer_free undoes it */
void preparer_free(event_log *log);
weir_status preparer_start(event_log *log, weir_error *error);
segment *preparer_take(event_log *log, int *error); /* the next segment, or null: not ready (0) or a negative errno */
void preparer_want(event_log *log);
void preparer_stop(event_log *log);

#endif
