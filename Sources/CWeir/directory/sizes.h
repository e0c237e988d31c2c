/* sizes.h: what a log's files take on the disk, all of them. */
#ifndef WEIR_SIZES_H
#define WEIR_SIZES_H

#include "system/names.h"

#include <stdint.h>
#include <sys/stat.h>

/*
 * Adds up the allocated bytes of every file in the log's directory, in quarantine/, and of a ring that lies elsewhere.
 * A ring counts in full. 0 or a negative errno. One status call a file.
 */
int sizes_of_log(int directory, uint64_t *bytes);

/* What a ring's file may take: a lane that is a hole gets its blocks without being asked for them. */
uint64_t sizes_of_ring(const struct stat *status);

#endif
