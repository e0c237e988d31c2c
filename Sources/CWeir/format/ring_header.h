/* ring_header.h: checks and reads the header of a ring file. */
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
 * The offset after the last one that the ring knows. No checksum covers log_end while the log is open: a value that no
 * opening can have reached is damaged, and is ignored.
 */
static inline uint64_t ring_header_end(const ring_header *header) {
  return header->log_end > header->base_offset && header->log_end <= LAST_FIRST_OFFSET ? header->log_end
                                                                                         : header->base_offset;
}

/* The calibration in force, from the two slots. 0 if neither is good. */
int ring_header_calibration(const ring_header *header, calibration *value);

/*
 * How many lanes of a ring of this boot may hold something, the first ones: all, if the header does not say. After a
 * power cut the header may be older than the lanes.
 */
uint32_t ring_header_lanes(const ring_header *header);

#endif
