/*
 * lost_ring.h: a ring that recovery did not find, or can't read: how many events were in it nobody knows, so the log
 * says at which place they would be. The notice is a segment of its own, of an opening of its own, sealed and on the
 * disk before the ring is put away; so a recovery that is killed does not lose it, and finds it when it runs again.
 */
#ifndef WEIR_LOST_RING_H
#define WEIR_LOST_RING_H

#include "system/names.h"

#include "log/log.h"
#include "segment/scan.h"

/* The reasons in such a notice, whose lane is NOTICE_LANE and whose bytes are 0, for not known. */
#define RING_LOST_DAMAGED "ring damaged"
#define RING_LOST_VANISHED "ring vanished"
#define RING_LOST_MISSING "ring missing"
#define RING_LOST_REPLACED "ring of another opening"

/*
 * Writes the notice with that offset; `last` is the segment before it and becomes this one. Where there is a drained
 * ring all the same (`dead`; null: none) the segment is of its opening, so that the log's last word about its lanes
 * stays the last. `flags` are for its header, besides SEGMENT_RECOVERED. 0 or a negative errno.
 */
int lost_ring_tell(event_log *log, const event_log *dead, const char *reason, uint64_t offset, uint32_t flags,
                   segment_end *last);

/* Whether a sealed segment, after scan_seal, holds such a notice and nothing else: 1, 0, or a negative errno. */
int lost_ring_is_told(const segment_scan *scan);

#endif
