/*
 * drained.h: up to which position the log says that each lane was drained. The log wins over a lane's head,
 * because a block is appended before the head moves. Recovery and readers of a dead log both use this, so that they
 * give the same offsets.
 */
#ifndef WEIR_DRAINED_H
#define WEIR_DRAINED_H

#include "system/names.h"

#include "directory/segment_list.h"
#include "format/record.h"
#include "segment/scan.h"

typedef struct drained {
  uint64_t opening;                     /* the ring's; blocks and segments of other openings do not count. 0: no ring */
  uint64_t base_offset;                 /* the ring's: all segments of its opening lie at or above it */
  int rebooted;                         /* the ring is of another boot: see lane_survivors */
  int after_cut;                        /* a recovery after the reboot has already drained part of the ring */
  uint64_t position[WEIR_MAX_LANES];
  uint64_t records[WEIR_MAX_LANES];     /* how many records come before `position`, or RECORDS_UNKNOWN */
  uint64_t missing;                     /* events that the log's blocks skip between them, */
  uint64_t counted_to;                  /* of segments and blocks from this offset on */
  uint8_t known[WEIR_MAX_LANES];        /* the log states `position`; if 0, only the lane's head is known */
  int unsealed;                         /* an unsealed segment of the opening was seen */
  int from_start;                       /* a lane that the log does not mention has drained nothing yet */
  int totals_known;                     /* `reported` has every total of the log; the ring's own are not needed */
  struct calibration calibration;              /* of the last block of the opening; multiplier 0: none was seen */
  uint64_t log_end;                     /* the offset after the last event of all segments seen */
  uint64_t reported[WEIR_MAX_LANES + 1][WEIR_DROP_REASONS]; /* highest totals in gap records; last row: no lane */
} drained;

/* `ring` is the header of the dead writer's ring; null: there is none. */
void drained_start(drained *drained, const ring_header *ring, int rebooted);

/*
 * Whether the segments before this one say nothing more: it is of the ring's opening, or lies before that. Segments of
 * other openings may come after the ring's where somebody put an older ring back.
 */
int drained_settles(const drained *drained, const segment_scan *scan);

/* Takes in the header of an unsealed segment; call in order of base offset, before its blocks. */
void drained_segment(drained *drained, const segment_scan *scan);

/*
 * Whether to ignore an unsealed segment: recovery wrote it, and the ring, which is of another boot by now, has its
 * records still, so its events are drained again. If that recovery was under another boot, too, they get the same
 * offsets; if not, see orphan_forgets. The file may be only partly on the disk, if that recovery was cut off.
 */
int drained_forgets(const drained *drained, const segment_scan *scan);

/* How many records of a lane come before its drained position, or RECORDS_UNKNOWN. */
uint64_t drained_records(const drained *drained, uint32_t lane);

/* Takes in one good block. */
void drained_block(drained *drained, const segment_scan *scan);

/*
 * Takes in the last sealed segment, after scan_seal, or after reading it to its end if it has no good seal. The
 * positions in its header are a lower bound; its end is the log's end so far. Its blocks are read too, because after a
 * power cut the ring may be older than what was sealed. Call first, whether or not there are unsealed segments. 0 or a
 * negative errno.
 */
int drained_sealed(drained *drained, const segment_scan *scan);

/*
 * Does all of this for a directory: drained_start, the last sealed segments back to one that settles the rest, then
 * every later one. 0 or a negative errno. -EAGAIN: a file disappeared meanwhile, so a writer is at work.
 */
int drained_read(drained *drained, int directory, uint64_t log_id, const segment_list *list, const ring_header *ring,
                 int rebooted);

/* Whether a lane's head and tail can be what a writer left there. */
int drained_plausible(uint64_t head, uint64_t tail, uint64_t capacity);

/* What was evicted from an orphaned lane: up to which position, and how many events ever. Zeros if nothing was. */
typedef struct evicted {
  uint64_t to;
  uint64_t total;
} evicted;
evicted drained_evicted(const lane_control *control);

/*
 * The stretch [from, to) of an orphaned lane to drain: records, and holes where no checksum matches. If head and tail
 * are not plausible, only checksums decide. Then the stretch starts at the log's position (or the head), or at the end
 * of an eviction if a record is there. It ends at the tail if that is possible, else where the records stop following
 * one another. The view's bytes are read only in this case, or if the view is `rebooted`. Evicted records are never in
 * the stretch.
 */
void drained_lane(const drained *drained, const lane_view *view, uint32_t lane, const lane_control *control,
                   uint64_t *from, uint64_t *to);

/*
 * How many of the `skipped` records between `from` and `to`, in a lane of another boot, were overwritten by choice:
 * those that the ring counts and the log does not report. Ring and log may be of different ages, so the result is at
 * most `skipped`; 0 if that is RECORDS_UNKNOWN.
 */
uint64_t drained_overwritten(const drained *drained, uint32_t lane, const lane_control *control, uint64_t from,
                              uint64_t to, uint64_t skipped);

/* The first offset that recovery gives, if `ring_end` is the log's end by the ring. */
uint64_t drained_start_offset(const drained *drained, uint64_t ring_end);

/*
 * The position up to which the log accounts for a lane that is drained from `from` on. Records between the two were
 * evicted.
 */
uint64_t drained_accounted(const drained *drained, uint32_t lane, uint64_t from);

/*
 * The calibration for the events left in the ring: the ring's own; if that is damaged, the log's last one; else zeros.
 */
calibration drained_calibration(const drained *drained, const ring_header *ring);

/*
 * The refusals of a lane (WEIR_MAX_LANES: without a lane) that the log reports; `in_ring` is the ring's count of them.
 */
uint64_t drained_reported(const drained *drained, uint32_t lane, int32_t reason, uint64_t in_ring);

#endif
