/* recover.h: the parts of recovery. See recover.c for the order of steps. */
#ifndef WEIR_RECOVER_H
#define WEIR_RECOVER_H

#include "system/names.h"

#include "log/log.h"
#include "replay/handover.h"

#define FOREIGN_PROBLEM "neither a header nor a block of a segment"

/* What a scan of a segment that was not sealed found, as far as its seal needs it. */
typedef struct unsealed {
  uint64_t end; /* position after the last good block */
  uint64_t salt;
  uint64_t opening;
  uint64_t base;     /* its first offset */
  uint8_t boot_id[16]; /* of the kernel's boot that wrote it */
  int complete; /* it has its seal: the writer died before the rename */
  uint64_t seal_at; /* the position of that, or where it is to be */
  int end_damaged;  /* what lies there is a damaged block */
  int empty;    /* no event and no notice, so that the next segment has the same base offset */
  int ring_told; /* notices that a whole ring is lost */
  uint64_t holes;       /* notices of holes in lanes, */
  uint64_t hole_events; /* and how many events these say are missing */
  int damaged;  /* a part of it is: definitions may be missing */
  int redone;   /* to be forgotten: see handover_forgets */
  int drained;  /* recovery wrote it, from the lanes */
  int foreign;  /* neither a good header nor a good block, but not all zeros */
  uint64_t next_offset;
  uint64_t damaged_end; /* the offset after those that damaged blocks held */
  seal_summary summary;
  calibration calibration;
  uint8_t *definitions;
  uint64_t definitions_bytes;
  uint64_t definitions_room;
  gap_total *totals; /* the highest in the opening's gap records so far: the seal's */
  uint64_t defined[MAX_TYPES / 64]; /* types and contexts in `definitions` */
  uint64_t used[MAX_TYPES / 64];    /* those of records after damage */
} unsealed;

/* Scans the segment, takes its blocks into `handover`, quarantines what is damaged. 0 or a negative errno. */
int unsealed_scan(unsealed *found, int directory, const segment_name *name, const event_log *dead, handover *handover,
                  weir_recovery *report);

/*
 * Seals it: appends the seal, cuts; removes an empty one, quarantines a foreign one; leaves one that has a sealed name
 * as it is. 0 or a negative errno.
 */
int unsealed_seal(unsealed *found, int directory, const segment_name *name, const event_log *dead);

/*
 * After it, for each in order: syncs, renames; the caller syncs the directory. All are sealed first, so that the disk
 * works on them at once. `last` becomes what the next segment's header says of it. `sync_failed` is the dead ring's
 * word of that, null without a ring: where a sync may have failed, a new file takes the old one's place. 0 or a
 * negative errno.
 */
int unsealed_retire(const unsealed *found, int directory, const segment_name *name, uint64_t *sync_failed,
                    segment_end *last);

void unsealed_free(unsealed *found);

weir_status recover(event_log *log, weir_recovery *report, uint64_t *next_offset, weir_error *error);

#endif
