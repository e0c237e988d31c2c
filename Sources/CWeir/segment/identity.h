/* identity.h: of which log a directory is, and of which segment a file is. */
#ifndef WEIR_IDENTITY_H
#define WEIR_IDENTITY_H

#include "system/names.h"

#include <stdint.h>

/*
 * Finds the log's id: the first that two of its files agree on, in this order: lock, ring, ring.at, start, the segment
 * with the highest base, the segment with the lowest. If no two agree, the first id of all. So one file of another log
 * does not decide. 0: no file has an id, as in a new log. 0 or a negative errno.
 */
int identity_find(int directory, uint64_t *log_id);

/*
 * Whether the file with the name of the batch segment at `base` is somebody else's, or of another segment than the one
 * with this salt: then that file stays as it is, and so does the raw segment. 1; 0: no, or there is none; or a negative
 * errno. A file without one valid byte counts as somebody else's: a batch gets its name once all of it is on the disk,
 * so no kill and no power cut leaves such a file.
 */
int identity_is_anothers(int directory, uint64_t base, uint64_t salt);

#endif
