/*
 * redo.h: writes what the replay of an orphaned ring yields into new segments, each synced before the next one is
 * begun.
 */
#ifndef WEIR_REDO_H
#define WEIR_REDO_H

#include "system/names.h"

#include "recover/orphan_types.h"
#include "recover/recover.h"
#include "recover/unreported.h"
#include "replay/orphan.h"

typedef struct redo {
  const recovery_site *site;
  int *page_lost;          /* atomic: a mapped file was cut short */
  orphan *ring;
  const orphan_types *types;
  uint64_t *sync_failed;   /* the flag in the orphaned ring: see orphan_ring_sync_failed */
  segment *active;         /* null: none is begun */
  segment_end previous;    /* the segment before `active` */
  uint64_t segment_bytes;
  uint32_t segments;       /* how many were begun: the number of `active` */
  uint32_t defined_in[MAX_TYPES];   /* the number of the last segment that has the definition */
  lane_mark drained[WEIR_MAX_LANES]; /* how far the log accounts for each lane */
  uint64_t reported[WEIR_MAX_LANES + 1][WEIR_DROP_REASONS]; /* by gap records of the log; last row: no lane */
  uint64_t next_offset;
  int complete;            /* everything is in segments that are on the disk */

  /* The block that is being filled behind the last one of `active`. */
  block_header block;      /* count 0: none */
  uint64_t first_ticks, last_ticks;

  /* For the report. */
  uint64_t events;
  uint64_t dropped[WEIR_DROP_REASONS]; /* by notices that were written */
  unreported *found;       /* losses found so far */
  unreported before;       /* the same before `active` was begun */
  uint64_t counted_to;     /* those below this offset are counted */
} redo;

/*
 * Settles every lane of the ring, whose replay has begun, and says in the ring where draining starts. Under another
 * boot id the ring stays as it is. Begins with zeros but for site, page_lost, ring, types, sync_failed, found and
 * counted_to. 0 or a negative errno.
 */
int redo_begin(redo *redo);

/* Writes all that is left in the ring, after a segment that ends as `previous` says. 0 or a negative errno. */
int redo_run(redo *redo, const segment_end *previous);

/* Lets go of a segment that could not be finished. */
void redo_free(redo *redo);

#endif
