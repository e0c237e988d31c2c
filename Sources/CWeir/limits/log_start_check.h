/* log_start_check.h: whether the file `start` is of the log that it lies in, or of a copy that has lived on. */
#ifndef WEIR_LOG_START_CHECK_H
#define WEIR_LOG_START_CHECK_H

#include "system/names.h"

#include "format/format.h"

/*
 * Whether `start` belongs to this log, by the segments that are there. Ask before anything is unlinked for it. 1, 0, or
 * a negative errno.
 */
int log_start_check_fits(int directory, const log_start_slot *slot);

#endif
