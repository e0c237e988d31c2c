/*
 * recovery.h: one recovery in progress, shared by recover.c (the steps), orphan_ring.c (finding the dead process's
 * ring, and the notice if it is lost) and interrupted.c.
 */
#ifndef WEIR_RECOVERY_H
#define WEIR_RECOVERY_H

#include "system/names.h"

#include "directory/segment_list.h"
#include "recover/orphan_types.h"
#include "recover/recover.h"
#include "recover/redo.h"
#include "recover/unreported.h"
#include "replay/orphan.h"

/* A ring that an opening left half made. `closed` is from the ring's header, 0 if that is not valid. */
typedef struct half_made {
  int there;
  int closed;
} half_made;

/* Files that an incomplete opening left. If there are more than fit, the directory is listed again. */
typedef struct leftovers {
  char names[16][64];
  uint32_t count;
  int more;
} leftovers;

typedef struct recovery {
  const recovery_site *site;
  const log_lock *held; /* the site's */
  struct orphan *orphan;  /* the dead process's ring; null: there is none to recover */
  uint8_t *ring_header; /* the first page of the ring, mapped, for the flag in it: see orphan_ring_sync_failed */
  orphan_types types;
  struct redo redo;
  uint8_t boot_id[16]; /* of the running kernel */
  ring_place place; /* where the dead process's ring is, or was */
  struct drained drained;
  segment_list list;       /* of the sealed segments only the last: see segment_list_tail */
  int whole_list;          /* `list` has all sealed segments */
  uint64_t first_unsealed; /* index in list */
  struct leftovers leftovers;
  weir_recovery *report;
  weir_error *error;
  segment_end last;      /* the last sealed segment */
  uint64_t last_opening; /* of the last segment read, sealed or not; 0: there is none */
  uint8_t last_boot_id[16]; /* of the last segment; zeros where there is none */
  uint64_t least_offset; /* the new opening's offsets start here or later */
  const char *lost;      /* why the ring is lost, for the notice in the log; null: no ring is lost */
  const char *remains[2]; /* files to quarantine after the notice (RING_NAME, LOCATOR_NAME); null: none */
  int absent;            /* no ring was found, and no locator that names one */
  int closed;            /* the ring says that its opening ended by a close */
  half_made made;
  unreported found;      /* losses found so far, those included that an earlier recovery reported to nobody */
  uint64_t counted_to;   /* what lies below this offset is in the counts of that earlier recovery */
  int interrupted;       /* an earlier recovery did not complete */
  int page_lost;         /* atomic: a mapped file was cut short */
  int sealed;            /* every segment that was there is sealed and synced */
  int loss_reported;     /* the last record in the log is the notice of a lost ring */
} recovery;

#endif
