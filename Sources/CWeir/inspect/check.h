/*
 * check.h: the state of weir_verify. check.c checks one segment against every rule of FileFormat.md; verify.c reads the
 * directory and the ring.
 */
#ifndef WEIR_CHECK_H
#define WEIR_CHECK_H

#include "system/names.h"

#include "directory/segment_list.h"
#include "segment/definitions.h"
#include "segment/scan.h"

/* How far a lane is drained in the opening of this segment. */
typedef struct lane_progress {
  uint64_t to;
  int known;
  int loose; /* damage may have taken a block of the lane: its positions may jump ahead once */
} lane_progress;

/* The first block header in each MiB of a batch segment, as its index should have them. */
typedef struct batch_headers {
  batch_block *items;
  uint64_t count, room;
  int columns_wrong; /* a payload is in columns that should not be, or the reverse */
} batch_headers;

typedef struct checker {
  const char *path;
  int directory;
  uint64_t log_id;
  int live;
  void (*report)(void *context, const weir_finding *finding);
  void *context;
  void (*scanned)(void *context, const segment_scan *scan); /* gets each segment's scan at its end; null: nobody does */
  weir_verification *out;

  /* Across segments. */
  uint64_t next_offset; /* after the last offset that was read, or reported as missing */
  int have_previous;
  uint64_t previous_salt;
  uint64_t previous_base;
  uint64_t previous_end; /* of the file's content; 0 if it is not known */
  int start_reported;
  log_start_slot start;      /* what retention removed, as last read */
  uint64_t opening;
  lane_progress lanes[WEIR_MAX_LANES];

  /* The segment at hand. */
  const segment_name *name;
  int damaged;             /* it has a finding: its sums need not agree */
  int undefined_reported;
  seal_summary sums;
  definition_table defined;
  batch_headers headers;
  char last_name[64];      /* of the last segment, for findings by the ring */
  uint64_t last_end;
  int last_active;
} checker;

/* Reads which offsets below `base` retention removed: these are not missing. 0 or a negative errno. */
int check_start(checker *checker, uint64_t base);

/*
 * Checks one segment; `last` says that no other follows. 0, or a negative errno: -ENOENT if the file has gone,
 * -ENOTSUP for a newer version.
 */
int check_segment(checker *checker, segment_name *name, int last);

/* The same of an open segment, which stays open. */
int check_scan(checker *checker, const segment_name *name, segment_scan *scan, const scan_damage *damage, int last);

#endif
