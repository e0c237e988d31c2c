/*
 * ring_owner.h: whether a ring is of the log's last opening. A ring's header names its log. A backup that was restored
 * in part can leave the ring of an earlier opening: the segments show this, because each names the opening that wrote
 * it. Recovery and readers of a dead log both use this, so that they trust the same rings.
 */
#ifndef WEIR_RING_OWNER_H
#define WEIR_RING_OWNER_H

#include "system/names.h"

#include "directory/segment_list.h"

typedef enum ring_owner {
  RING_OWN,      /* of the last opening, as far as the segments can tell */
  RING_ANOTHERS, /* of another log, or not of the opening that wrote the newest segment, and not of a later one */
  RING_UNKNOWN   /* no segment of the list decides: a longer list may */
} ring_owner;

/*
 * Fields of a ring's header, or of the locator if a close removed the ring, and the id of the log that the ring lies
 * in.
 */
typedef struct ring_word {
  uint64_t log_id;      /* of the log that the ring lies in */
  uint64_t ring_log_id; /* of the ring */
  uint64_t opening;
  uint64_t base_offset; /* the ring's first offset; if a close removed it, the offset after the last event */
  int closed;           /* all of it is in segments */
} ring_word;

/*
 * Finds whose the ring is. `whole`: the list has all of the log's segments. 0 or a negative errno. -EAGAIN: a file of
 * the list disappeared meanwhile, so a writer is at work.
 *
 * Limit: if all segments are sealed, a ring of this log counts as its own if the ring's first offset is at or after the
 * log's end. A ring whose segments were deleted looks the same: its events are recovered, and what is missing is
 * counted.
 */
int ring_owner_find(int directory, const segment_list *list, int whole, const ring_word *word, ring_owner *owner);

#endif
