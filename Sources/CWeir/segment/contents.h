/* contents.h: what a sealed segment holds: what is to be said of it when retention removes it. */
#ifndef WEIR_CONTENTS_H
#define WEIR_CONTENTS_H

#include "system/names.h"

#include "segment/segment.h"

typedef struct contents {
  int there;     /* 0: somebody removed it, or it is not ours: nothing to say of it */
  segment_end end;
  uint64_t base_offset;
  uint64_t next_offset;
  uint64_t missing; /* of its offsets, those that damage took before it was sealed */
  int header_valid;
  uint32_t flags;   /* of the header */
  uint8_t boot_id[16];     /* of the boot in which its events were captured; zeros: not known */
  calibration calibration; /* of the seal; of the last block where that is damaged. Multiplier 0: not known */
  seal_summary summary;
  uint64_t lost; /* of its events, those that were not delivered */
} contents;

/*
 * Of the segment at `base`, raw or a batch: by its seal; by its blocks where that is damaged, or where what was
 * delivered, all below that offset, ends in it. 0 or a negative errno.
 */
int contents_read(int directory, uint64_t log_id, uint64_t base, uint64_t delivered, contents *contents);

#endif
