/* route.c: see route.h. */
#include "read/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "segment/identity.h"

/* How often a file may vanish, or a listing differ, before what was seen last is believed. Each renaming costs one. */
enum { MAX_ROUNDS = 1000 };

/* ---- Files of a listing ------------------------------------------------------------------------------------------ */

static route_file file_of(const segment_name *name) {
  return (route_file){.base = name->base, .active = name->active != 0, .batch = name->batch != 0};
}

static segment_name name_of(route_file file) {
  segment_name name = {.base = file.base, .active = (int)file.active, .batch = (int)file.batch};
  if (file.batch) segment_batch_name(name.name, file.base);
  else segment_file_name(name.name, file.base, name.active);
  return name;
}

/* Whether `file` comes before `other` in a listing. */
static int is_before(route_file file, route_file other) {
  if (file.base != other.base) return file.base < other.base;
  return file.active != other.active ? file.active < other.active : file.batch < other.batch;
}

/* The index of the first one that is not before `file`. */
static uint64_t lower_bound(const route_files *files, route_file file) {
  uint64_t from = 0, to = files->count;
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    if (is_before(files->items[middle], file)) from = middle + 1;
    else to = middle;
  }
  return from;
}

static uint64_t first_of(const route_files *files, uint64_t base) {
  return lower_bound(files, (route_file){.base = base});
}

static int make_room(route_files *files, uint64_t count) {
  if (count <= files->room) return 0;
  uint64_t room = files->room * 2 > count ? files->room * 2 : count;
  route_file *grown = realloc(files->items, room * sizeof *grown);
  if (!grown) return -ENOMEM;
  files->items = grown;
  files->room = room;
  return 0;
}

static int is_refused(const route *route, route_file file) {
  uint64_t at = lower_bound(&route->refused, file);
  return at < route->refused.count && !is_before(file, route->refused.items[at]);
}

/* Mostly the last in order, as they are come to. */
static int refuse(route *route, route_file file) {
  route_files *refused = &route->refused;
  uint64_t at = lower_bound(refused, file);
  int error = make_room(refused, refused->count + 1);
  if (error != 0) return error;
  memmove(refused->items + at + 1, refused->items + at, (refused->count - at) * sizeof file);
  refused->items[at] = file;
  refused->count++;
  return 0;
}

/* ---- Segments that were visited ---------------------------------------------------------------------------------- */

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

/* ---- Listings ---------------------------------------------------------------------------------------------------- */

static int is_equal(const route_files *files, const segment_list *list) {
  if (files->count != list->count) return 0;
  for (uint64_t i = 0; i < list->count; i++) {
    route_file file = file_of(&list->items[i]);
    if (is_before(file, files->items[i]) || is_before(files->items[i], file)) return 0;
  }
  return 1;
}

/* Lists the directory, `again` if the last listing was made just before. 0 or a negative errno. */
static int list_anew(route *route, int again) {
  segment_list list;
  int error = segment_list_read(route->directory, &list);
  if (error != 0) return error;
  if (route->log_id == 0) error = identity_find(route->directory, &route->log_id);
  if (error == 0) error = make_room(&route->listed, list.count);
  if (error == 0) {
    route->settled = again && is_equal(&route->listed, &list);
    for (uint64_t i = 0; i < list.count; i++) route->listed.items[i] = file_of(&list.items[i]);
    route->listed.count = list.count;
    route->at = route->started ? first_of(&route->listed, route->base) : UINT64_MAX;
  }
  segment_list_free(&list);
  return error;
}

/*
 * Whether reading can begin with a file: it is a segment, under its own name. What is none says nothing about where an
 * offset is to be looked for, nor what holds nothing yet, nor a segment that somebody gave another name. What can't be
 * opened is not passed over in silence. -EAGAIN: it has gone.
 */
static int is_first(const route *route, route_file file) {
  segment_name name = name_of(file);
  segment_scan scan;
  scan_damage damage;
  int error = scan_open_named(&scan, route->directory, route->log_id, &name, &damage);
  if (error != 0) return error == -ELOOP ? 0 : error == -ENOENT ? -EAGAIN : 1;
  int renamed = scan.header_valid && scan.header.base_offset != file.base;
  scan_close(&scan);
  return scan.header.salt != 0 && !renamed;
}

