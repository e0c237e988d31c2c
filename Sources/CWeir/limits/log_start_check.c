/* log_start_check.c: see log_start_check.h. */
#include "limits/log_start_check.h"

#include <errno.h>

#include "directory/segment_list.h"
#include "segment/scan.h"

enum { SAYS_NO = -1, SAYS_NOTHING, SAYS_YES };

/* What a segment below the start says. Sealed ones are leftovers; the last one removed is the highest of them. */
static int ask_below(const log_start_slot *slot, const segment_name *name, const segment_scan *scan) {
  if (name->active || name->base > slot->base) return SAYS_NO;
  if (name->base < slot->base) return SAYS_NOTHING;
  return scan->header.salt == slot->salt ? SAYS_YES : SAYS_NO;
}

/*
 * What the first segment that was kept says. Its header names its predecessor: the last removed segment, if `start` is
 * of this log. A predecessor of 0, or one at or above first_offset, was deleted by hand and proves nothing.
 */
static int ask_above(const log_start_slot *slot, const segment_scan *scan) {
  const segment_header *header = &scan->header;
  if (!scan->header_valid || header->previous_salt == 0) return SAYS_NOTHING;
  if (header->previous_salt == slot->salt) return SAYS_YES;
  return header->previous_base < slot->first_offset ? SAYS_NO : SAYS_NOTHING;
}

int log_start_check_fits(int directory, const log_start_slot *slot) {
  segment_list list;
  int error = segment_list_read(directory, &list), proven = 0, leftovers = 0, above = 0, foreign = 0;
  for (uint64_t i = 0; error == 0 && !foreign && !above && i < list.count; i++) {
    segment_name *name = &list.items[i];
    segment_scan scan;
    scan_damage damage;
    int opened = scan_open_named(&scan, directory, slot->log_id, name, &damage);
    if (opened != 0) {
      /* A plain failure to read is no sign that it is another's. */
      if (opened != -ENOENT && opened != -ELOOP && opened != -ENOTSUP) error = opened;
      continue;
    }
    if (scan.header.salt != 0) {
      above = name->base >= slot->first_offset;
      int says = above ? ask_above(slot, &scan) : ask_below(slot, name, &scan);
      leftovers |= !above;
      proven |= says == SAYS_YES;
      foreign |= says == SAYS_NO;
    }
    scan_close(&scan);
  }
  segment_list_free(&list);
  if (error != 0) return error;
  /* Without proof no leftover is unlinked. */
  return !foreign && (proven || !leftovers);
}
