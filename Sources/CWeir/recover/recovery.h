/*
 * recovery.h: one recovery in progress, shared by recover.c, which takes the steps, and dead_ring.c, which finds the
 * ring that the dead process left and tells what became of it.
 */
#ifndef WEIR_RECOVERY_H
#define WEIR_RECOVERY_H

#include "system/names.h"

#include "directory/directory.h"
#include "recover/recover.h"
#include "replay/handover.h"

/* A ring that an opening left half made, and what it says of itself, where it does. */
typedef struct half_made {
  int there;
  int closed;
  uint64_t opening; /* that which made it, or the one before it, whose ring it was; 0: it does not say */
  uint8_t boot_id[16];
} half_made;

/* Files of an opening that did not get to its end. More than fit are found by another listing. */
typedef struct leftovers {
  char names[16][64];
  uint32_t count;
  int more;
} leftovers;

typedef struct recovery {
  event_log *log;   /* the opening that recovers: path, directory, options */
  event_log *dead;  /* the ring of the dead one, mapped; null if there is none */
  uint8_t *words;   /* under another boot id: copies of its header and control pages, which recovery changes instead */
  uint8_t *definitions; /* and of its type region, with what the log has and the ring has lost behind it */
  uint64_t definitions_bytes;
  uint8_t boot_id[16]; /* of the running kernel */
  ring_place place; /* where that is, or was */
  handover handover;
  segment_list list;       /* see segment_list_tail: without all but the last of what is sealed */
  int whole_list;          /* with all of it */
  uint64_t first_unsealed; /* index in list */
  leftovers leftovers;
  weir_recovery *report;
  weir_error *error;
  segment_end last;      /* the last sealed segment */
  uint64_t last_opening; /* of the last segment that was looked at, sealed or not; 0: there is none */
  uint8_t last_boot_id[16]; /* of the last segment; zeros where there is none */
  uint64_t least_offset; /* the new opening's offsets start here or later */
  const char *lost;      /* what the log is to say of a ring that can't be read; null: there is none to speak of */
  const char *remains[2]; /* the files, RING_NAME and LOCATOR_NAME, that are put away after that; null: there is none */
  int absent;            /* neither a ring nor a word of it */
  int closed;            /* the ring says that its opening ended by a close */
  half_made made;
  uint64_t missing_in_last; /* by the handover: events that the last sealed segment leaves out */
  int interrupted;       /* an earlier recovery did not get to its end */
  int sealed;            /* every segment that was there is sealed and synced */
  int told;              /* the last that the log holds is the notice of a lost ring */
} recovery;

/* Finds the ring of the dead and maps it, or notes that it is lost. */
weir_status recovery_open_ring(recovery *recovery);

/* Takes definitions that the ring has lost from those of the log. */
weir_status recovery_adopt_missing(recovery *recovery, const uint8_t *entries, uint64_t bytes);

/*
 * Counts what an earlier recovery found that did not get to its end, because nobody had its report: see interrupted.c.
 * After the segments that are not sealed, the `count` of `found`, were scanned.
 */
weir_status recovery_count_interrupted(recovery *recovery, const unsealed *found, uint64_t count);

/* Writes of a lost ring into the log, once, also if that was killed before; then puts its remains away. */
weir_status recovery_tell_of_lost_ring(recovery *recovery);

void recovery_detach_ring(recovery *recovery);

/* Fails: the file was written by a newer version. */
weir_status recovery_newer_version(recovery *recovery, const char *name);

#endif
