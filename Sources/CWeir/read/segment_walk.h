/*
 * segment_walk.h: which segment file a reader goes to next, while a writer seals, renames and begins segments beside
 * it. A segment is known by its salt, because its name changes when it is sealed.
 */
#ifndef WEIR_SEGMENT_WALK_H
#define WEIR_SEGMENT_WALK_H

#include "system/names.h"

#include "directory/segment_list.h"
#include "segment/scan.h"

enum { WALK_SALTS = 16 };

/* A file of a listing, by its name. */
typedef struct walk_file {
  uint64_t base;
  uint32_t active;
  uint32_t batch;
} walk_file;

typedef struct walk_files {
  walk_file *items; /* in the order of a segment_list */
  uint64_t count;
  uint64_t room;
} walk_files;

/*
 * Time and calls are in proportion to the number of names, whatever the files are: a listing serves until all its files
 * are passed, and each file is opened once.
 */
typedef struct segment_walk {
  int directory;
  uint64_t log_id;             /* 0: not known yet */
  int started;
  uint64_t wanted;             /* the offset that was looked for last */
  uint64_t base;               /* in the name of the segment visited last */
  uint64_t salts[WALK_SALTS]; /* of the visited segments with that base, the latest WALK_SALTS. Several only if all but
                                  one are empty */
  uint32_t salt_count;
  walk_files listed;  /* the last listing */
  uint64_t at;         /* index of the next file in `listed`; UINT64_MAX: the first segment is not found yet */
  int settled;         /* two listings in a row were equal, and no segment that was active then was opened since */
  walk_files refused; /* files that are no segments in spite of their names, in order; each was reported once */
} segment_walk;

typedef enum walk_result {
  WALK_OPENED, /* the next segment: scan, name and damage are filled in */
  WALK_NONE,   /* there is none at present */
  WALK_FOREIGN, /* `name` is no segment: `damage` says why. Reported once; ask again for the next */
  WALK_FAILED  /* a negative errno in damage->error, about `name` if that is not empty */
} walk_result;

/*
 * Opens the segment after the last one; at first, the segment that has the offset `wanted`. A hole before its base is
 * believed only after two equal listings.
 */
walk_result segment_walk_next(segment_walk *walk, uint64_t wanted, segment_scan *scan, segment_name *name,
                              scan_damage *damage);

/*
 * Whether the directory has become another log's since the walk began, because all files were deleted and a log was
 * opened there. From then on it is a walk through that log.
 */
int segment_walk_log_changed(segment_walk *walk);

/* Whether segment_walk_next would open a segment: 1, 0, or a negative errno. */
int segment_walk_goes_on(segment_walk *walk);

void segment_walk_free(segment_walk *walk);

#endif
