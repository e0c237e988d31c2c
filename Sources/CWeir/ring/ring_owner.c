/* ring_owner.c: see ring_owner.h. */
#include "ring/ring_owner.h"

#include <errno.h>

#include "directory/segment_list.h"
#include "segment/scan.h"

/* Whether the unsealed segment is a copy, put back by somebody, of one that was sealed since. */
static int is_copy(int directory, const segment_scan *scan) {
  if (!scan->active) return 0;
  int sealed = scan_is_sealed(directory, scan->header.log_id, scan->name_base, scan->header.salt);
  return sealed == -ENOENT || sealed == -ELOOP || sealed == -ENOTSUP ? 0 : sealed;
}

/* Whether the segment holds an event: 1, 0, or a negative errno. Without a good seal it is read to its end. */
static int holds_events(segment_scan *scan) {
  const seal_summary *summary = !scan->active && scan_seal(scan) == 0 ? scan_summary(scan) : NULL;
  if (summary) return summary->events > 0;
  scan_damage damage;
  scan_result result;
  int any = 0;
  while ((result = scan_next(scan, 1, &damage)) == SCAN_BLOCK || result == SCAN_DAMAGE) {
    any |= result == SCAN_BLOCK && scan->block.kind == BLOCK_EVENTS;
  }
  return result == SCAN_ERROR ? damage.error : any;
}

/*
 * Opens a segment of the list: 1; 0 if it is not ours or of a newer version, which others report; or a negative errno.
 */
static int open_segment(segment_scan *scan, int directory, uint64_t log_id, const segment_name *segment) {
  segment_name name = *segment;
  scan_damage damage;
  int error = scan_open_named(scan, directory, log_id, &name, &damage);
  if (error == -ELOOP || error == -ENOTSUP) return 0;
  if (error != 0) return error == -ENOENT ? -EAGAIN : error;
  if (scan->header.salt != 0) return 1;
  scan_close(scan);
  return 0;
}

/* Asks one segment for the ring's owner. */
static int ask(int directory, segment_scan *scan, const ring_word *word, ring_owner *owner) {
  const segment_header *header = &scan->header;
  *owner = RING_UNKNOWN;
  if (!scan->active && header->base_offset != scan->name_base) return 0; /* renamed: its place says nothing */
  int copy = is_copy(directory, scan);
  if (copy != 0) return copy < 0 ? copy : 0;
  /* Segments are collected while the ring is closed, and have no event of any ring here. */
  int collected = (header->incompatible & SEGMENT_COLLECTED) && word->closed;
  if (header->opening == word->opening || collected) {
    *owner = RING_OWN;
    return 0;
  }
  int recovered = scan->header_valid && (header->flags & SEGMENT_RECOVERED), events = 0;
  if (!scan->active || recovered) events = holds_events(scan);
  if (events < 0) return events;
  /* An opening makes its ring after all earlier segments are sealed, and its offsets start after theirs. */
  if (!scan->active && scan->next_offset <= word->base_offset) *owner = RING_OWN;
  /* A recovery that finds no ring writes the notice into a segment of an opening that never had a ring. */
  else if (!recovered || events > 0) *owner = RING_ANOTHERS;
  return 0;
}

/*
 * Whether a segment after the `index`th, of another opening, names it (`salt`) as its predecessor. 1, 0, or a negative
 * errno.
 */
static int is_followed(int directory, const segment_list *list, uint64_t index, uint64_t salt, const ring_word *word) {
  for (uint64_t i = index + 1; i < list->count; i++) {
    segment_scan scan;
    int opened = open_segment(&scan, directory, word->log_id, &list->items[i]);
    if (opened < 0) return opened;
    if (opened == 0) continue;
    int follows = scan.header_valid && scan.header.opening != word->opening && scan.header.previous_salt == salt;
    scan_close(&scan);
    if (follows) return 1;
  }
  return 0;
}

/*
 * Whether the ring's own opening is over, as the newest segment, the `newest`th, says. It is not over if the list has
 * segments of it and none of another opening follows on them: then somebody brought the newest segment from a copy of
 * this log that lived on by itself. 1, 0, or a negative errno.
 */
static int is_over(int directory, const segment_list *list, uint64_t newest, const ring_word *word) {
  int before = 0; /* a segment below the opening's first offset was read: none before it is of that opening */
  for (uint64_t left = newest; left > 0 && !before; left--) {
    const segment_name *name = &list->items[left - 1];
    segment_scan scan;
    int opened = open_segment(&scan, directory, word->log_id, name);
    if (opened < 0) return opened;
    if (opened == 0) continue;
    int own = scan.header.opening == word->opening;
    uint64_t salt = scan.header.salt;
    scan_close(&scan);
    if (own) return is_followed(directory, list, left - 1, salt, word);
    before = name->base < word->base_offset;
  }
  return 1;
}

int ring_owner_find(int directory, const segment_list *list, int whole, const ring_word *word, ring_owner *owner) {
  *owner = word->log_id != word->ring_log_id ? RING_ANOTHERS : RING_UNKNOWN;
  for (uint64_t left = list->count; left > 0 && *owner == RING_UNKNOWN; left--) {
    segment_scan scan;
    int error = open_segment(&scan, directory, word->log_id, &list->items[left - 1]);
    if (error < 0) return error;
    if (error == 0) continue;
    error = ask(directory, &scan, word, owner);
    scan_close(&scan);
    if (error != 0) return error;
    if (*owner != RING_ANOTHERS) continue;
    int over = whole ? is_over(directory, list, left - 1, word) : 0;
    *owner = !whole ? RING_UNKNOWN : over == 1 ? RING_ANOTHERS : RING_OWN;
    return over < 0 ? over : 0;
  }
  return 0;
}
