/* ring_header.h: what the header of a ring file says, and whether it is to be believed. */
#ifndef WEIR_RING_HEADER_H
#define WEIR_RING_HEADER_H

#include "system/names.h"

#include "format/format.h"

/*
 * Checks a ring header read from a file against itself and the file's size, trusting none of it. 0; -ENOTSUP for a
 * newer major version or an unknown incompatible flag; -EBADMSG for anything else that is wrong.
 */
int ring_header_check(const ring_header *header, uint64_t file_bytes);

/*
 * The offset after the last that the ring knows of. No checksum covers log_end while the log is open: one that no
 * opening could have got to is damage, and says nothing.
 */
static inline uint64_t ring_header_end(const ring_header *header) {
  return header->log_end > header->base_offset && header->log_end <= LAST_FIRST_OFFSET ? header->log_end
                                                                                         : header->base_offset;
}

/* The calibration in force, from the two slots. 0 if neither is good. */
int ring_header_calibration(const ring_header *header, calibration *value);

#endif
