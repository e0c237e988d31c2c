/* route.c: see route.h. */
#include "route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How often a file may vanish, or a listing differ, before what was seen last is believed. Each renaming costs one. */
enum { MAX_ROUNDS = 1000 };

static int is_refused(const route *route, const segment_name *name) {
  for (uint64_t i = 0; i < route->refused_count; i++) {
    if (strcmp(route->refused[i].name, name->name) == 0) return 1;
  }
  return 0;
}

static int refuse(route *route, const segment_name *name) {
  if (route->refused_count == route->refused_room) {
    uint64_t room = route->refused_room ? route->refused_room * 2 : 4;
    segment_name *grown = realloc(route->refused, room * sizeof *grown);
    if (!grown) return -ENOMEM;
    route->refused = grown;
    route->refused_room = room;
  }
  route->refused[route->refused_count++] = *name;
  return 0;
}

static int is_visited(const route *route, const segment_name *name, uint64_t salt) {
  if (!route->started || name->base != route->base) return 0;
  for (uint32_t i = 0; i < route->salt_count; i++) {
    if (route->salts[i] == salt) return 1;
  }
  return 0;
}

static void visit(route *route, const segment_name *name, uint64_t salt) {
  if (!route->started || name->base != route->base) route->salt_count = 0;
  route->started = 1;
  route->base = name->base;
  /* A writer may open and die for ever without an event, and each of its segments has that base. */
  if (route->salt_count == ROUTE_SALTS) memmove(route->salts, route->salts + 1, --route->salt_count * sizeof salt);
  route->salts[route->salt_count++] = salt;
}

/* The index of the first item whose base is `base` or more. */
static uint64_t lower_bound(const segment_list *list, uint64_t base) {
  uint64_t from = 0, to = list->count;
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    if (list->items[middle].base < base) from = middle + 1;
    else to = middle;
  }
  return from;
}

/* The index of the first candidate. Before the first visit: the last segment that begins at or before `wanted`. */
static uint64_t first_candidate(const route *route, const segment_list *list, uint64_t wanted) {
  if (route->started) return lower_bound(list, route->base);
  uint64_t from = wanted == UINT64_MAX ? list->count : lower_bound(list, wanted + 1);
  while (from > 0) {
    from = lower_bound(list, list->items[from - 1].base);
    for (uint64_t i = from; i < list->count && list->items[i].base == list->items[from].base; i++) {
      if (!is_refused(route, &list->items[i])) return i;
    }
  }
  return 0;
}

/*
 * Whether a file's name says nothing about where an offset is to be looked for: it is no segment, holds nothing yet, or
 * is a segment that somebody gave another name.
 */
static int misleads(const route *route, const segment_name *name) {
  segment_name found = *name;
  segment_scan scan;
  scan_damage damage;
  if (is_refused(route, name)) return 1;
  if (scan_open_named(&scan, route->directory, &found, &damage) != 0) return 0;
  int blank = scan.header.salt == 0 && damage.to == 0;
  int renamed = scan.header_valid && scan.header.base_offset != name->base;
  scan_close(&scan);
  return blank || renamed;
}

/*
 * Opens the first candidate of the list that is a segment. -EAGAIN in damage->error: a file went away, list again. With
 * `peek` files that are none are passed over without telling of them.
 */
static route_result open_candidate(route *route, const segment_list *list, uint64_t wanted, int peek,
                                   segment_scan *scan, segment_name *name, scan_damage *damage) {
  uint64_t from = first_candidate(route, list, wanted);
  while (!route->started && from > 0 && from < list->count && misleads(route, &list->items[from])) from--;
  for (uint64_t i = from; i < list->count; i++) {
    const segment_name *item = &list->items[i];
    if (is_refused(route, item)) continue;
    *name = *item;
    int error = scan_open_named(scan, route->directory, name, damage);
    if (error == 0 && scan->header.salt != 0) {
      if (!is_visited(route, item, scan->header.salt)) return ROUTE_OPENED;
      scan_close(scan);
      continue;
    }
    if (error == 0) {
      scan_close(scan);
      if (damage->to == 0) continue; /* all zeros: a segment whose header never reached the disk */
    } else if (error == -ELOOP) {
      damage->reason = "not a plain file";
    } else {
      damage->error = error == -ENOENT ? -EAGAIN : error;
      return ROUTE_FAILED;
    }
    if (peek) continue;
    damage->error = refuse(route, name);
    return damage->error == 0 ? ROUTE_FOREIGN : ROUTE_FAILED;
  }
  return ROUTE_NONE;
}

