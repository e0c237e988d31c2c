/* directory.h: whether a directory holds a log, and whether a writer is alive. */
#ifndef WEIR_DIRECTORY_H
#define WEIR_DIRECTORY_H

#include "system/names.h"

#include "format/format.h"

/*
 * Opens a directory for reading. Sets `*fd`, or fails as weir_reader_open does: also with MISSING if the directory has
 * no lock file, no ring and no segment, and with PLATFORM on a processor without CRC32C instructions.
 */
weir_status directory_open_read(const char *path, int *fd, weir_error *error);

/*
 * Whether a writer ever opened the log in this directory: the lock is the first thing that it makes. A directory of
 * segments alone is a copy of them, which lacks no ring.
 */
int directory_was_opened(int directory);

/* Whether a writer holds the lock: 1, 0, or 0 where there is no lock file. */
int directory_is_live(int directory);

#endif
