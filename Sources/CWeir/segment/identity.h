/* identity.h: of which log a directory is, and of which segment a file is. */
#ifndef WEIR_IDENTITY_H
#define WEIR_IDENTITY_H

#include "system/names.h"

#include <stdint.h>

/*
 * The log's id: the first that two of its files have, asked in this order: lock, ring, ring.at, start, the segment with
 * the highest base, that with the lowest. If no two agree, the first that one has. So a file of another log has no say.
 * 0: none has any, as in a new log. 0 or a negative errno.
 */
int identity_find(int directory, uint64_t *log_id);

/*
 * Whether what has the name of the batch segment at `base` is somebody else's file, or another segment's than that with
 * this salt: then that file stays as it is, and so does the raw segment. 1; 0, also where there is none; or a negative
 * errno. A file in which nothing is right is taken for somebody's: a batch has its name once all of it is on the disk,
 * so no kill and no power cut leaves such a one.
 */
int identity_is_anothers(int directory, uint64_t base, uint64_t salt);

#endif
