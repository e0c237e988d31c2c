/*
 * route.h: which segment file a reader goes to next, while a writer seals, renames and begins segments beside it. A
 * segment is known by its salt, since its name changes when it is sealed.
 */
#ifndef WEIR_ROUTE_H
#define WEIR_ROUTE_H

#include "system/names.h"

#include "directory/directory.h"
#include "segment/scan.h"

enum { ROUTE_SALTS = 16 };

/* A file of a listing: all that its name says. */
typedef struct route_file {
  uint64_t base;
  uint32_t active;
  uint32_t batch;
} route_file;

typedef struct route_files {
  route_file *items; /* in the order of a segment_list */
  uint64_t count;
  uint64_t room;
} route_files;

/*
 * Time and calls are in proportion to the number of names, whatever their files are: a listing serves until all that it
 * has is passed, and each file is opened once for it.
 */
typedef struct route {
  int directory;
  uint64_t log_id;             /* 0: not known yet */
  int started;
  uint64_t wanted;             /* of the last look for a segment */
  uint64_t base;               /* in the name of the segment visited last */
  uint64_t salts[ROUTE_SALTS]; /* of the segments with that base that were visited, the last ones: more than one only if
                                  all but one are empty. Two names have that base, so more are never looked at */
  uint32_t salt_count;
  route_files listed;  /* the last listing */
  uint64_t at;         /* in it, what is looked at next; UINT64_MAX: where the first segment is, is to be found out */
  int settled;         /* another one right after it was equal, and no segment that was active then was opened since */
  route_files refused; /* files with a segment's name that are none, in order; each was told of once */
} route;

typedef enum route_result {
  ROUTE_OPENED, /* the next segment: scan, name and damage are filled in */
  ROUTE_NONE,   /* there is none at present */
  ROUTE_FOREIGN, /* `name` is no segment: `damage` says why. Told once; ask again for the next */
  ROUTE_FAILED  /* a negative errno in damage->error, about `name` if that is not empty */
} route_result;

/*
 * Opens the segment after the one visited last, or first the one that `wanted` lies in. A hole before its base is
 * believed only after two equal listings.
 */
route_result route_next(route *route, uint64_t wanted, segment_scan *scan, segment_name *name, scan_damage *damage);

/*
 * Whether the directory has become another log's since the route began, because all files were deleted and a log was
 * opened there. From then on it is that log's route.
 */
int route_log_changed(route *route);

/* Whether route_next would open one: 1, 0, or a negative errno. */
int route_goes_on(route *route);

void route_free(route *route);

#endif