/* Before the first visit: goes to the last segment that begins at or before `wanted`. 0 or a negative errno. */
static int find_first(route *route, uint64_t wanted) {
  const route_files *listed = &route->listed;
  uint64_t from = wanted >= MAX_OFFSET ? listed->count : first_of(listed, wanted + 1);
  int found = 0;
  while (from > 0 && found == 0) found = is_first(route, listed->items[--from]);
  if (found < 0) return found;
  route->at = found ? first_of(listed, listed->items[from].base) : 0;
  return 0;
}

int route_log_changed(route *route) {
  uint64_t log_id;
  if (identity_find(route->directory, &log_id) != 0 || log_id == route->log_id) return 0;
  route->log_id = log_id;
  return 1;
}

/*
 * Opens the next file of the listing that is a segment. -EAGAIN in damage->error: a file went away, list again. With
 * `peek` nothing is passed for good, and files that are none are not told of.
 */
static route_result open_listed(route *route, uint64_t wanted, int peek, segment_scan *scan, segment_name *name,
                                scan_damage *damage) {
  memset(name, 0, sizeof *name);
  memset(damage, 0, sizeof *damage);
  if (route->at == UINT64_MAX) damage->error = find_first(route, wanted);
  if (damage->error != 0) return ROUTE_FAILED;
  for (uint64_t i = route->at; i < route->listed.count; i++) {
    route_file file = route->listed.items[i];
    if (!peek) route->at = i;
    if (is_refused(route, file)) continue;
    *name = name_of(file);
    int error = scan_open_named(scan, route->directory, route->log_id, name, damage);
    if (error == 0 && scan->of_another_log && route_log_changed(route)) {
      scan_close(scan);
      error = scan_open_named(scan, route->directory, route->log_id, name, damage);
    }
    if (error == 0 && scan->header.salt != 0) {
      if (!is_visited(route, name, scan->header.salt)) {
        if (!peek) route->at = i + 1;
        return ROUTE_OPENED;
      }
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
    damage->error = refuse(route, file_of(name));
    return damage->error == 0 ? ROUTE_FOREIGN : ROUTE_FAILED;
  }
  if (!peek) route->at = route->listed.count;
  memset(name, 0, sizeof *name);
  return ROUTE_NONE;
}

/*
 * Whether what was opened can be believed to come next. A listing can miss a file that is renamed while it is made, two
 * equal ones can't both: so a hole takes two. Where nothing is missing before the segment, none is needed.
 */
static int is_next(const route *route, uint64_t wanted, const segment_scan *scan) {
  return scan->header.base_offset <= wanted || route->settled;
}

static route_result find(route *route, uint64_t wanted, int peek, segment_scan *scan, segment_name *name,
                         scan_damage *damage) {
  route_result result = ROUTE_NONE;
  int listed = 0;
  for (int round = 0;; round++) {
    /* An earlier listing serves as long as there is something in it. That there is nothing more, a new one says. */
    if (route->listed.count > 0 || listed) result = open_listed(route, wanted, peek, scan, name, damage);
    int again = result == ROUTE_NONE ? !listed : result == ROUTE_FAILED && damage->error == -EAGAIN;
    if (result == ROUTE_OPENED && !peek && !is_next(route, wanted, scan)) again = 1;
    if (!again || round == MAX_ROUNDS) return result;
    if (result == ROUTE_OPENED) scan_close(scan);
    int error = list_anew(route, listed);
    if (error != 0) {
      memset(name, 0, sizeof *name);
      *damage = (scan_damage){.error = error};
      return ROUTE_FAILED;
    }
    listed = 1;
  }
}

route_result route_next(route *route, uint64_t wanted, segment_scan *scan, segment_name *name, scan_damage *damage) {
  route->wanted = wanted;
  route_result result = find(route, wanted, 0, scan, name, damage);
  if (result != ROUTE_OPENED) return result;
  visit(route, name, scan->header.salt);
  /* Another may have been begun after it since the listing: then a hole behind it is only one of the listing. */
  if (name->active) route->settled = 0;
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
  free(route->listed.items);
  free(route->refused.items);
  memset(&route->listed, 0, sizeof route->listed);
  memset(&route->refused, 0, sizeof route->refused);
}
