/*
 * log_start.h: the file `start`: where a log begins after retention has removed its oldest segments, and what was in
 * them. The file is on the disk before a segment is unlinked: so a removed segment never counts as missing, and a
 * segment that is still there below the start is a leftover, which the next opening removes.
 */
#ifndef WEIR_LOG_START_H
#define WEIR_LOG_START_H

#include "system/names.h"

#include "format/format.h"

/*
 * Reads the `start` of the log with this id; with 0, of any: 1; 0 if there is none, and then `slot` is all zeros;
 * -EBADMSG if neither slot is good, -ELOOP for what is no plain file, -ESTALE for that of another log, -ENOTSUP for a
 * newer version, or another negative errno.
 */
int log_start_read(int directory, uint64_t log_id, log_start_slot *slot);

/* The problem behind one of the first three errors of log_start_read: `start` counts as absent. Null for others. */
const char *log_start_problem(int error);

#define START_FOREIGN "the file that says what was removed is of another log: what retention removed counts as missing"

/* Writes the next slot over the older one. After 0 it is on the disk. Makes the file if there is none. */
int log_start_write(int directory, log_start_slot *slot);

/*
 * Syncs the slot that was read, and the file's name. Its writer may have been killed before its own sync; unlinking
 * first could let a power cut take both. 0 or a negative errno.
 */
int log_start_confirm(int directory, const log_start_slot *slot);

#endif
