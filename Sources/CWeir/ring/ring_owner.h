/*
 * ring_owner.h: whether a ring is that of the log's last opening. A backup that was restored in part can leave the ring
 * of an earlier opening there, or that of another log. The segments tell: each names the opening that wrote it. Used by
 * recovery and by readers of a dead log, so that both believe the same rings.
 */
#ifndef WEIR_RING_OWNER_H
#define WEIR_RING_OWNER_H

#include "system/names.h"

#include "directory/directory.h"

typedef enum ring_owner {
  RING_OWN,      /* of the last opening, as far as the segments can tell */
  RING_ANOTHERS, /* not of the opening that wrote the log's newest segment, and not of a later one */
  RING_UNKNOWN   /* no segment of the list says: a longer one may */
} ring_owner;

/*
 * Whose the ring is that names `opening` and whose first offset is `base_offset`; of a ring that a close removed, the
 * offset after the last event. `whole`: all of the log's segments are in the list. The owner goes to `*owner`. 0 or a
 * negative errno: -EAGAIN if a file of the list went away meanwhile, which says that a writer is at work.
 *
 * What can't be told: a ring of another log whose first offset is at or after this log's end, where all segments of
 * this one are sealed. So look rings whose segments were deleted: their events are taken, what is missing is counted.
 */
int ring_owner_find(int directory, const segment_list *list, int whole, uint64_t opening, uint64_t base_offset,
                    ring_owner *owner);

/* Whether the sealed segment of that base, raw or a batch, has this salt: 1, 0, or a negative errno. */
int segment_is_sealed(int directory, uint64_t base, uint64_t salt);

#endif
