/* batch_frame.h: where the content of a batch lies. */
#ifndef WEIR_BATCH_FRAME_H
#define WEIR_BATCH_FRAME_H

#include "system/names.h"

#include "segment/batch_source.h"

/*
 * Finds where the content lies, and how much there is. 0 or a negative errno.
 */
int batch_frame_find(batch_source *source);

/*
 * Whether the frame's header and its first block, if that has a checksum, are what was written: 1, 0, or a negative
 * errno. What a changed byte unpacks to can be anything, and no header in it vouches for itself as one in a raw file.
 */
int batch_frame_vouches(const batch_source *source);

/* Takes the places of the blocks from the frame, if it has them otherwise than the index. 1: they have changed. */
int batch_frame_reconsider(batch_source *source);

#endif
