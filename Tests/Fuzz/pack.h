/*
 * pack.h: a sealed segment of an archive as a batch segment, so that every change to a segment is one to the content of
 * a batch, too: hostile behind checksums of LZ4 that are right.
 */
#ifndef WEIR_FUZZ_PACK_H
#define WEIR_FUZZ_PACK_H

#include "archive.h"

/* The batch's bytes, to be freed, and their count: of the form that the file's flags say. */
uint8_t *pack_segment(const archived *file, uint64_t *count);

#endif
