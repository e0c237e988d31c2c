/* ring.h: the ring file: making, mapping, checking. FileFormat.md is the specification. */
#ifndef WEIR_RING_H
#define WEIR_RING_H

#include "system/names.h"

#include "directory/directory.h"
#include "format/record.h"

/*
 * Checks a ring header read from a file against itself and the file's size, trusting none of it. 0; -ENOTSUP for a
 * newer major version or an unknown incompatible flag; -EBADMSG for anything else that is wrong.
 */
int ring_check_header(const ring_header *header, uint64_t file_bytes);

/*
 * The offset after the last that the ring knows of. No checksum covers log_end while the log is open: one that no
 * opening could have got to is damage, and says nothing.
 */
static inline uint64_t ring_end(const ring_header *header) {
  return header->log_end > header->base_offset && header->log_end <= LAST_FIRST_OFFSET ? header->log_end
                                                                                         : header->base_offset;
}

/* The calibration in force, from the two slots. 0 if neither is good. */
int ring_calibration(const ring_header *header, calibration *value);

/* Wall time of ticks under a calibration; monotonic time, INT64_MIN where the calibration has none. */
int64_t calibration_time(const calibration *calibration, uint64_t ticks);
int64_t calibration_monotonic(const calibration *calibration, uint64_t ticks);

#endif
