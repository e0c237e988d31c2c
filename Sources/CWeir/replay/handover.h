/*
 * handover.h: up to which position each lane has been handed over, by the word of the log. The log's word wins over a
 * lane's head, because the block is appended before the head moves. Used by recovery and by readers of a dead log, so
 * that both come to the same offsets.
 */
#ifndef WEIR_HANDOVER_H
#define WEIR_HANDOVER_H

#include "system/names.h"

#include "directory/directory.h"
#include "format/record.h"
#include "segment/scan.h"

typedef struct handover {
  uint64_t opening;                     /* the ring's; blocks and segments of other openings do not count */
  int rebooted;                         /* the ring is of another boot: see lane_survivors */
  int after_cut;                        /* recovery under this boot id has drained some of it already */
  uint64_t position[WEIR_MAX_LANES];
  uint64_t records[WEIR_MAX_LANES];     /* how many records come before `position`, or RECORDS_UNKNOWN */
  uint64_t missing;                     /* events that the unsealed segments' blocks leave out between them */
  uint8_t known[WEIR_MAX_LANES];        /* the log says so; else the lane's head is all there is */
  int unsealed;                         /* an unsealed segment of the opening was seen */
  int from_start;                       /* what the log does not say of a lane is that nothing was handed over yet */
  int totals_known;                     /* `reported` is all that the log says, whatever the ring does */
  calibration calibration;              /* of the last block of the opening; multiplier 0: none was seen */
  uint64_t log_end;                     /* the offset after the last event of all segments seen */
  uint64_t reported[WEIR_MAX_LANES + 1][WEIR_DROP_REASONS]; /* highest totals in gap records; last: unlaned */
} handover;

void handover_start(handover *handover, uint64_t opening, int rebooted);

/* Takes in the header of an unsealed segment; call in order of base offset, before its blocks. */
void handover_segment(handover *handover, const segment_scan *scan);

/*
 * Whether an unsealed segment is to be forgotten: recovery under another boot id wrote it, from a ring that is as it
 * was, so all that is in it is drained again and is given the same offsets; while of the file only parts may have been
 * on the disk when that recovery was cut off.
 */
int handover_forgets(const handover *handover, const segment_scan *scan);

/* How many records of a lane come before the position that it is handed over to, or RECORDS_UNKNOWN. */
uint64_t handover_records(const handover *handover, uint32_t lane);

/* Takes in one good block of an unsealed segment. */
void handover_block(handover *handover, const segment_scan *scan);

/*
 * Takes in the last sealed segment, after scan_seal, or read to its end where it has no good seal: its positions are
 * a lower bound, its end is the log's so far. Its blocks are read too, because after a power cut the ring may be
 * older than what was sealed. Call first, whether or not there are unsealed ones. 0 or a negative errno.
 */
int handover_sealed(handover *handover, const segment_scan *scan);

/*
 * All of that for a directory: handover_start, the last sealed segment, then every later one. 0 or a negative errno:
 * -EAGAIN if a file went away meanwhile, which says that a writer is at work.
 */
int handover_read(handover *handover, int directory, const segment_list *list, uint64_t opening, int rebooted);

/*
 * Where draining `lane` has to start, given its head and tail in the ring. With an unsealed segment the log's word
 * counts, even below the head, so that what a damaged block held is taken from the lane again if it is still there;
 * otherwise the higher of head and log. Never below tail - capacity.
 */
uint64_t handover_from(const handover *handover, uint32_t lane, uint64_t head, uint64_t tail, uint64_t capacity);

/* Whether a lane's head and tail can be what a writer left there. */
int handover_plausible(uint64_t head, uint64_t tail, uint64_t capacity);

/* What was evicted from a dead lane: up to which position, and how many events ever. Zeros where nothing was. */
typedef struct evicted {
  uint64_t to;
  uint64_t total;
} evicted;
evicted handover_evicted(const lane_control *control);

/*
 * The stretch [from, to) of a dead lane that is to be drained: records, and holes where no checksum vouches for them.
 * Where head and tail are not plausible, records are believed by their checksums alone: on from the log's word (or the
 * head), or from the end of what was evicted if a record is there, up to the tail if that can be true, else as far as
 * they follow on one another. Only then are the view's bytes looked at. What was evicted is never in it.
 */
void handover_lane(const handover *handover, const lane_view *view, uint32_t lane, const lane_control *control,
                   uint64_t *from, uint64_t *to);

/*
 * Of `skipped` records between `from` and `to` (RECORDS_UNKNOWN: nothing is known of them) in a lane of another boot,
 * those that were overwritten by choice, as far as the log does not say so and the ring does: two words that may be of
 * different ages, so never more than there were.
 */
uint64_t handover_overwritten(const handover *handover, uint32_t lane, const lane_control *control, uint64_t from,
                              uint64_t to, uint64_t skipped);

/* The offset at which recovery goes on, given what the ring says of the log's end. */
uint64_t handover_start_offset(const handover *handover, uint64_t ring_end);

/*
 * The position up to which the log accounts for a lane that is to be drained from `from` on; what lies between was
 * evicted.
 */
uint64_t handover_accounted(const handover *handover, uint32_t lane, uint64_t from);

/*
 * The calibration for what is left in the ring: the ring's own, or where that is damaged the log's last one, or
 * zeros.
 */
calibration handover_calibration(const handover *handover, const ring_header *ring);

/* The refusals of a lane (WEIR_MAX_LANES: unlaned) that are in the log, given what the ring says about it. */
uint64_t handover_reported(const handover *handover, uint32_t lane, int32_t reason, uint64_t in_ring);

#endif
