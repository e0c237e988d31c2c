/* ring_owner.c: see ring_owner.h. */
#include "ring_owner.h"

#include <errno.h>

#include "scan.h"

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
  return sealed == -ENOENT || sealed == -ELOOP ? 0 : sealed;
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

/* What one segment says. */
static int ask(int directory, segment_scan *scan, uint64_t opening, uint64_t base_offset, ring_owner *owner) {
  const segment_header *header = &scan->header;
  *owner = RING_UNKNOWN;
  if (header->salt == 0) return 0; /* none of ours */
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

int ring_owner_find(int directory, const segment_list *list, uint64_t opening, uint64_t base_offset,
                    ring_owner *owner) {
  *owner = RING_UNKNOWN;
  for (uint64_t left = list->count; left > 0 && *owner == RING_UNKNOWN; left--) {
    segment_name name = list->items[left - 1];
    segment_scan scan;
    scan_damage damage;
    int error = scan_open_named(&scan, directory, &name, &damage);
    if (error == -ELOOP) continue; /* no plain file, so none of ours */
    if (error != 0) return error == -ENOENT ? -EAGAIN : error;
    error = ask(directory, &scan, opening, base_offset, owner);
    scan_close(&scan);
    if (error != 0) return error;
  }
  return 0;
}