/* Notes what the list has after `name`. Without memory for it each segment takes a listing, and nothing worse. */
static void look_ahead(route *route, const segment_list *list, const segment_name *name) {
  route->ahead_at = route->ahead_count = 0;
  uint64_t i = lower_bound(list, name->base);
  while (i < list->count && list->items[i].base == name->base) i++;
  uint64_t count = list->count - i < ROUTE_AHEAD ? list->count - i : ROUTE_AHEAD;
  if (count == 0) return;
  if (!route->ahead) route->ahead = malloc(ROUTE_AHEAD * sizeof *route->ahead);
  if (!route->ahead) return;
  memcpy(route->ahead, list->items + i, count * sizeof *route->ahead);
  route->ahead_count = count;
}

/*
 * Opens the next segment by the last listing: 1, or 0 if only a new one can tell. It is the one after the last visited
 * if it begins with the very offset that is wanted: all below that was read, so there is nothing to be missed between.
 */
static int open_ahead(route *route, uint64_t wanted, segment_scan *scan, segment_name *name, scan_damage *damage) {
  if (route->ahead_at == route->ahead_count) return 0;
  *name = route->ahead[route->ahead_at++];
  if (name->base == wanted && !is_refused(route, name) &&
      scan_open_named(scan, route->directory, name, damage) == 0) {
    if (scan->header_valid && !damage->reason && scan->header.base_offset == wanted) return 1;
    scan_close(scan);
  }
  route->ahead_count = route->ahead_at = 0;
  return 0;
}

static route_result find(route *route, uint64_t wanted, int peek, segment_scan *scan, segment_name *name,
                         scan_damage *damage) {
  route_result result = ROUTE_FAILED;
  memset(damage, 0, sizeof *damage);
  memset(name, 0, sizeof *name);
  for (int round = 0; round < MAX_ROUNDS; round++) {
    segment_list list, again = {NULL, 0};
    damage->error = segment_list_read(route->directory, &list);
    if (damage->error != 0) return ROUTE_FAILED;
    result = open_candidate(route, &list, wanted, peek, scan, name, damage);
    int settled = !(result == ROUTE_FAILED && damage->error == -EAGAIN);
    if (result == ROUTE_OPENED && !peek && scan->header.base_offset > wanted) {
      /* A listing can miss a file that is renamed while it is made; two equal ones can't both. */
      int error = segment_list_read(route->directory, &again);
      settled = error == 0 && segment_list_equal(&list, &again);
      if (!settled && round + 1 < MAX_ROUNDS) scan_close(scan);
    }
    if (settled && result == ROUTE_OPENED && !peek) look_ahead(route, &list, name);
    segment_list_free(&list);
    segment_list_free(&again);
    if (settled) break;
  }
  return result;
}

route_result route_next(route *route, uint64_t wanted, segment_scan *scan, segment_name *name, scan_damage *damage) {
  route_result result = ROUTE_OPENED;
  route->wanted = wanted;
  if (!open_ahead(route, wanted, scan, name, damage)) result = find(route, wanted, 0, scan, name, damage);
  if (result == ROUTE_OPENED) visit(route, name, scan->header.salt);
  return result;
}

int route_goes_on(route *route) {
  segment_scan scan;
  segment_name name;
  scan_damage damage;
  switch (find(route, route->wanted, 1, &scan, &name, &damage)) {
    case ROUTE_OPENED:
      scan_close(&scan);
      return 1;
    case ROUTE_FAILED:
      return damage.error;
    default:
      return 0;
  }
}

void route_free(route *route) {
  free(route->refused);
  free(route->ahead);
  route->refused = route->ahead = NULL;
  route->ahead_at = route->ahead_count = 0;
}
