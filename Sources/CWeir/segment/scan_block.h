/* scan_block.h: whether a block of a segment is good. For scan.c, which goes from one to the next. */
#ifndef WEIR_SCAN_BLOCK_H
#define WEIR_SCAN_BLOCK_H

#include "system/names.h"

#include "segment/scan.h"

/* The checksum that a block header should have. */
uint32_t scan_block_crc(const block_header *header);

/* What is wrong with the fields of a block header whose checksum is right; null if nothing. */
const char *scan_block_field_problem(const segment_scan *scan, const block_header *header, uint64_t position);

/* The same of a header whose checksum may be wrong, too. */
const char *scan_block_header_problem(const segment_scan *scan, const block_header *header, uint64_t position);

/*
 * Reads the block at `position`, its header into `header`. 0, with `*problem` null for a good block, whose payload is
 * then scan->payload; or a negative errno. `*whole_header` tells whether the header at least is right.
 */
int scan_block_read(segment_scan *scan, uint64_t position, block_header *header, const char **problem,
                    int *whole_header);

#endif
