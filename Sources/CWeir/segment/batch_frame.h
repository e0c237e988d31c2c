/* batch_frame.h: where the content of a batch lies. */
#ifndef WEIR_BATCH_FRAME_H
#define WEIR_BATCH_FRAME_H

#include "system/names.h"

#include "segment/batch_source.h"

/* Finds where the content lies, and how many bytes it has. 0 or a negative errno. */
int batch_frame_find(batch_source *source);

/*
 * Whether the frame's header and its first block, if that has a checksum, are what was written: 1, 0, or a negative
 * errno. A changed byte may decompress to anything, so a header in the content is no evidence, as it is in a raw file.
 */
int batch_frame_vouches(const batch_source *source);

/* Takes the blocks' places from the frame if they differ from the index's. 1: they have changed. */
int batch_frame_reconsider(batch_source *source);

#endif
