/* ring.h: making the ring, mapping it, and retiring it. */
#ifndef WEIR_RING_H
#define WEIR_RING_H

#include "system/names.h"

#include "capture/intake.h"

/*
 * The result of a completed recovery for the ring that it found: everything in the ring is in synced segments, or
 * nothing in it can be recovered. Without this result no ring is replaced.
 */
typedef struct spent_ring {
  int certain;      /* recovery completed: the ring may be replaced */
  uint64_t opening; /* of the ring that recovery drained; 0: no ring is left */
} spent_ring;

/* What a new ring begins with. */
typedef struct ring_start {
  spent_ring spent;               /* the previous ring, whose file the new one may reuse */
  uint64_t base_offset;
  const struct calibration *calibration; /* of the options' clock */
} ring_start;

/* Makes a ring and maps it, in place of the previous one: only if `start` says that the previous ring is spent. */
weir_status ring_create(intake *intake, const ring_start *start, weir_error *error);
void ring_detach(intake *intake);
void ring_mark_closed(intake *intake); /* call once the ring is drained and its events are on the disk */
int ring_is_drained(const intake *intake); /* whether the log has everything in the ring, counts of refusals included */
weir_status ring_remove(intake *intake, weir_error *error); /* removes a drained ring that lies elsewhere */
uint64_t ring_file_bytes(const weir_options *options); /* of a new ring, without its overflow lanes */
lane_view ring_lane_view(const intake *intake, uint32_t number);
/*
 * The flag in the ring itself that a sync of a segment failed. After the process died it keeps recovery from syncing
 * that file again, because the kernel might report the second sync as a success.
 */
uint64_t *ring_sync_failed(const intake *intake);

#endif
