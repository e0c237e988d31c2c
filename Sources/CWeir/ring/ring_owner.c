/* ring_owner.c: see ring_owner.h. */
#include "ring/ring_owner.h"

#include <errno.h>

#include "segment/scan.h"

int segment_is_sealed(int directory, uint64_t base, uint64_t salt) {
  segment_name sealed = {.base = base};
  segment_scan scan;
  scan_damage damage;
  segment_file_name(sealed.name, base, 0);
  int error = scan_open_named(&scan, directory, &sealed, &damage);
  if (error != 0) return error;
  int same = scan.header.salt == salt;
  scan_close(&scan);
  return same;
}

/* Whether somebody put a copy of an unsealed segment back that has been sealed since. */
static int is_copy(int directory, const segment_scan *scan) {
  if (!scan->active) return 0;
  int sealed = segment_is_sealed(directory, scan->name_base, scan->header.salt);
  return sealed == -ENOENT || sealed == -ELOOP || sealed == -ENOTSUP ? 0 : sealed;
}

/* Reads the segment to its seal, or to its end where it has no good one. Whether it holds an event, or an errno. */
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

/* Opens a segment of the list: 1; 0 if it is none of ours, or of a newer version, which others report; or an errno. */
static int open_segment(segment_scan *scan, int directory, const segment_name *segment) {
  segment_name name = *segment;
  scan_damage damage;
  int error = scan_open_named(scan, directory, &name, &damage);
  if (error == -ELOOP || error == -ENOTSUP) return 0;
  if (error != 0) return error == -ENOENT ? -EAGAIN : error;
  if (scan->header.salt != 0) return 1;
  scan_close(scan);
  return 0;
}

/* What one segment says. */
static int ask(int directory, segment_scan *scan, uint64_t opening, uint64_t base_offset, ring_owner *owner) {
  const segment_header *header = &scan->header;
  *owner = RING_UNKNOWN;
  if (!scan->active && header->base_offset != scan->name_base) return 0; /* renamed: its place says nothing */
  int copy = is_copy(directory, scan);
  if (copy != 0) return copy < 0 ? copy : 0;
  if (header->opening == opening) {
    *owner = RING_OWN;
    return 0;
  }
  int recovered = scan->header_valid && (header->flags & SEGMENT_RECOVERED), events = 0;
  if (!scan->active || recovered) events = holds_events(scan);
  if (events < 0) return events;
  /* An opening makes its ring when all segments before it are sealed, and its offsets go on after theirs. */
  if (!scan->active && scan->next_offset <= base_offset) *owner = RING_OWN;
  /* A recovery that finds no ring writes so into a segment of an opening that never had one. */
  else if (!recovered || events > 0) *owner = RING_ANOTHERS;
  return 0;
}

/*
 * Whether one of the segments after the `index`th, of another opening, goes on where that one ends. 1, 0, or a negative
 * errno.
 */
static int is_followed(int directory, const segment_list *list, uint64_t index, uint64_t salt, uint64_t opening) {
  for (uint64_t i = index + 1; i < list->count; i++) {
    segment_scan scan;
    int opened = open_segment(&scan, directory, &list->items[i]);
    if (opened < 0) return opened;
    if (opened == 0) continue;
    int follows = scan.header_valid && scan.header.opening != opening && scan.header.previous_salt == salt;
    scan_close(&scan);
    if (follows) return 1;
  }
  return 0;
}

/*
 * Whether the ring's own opening is over, as the newest segment, the `newest`th, says: not if segments of it are there
 * and none of this log follows on them. Then the newest is one that somebody brought from another log. 1, 0, or a
 * negative errno.
 */
static int is_over(int directory, const segment_list *list, uint64_t newest, uint64_t opening, uint64_t base_offset) {
  int before = 0; /* one was looked at that lies before the opening's first offset: no other one is of it */
  for (uint64_t left = newest; left > 0 && !before; left--) {
    const segment_name *name = &list->items[left - 1];
    segment_scan scan;
    int opened = open_segment(&scan, directory, name);
    if (opened < 0) return opened;
    if (opened == 0) continue;
    int own = scan.header.opening == opening;
    uint64_t salt = scan.header.salt;
    scan_close(&scan);
    if (own) return is_followed(directory, list, left - 1, salt, opening);
    before = name->base < base_offset;
  }
  return 1;
}

int ring_owner_find(int directory, const segment_list *list, int whole, uint64_t opening, uint64_t base_offset,
                    ring_owner *owner) {
  *owner = RING_UNKNOWN;
  for (uint64_t left = list->count; left > 0 && *owner == RING_UNKNOWN; left--) {
    segment_scan scan;
    int error = open_segment(&scan, directory, &list->items[left - 1]);
    if (error < 0) return error;
    if (error == 0) continue;
    error = ask(directory, &scan, opening, base_offset, owner);
    scan_close(&scan);
    if (error != 0) return error;
    if (*owner != RING_ANOTHERS) continue;
    int over = whole ? is_over(directory, list, left - 1, opening, base_offset) : 0;
    *owner = !whole ? RING_UNKNOWN : over == 1 ? RING_ANOTHERS : RING_OWN;
    return over < 0 ? over : 0;
  }
  return 0;
}
