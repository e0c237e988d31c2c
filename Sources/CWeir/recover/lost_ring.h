/*
 * lost_ring.h: the notice of a ring that recovery did not find or can't read. The number of lost events is unknown, so
 * the notice marks where in the log they would be. The notice is a segment of its own, with an opening of its own. It
 * is sealed and on the disk before the ring is quarantined: if this recovery is killed, the next one finds the notice.
 */
#ifndef WEIR_LOST_RING_H
#define WEIR_LOST_RING_H

#include "system/names.h"

#include "recover/redo.h"
#include "segment/scan.h"

/* The reasons in the notice. Its lane is NOTICE_LANE; its bytes are 0, which means unknown. */
#define RING_LOST_DAMAGED "ring damaged"
#define RING_LOST_VANISHED "ring vanished"
#define RING_LOST_MISSING "ring missing"
#define RING_LOST_REPLACED "ring of another opening"

/*
 * Writes the notice at `offset`. `last` is the segment before it, and becomes the notice's segment. If a ring was
 * drained all the same (`redo`, else null), the segment has that ring's opening and lane positions, so that the
 * opening's last segment still states them. `flags` are added to SEGMENT_RECOVERED in its header. `page_lost` is set if
 * somebody cuts the segment's file short. 0 or a negative errno.
 */
int lost_ring_report(const recovery_site *site, const redo *redo, const char *reason, uint64_t offset, uint32_t flags,
                     int *page_lost, segment_end *last);

/*
 * Whether a sealed segment, after scan_seal, holds the notice of a lost ring and nothing else: 1, 0, or a negative
 * errno.
 */
int lost_ring_is_reported(const segment_scan *scan);

#endif
