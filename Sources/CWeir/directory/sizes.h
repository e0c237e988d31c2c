/* sizes.h: what a log's files take on the disk, all of them. */
#ifndef WEIR_SIZES_H
#define WEIR_SIZES_H

#include "system/names.h"

#include <stdint.h>
#include <sys/stat.h>

typedef struct log_sizes {
  uint64_t allocated; /* bytes on the disk */
  uint64_t claimed;   /* the same, the ring as if it were there in full: see sizes_of_ring */
} log_sizes;

/*
 * Adds up every file in the log's directory, in quarantine/, and a ring that lies elsewhere. 0 or a negative errno. One
 * status call a file.
 */
int sizes_of_log(int directory, log_sizes *sizes);

/*
 * What a ring's file may take: a lane that is a hole gets its blocks without being asked for them. An overflow lane
 * asks. 0 or a negative errno.
 */
int sizes_of_ring(int directory, const char *name, const struct stat *status, uint64_t *bytes);

#endif
