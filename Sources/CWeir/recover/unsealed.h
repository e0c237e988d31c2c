/*
 * unsealed.h: segments that a dead writer left without a seal: scanning, sealing and naming them.
 */
#ifndef WEIR_UNSEALED_H
#define WEIR_UNSEALED_H

#include "system/names.h"

#include "directory/segment_list.h"
#include "recover/orphan_types.h"
#include "recover/unreported.h"
#include "replay/orphan.h"
#include "segment/segment.h"

/* What becomes of a segment that recovery scans. */
typedef enum unsealed_fate {
  FATE_SEALED,      /* gets a seal, and a sealed segment's name */
  FATE_NAMED,       /* has a seal, because the writer died before the rename: gets the name */
  FATE_KEPT,        /* has the name: listed because an earlier segment could not be finished */
  FATE_REMOVED,     /* has neither event nor notice; or is recovered again from the ring, see drained_forgets */
  FATE_QUARANTINED, /* is no segment of the log, see `problem` */
} unsealed_fate;

/* What a scan of an unsealed segment found, as far as its seal needs it. */
typedef struct unsealed {
  uint64_t end; /* position after the last good block */
  uint64_t log_id;
  uint64_t salt;
  uint64_t opening;
  uint64_t base;     /* its first offset */
  uint8_t boot_id[16]; /* of the kernel's boot that wrote it */
  unsealed_fate fate;
  const char *problem; /* why it is quarantined */
  int ring_losses; /* number of notices that a whole ring is lost */
  uint64_t holes;       /* number of notices of holes in lanes */
  uint64_t hole_events; /* events that these notices report as missing */
  int damaged;  /* part of the segment is damaged: definitions may be missing */
  int drained;  /* an earlier recovery wrote the segment, from the lanes */
  uint64_t next_offset;
  uint64_t damaged_end; /* the offset after the last one in a damaged block */
  seal_summary summary;
  struct calibration calibration;
  uint8_t *definitions;
  uint64_t definitions_bytes;
  uint64_t definitions_room;
  gap_total *totals; /* for the seal: the highest totals in the opening's gap records so far */
  uint64_t defined[MAX_TYPES / 64]; /* types and contexts in `definitions` */
  uint64_t used[MAX_TYPES / 64];    /* those that records after damage, and notices, use */
} unsealed;

/*
 * Scans the segment, adds its blocks to `drained` and its losses to `losses`, copies damaged bytes to quarantine/. 0 or
 * a negative errno.
 */
int unsealed_scan(unsealed *found, int directory, uint64_t log_id, const segment_name *name, const orphan *orphan,
                  drained *drained, unreported *losses, weir_recovery *report);

/*
 * Seals the segment: appends the seal and truncates the file. Removes an empty segment, quarantines a foreign file, and
 * leaves a segment with a sealed name as it is. `types` are those of the orphaned ring. 0 or a negative errno.
 */
int unsealed_seal(unsealed *found, int directory, const segment_name *name, const orphan_types *types);

/*
 * Call after unsealed_seal, for each segment in order: syncs the file and renames it; the caller syncs the directory.
 * All segments are sealed first, so that the disk writes them at the same time. Sets `last` to what the next segment's
 * header says of this one. `sync_failed` is the flag in the orphaned ring, null without a ring: if it is null or set, a
 * sync may have failed, and a new file replaces the old one. 0 or a negative errno.
 */
int unsealed_finish(const unsealed *found, int directory, const segment_name *name, uint64_t *sync_failed,
                    segment_end *last);

void unsealed_free(unsealed *found);

#endif
