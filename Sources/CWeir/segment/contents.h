/* contents.h: the statistics of a sealed segment, which `start` keeps when retention removes the segment. */
#ifndef WEIR_CONTENTS_H
#define WEIR_CONTENTS_H

#include "system/names.h"

#include "segment/segment.h"

typedef struct contents {
  int there;     /* 0: somebody removed the segment, or it is not the log's */
  segment_end end;
  uint64_t base_offset;
  uint64_t next_offset;
  uint64_t missing; /* offsets that damage took before the segment was sealed */
  int header_valid;
  uint32_t flags;   /* of the header */
  uint8_t boot_id[16];     /* of the boot in which the events were captured; zeros: not known */
  struct calibration calibration; /* of the seal, or if that is damaged of the last block. Multiplier 0: not known */
  seal_summary summary;
  uint64_t lost; /* events that were not delivered */
} contents;

/*
 * Reads the statistics of the segment at `base`, raw or a batch, from its seal. Reads the blocks if the seal is
 * damaged, or if the offset `delivered` is within the segment. 0 or a negative errno.
 */
int contents_read(int directory, uint64_t log_id, uint64_t base, uint64_t delivered, contents *contents);

#endif
