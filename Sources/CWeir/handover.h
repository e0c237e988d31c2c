/*
 * handover.h: up to which position each lane has been handed over, by the word of the log. The log's word wins over a
 * lane's head, because the block is appended before the head moves. Used by recovery and by readers of a dead log, so
 * that both come to the same offsets.
 */
#ifndef WEIR_HANDOVER_H
#define WEIR_HANDOVER_H

#include "scan.h"

typedef struct handover {
  uint64_t opening;                     /* the ring's; blocks and segments of other openings do not count */
  uint64_t position[WEIR_MAX_LANES];
  uint8_t known[WEIR_MAX_LANES];        /* the log says so; else the lane's head is all there is */
  int unsealed;                         /* an unsealed segment of the opening was seen */
  uint64_t log_end;                     /* the offset after the last event of all segments seen */
  uint64_t reported[WEIR_MAX_LANES + 1][WEIR_DROP_REASONS]; /* highest totals in gap records; the last row: lane 65535 */
} handover;

void handover_start(handover *handover, uint64_t opening);

/* Takes in the header of an unsealed segment; call in order of base offset, before its blocks. */
void handover_segment(handover *handover, const segment_scan *scan);

/* Takes in one good block of an unsealed segment. */
void handover_block(handover *handover, const segment_scan *scan);

/*
 * Takes in the last sealed segment: its handed-over positions are a lower bound, its seal tells the log's end. Call
 * first, whether or not there are unsealed ones.
 */
void handover_sealed(handover *handover, const segment_scan *scan);

/*
 * Where draining `lane` has to start, given its head and tail in the ring. With an unsealed segment the log's word
 * counts, even below the head; otherwise the higher of head and log. Never below tail - capacity.
 */
uint64_t handover_from(const handover *handover, uint32_t lane, uint64_t head, uint64_t tail, uint64_t capacity);

#endif
