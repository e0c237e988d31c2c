/*
 * route.h: which segment file a reader goes to next, while a writer seals, renames and begins segments beside it. A
 * segment is known by its salt, since its name changes when it is sealed.
 */
#ifndef WEIR_ROUTE_H
#define WEIR_ROUTE_H

#include "names.h"

#include "directory.h"
#include "scan.h"

enum { ROUTE_SALTS = 16, ROUTE_AHEAD = 256 };

typedef struct route {
  int directory;
  int started;
  uint64_t wanted;             /* of the last look for a segment */
  uint64_t base;               /* in the name of the segment visited last */
  uint64_t salts[ROUTE_SALTS]; /* of the segments with that base that were visited, the last ones: more than one only if
                                  all but one are empty. Two names have that base, so more are never looked at */
  uint32_t salt_count;
  segment_name *ahead;         /* what the last listing had after that segment, as far as ROUTE_AHEAD goes: a log of
                                  many segments is not listed anew for each of them */
  uint64_t ahead_at;
  uint64_t ahead_count;
  segment_name *refused;       /* files with a segment's name that are none; each was told of once */
  uint64_t refused_count;
  uint64_t refused_room;
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

/* Whether route_next would open one: 1, 0, or a negative errno. */
int route_goes_on(route *route);

void route_free(route *route);

#endif
