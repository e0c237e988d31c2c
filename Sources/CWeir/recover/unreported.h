/*
 * unreported.h: the file `recovery`: what recovery has found and reported to nobody yet.
 *
 * A recovery may fail because the disk is full, or be killed: then nobody gets its report, and the segments that it
 * sealed or wrote look like any others. So each recovery stores its counts in this file before it changes what the
 * counts follow from: before it seals a segment, of the dead writer's or of its own. The next recovery begins with
 * those counts, and does not count again what lies below `counted_to`. A recovery that finds no loss writes no file.
 */
#ifndef WEIR_UNREPORTED_H
#define WEIR_UNREPORTED_H

#include "system/names.h"

#include "directory/log_lock.h"
#include "format/format.h"

/* Reads the file of a log: 1; 0 if there is none that is whole and of this log; or a negative errno. */
int unreported_read(const log_lock *held, unreported *found);

/*
 * Stores what was found so far: the counts then have everything below the offset `counted_to`. The file is written as a
 * whole or not at all, and is on the disk. Without a loss nothing is written unless a file was read, or written before.
 * 0 or a negative errno.
 */
int unreported_store(const log_lock *held, unreported *found, uint64_t counted_to);

/* Removes the file, if there is one. 0 or a negative errno. */
int unreported_remove(const log_lock *held);

#endif
