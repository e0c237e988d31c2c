/* log_start_check.h: whether the file `start` is of the log that it lies in, or of a copy that has lived on. */
#ifndef WEIR_LOG_START_CHECK_H
#define WEIR_LOG_START_CHECK_H

#include "system/names.h"

#include "format/format.h"

/*
 * Whether what it says was removed is of the log in this directory, by the segments that are there: to be asked before
 * anything is unlinked for it. 1, 0, or a negative errno.
 */
int log_start_check_fits(int directory, const log_start_slot *slot);

#endif
