/* segment_walk.c: see segment_walk.h. */
#include "read/segment_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/segment_list.h"
#include "segment/identity.h"

/* How often a file may vanish, or a listing differ, before the last one is believed. Each rename costs one. */
enum { MAX_ROUNDS = 1000 };

/* ---- Files of a listing ------------------------------------------------------------------------------------------ */

static walk_file file_of(const segment_name *name) {
  return (walk_file){.base = name->base, .active = name->active != 0, .batch = name->batch != 0};
}

static segment_name name_of(walk_file file) {
  segment_name name = {.base = file.base, .active = (int)file.active, .batch = (int)file.batch};
  if (file.batch) segment_list_batch_name(name.name, file.base);
  else segment_list_raw_name(name.name, file.base, name.active);
  return name;
}

/* Whether `file` comes before `other` in a listing. */
static int is_before(walk_file file, walk_file other) {
  if (file.base != other.base) return file.base < other.base;
  return file.active != other.active ? file.active < other.active : file.batch < other.batch;
}

/* The index of the first file that is not before `file`. */
static uint64_t lower_bound(const walk_files *files, walk_file file) {
  uint64_t from = 0, to = files->count;
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    if (is_before(files->items[middle], file)) from = middle + 1;
    else to = middle;
  }
  return from;
}

static uint64_t first_of(const walk_files *files, uint64_t base) {
  return lower_bound(files, (walk_file){.base = base});
}

static int make_room(walk_files *files, uint64_t count) {
  if (count <= files->room) return 0;
  uint64_t room = files->room * 2 > count ? files->room * 2 : count;
  walk_file *grown = (walk_file *)realloc(files->items, room * sizeof *grown);
  if (!grown) return -ENOMEM;
  files->items = grown;
  files->room = room;
  return 0;
}

static int is_refused(const segment_walk *walk, walk_file file) {
  uint64_t at = lower_bound(&walk->refused, file);
  return at < walk->refused.count && !is_before(file, walk->refused.items[at]);
}

/* Adds a refused file, in order: mostly at the end. */
static int refuse(segment_walk *walk, walk_file file) {
  walk_files *refused = &walk->refused;
  uint64_t at = lower_bound(refused, file);
  int error = make_room(refused, refused->count + 1);
  if (error != 0) return error;
  memmove(refused->items + at + 1, refused->items + at, (refused->count - at) * sizeof file);
  refused->items[at] = file;
  refused->count++;
  return 0;
}

/* ---- Segments that were visited ---------------------------------------------------------------------------------- */

static int is_visited(const segment_walk *walk, const segment_name *name, uint64_t salt) {
  if (!walk->started || name->base != walk->base) return 0;
  for (uint32_t i = 0; i < walk->salt_count; i++) {
    if (walk->salts[i] == salt) return 1;
  }
  return 0;
}

static void visit(segment_walk *walk, const segment_name *name, uint64_t salt) {
  if (!walk->started || name->base != walk->base) walk->salt_count = 0;
  walk->started = 1;
  walk->base = name->base;
  /* Any number of openings may have died without an event: their segments all have this base. */
  if (walk->salt_count == WALK_SALTS) memmove(walk->salts, walk->salts + 1, --walk->salt_count * sizeof salt);
  walk->salts[walk->salt_count++] = salt;
}

/* ---- Listings ---------------------------------------------------------------------------------------------------- */

static int is_equal(const walk_files *files, const segment_list *list) {
  if (files->count != list->count) return 0;
  for (uint64_t i = 0; i < list->count; i++) {
    walk_file file = file_of(&list->items[i]);
    if (is_before(file, files->items[i]) || is_before(files->items[i], file)) return 0;
  }
  return 1;
}

/* Lists the directory, `again` if the last listing was made just before. 0 or a negative errno. */
static int list_anew(segment_walk *walk, int again) {
  segment_list list;
  int error = segment_list_read(walk->directory, &list);
  if (error != 0) return error;
  if (walk->log_id == 0) error = identity_find(walk->directory, &walk->log_id);
  if (error == 0) error = make_room(&walk->listed, list.count);
  if (error == 0) {
    walk->settled = again && is_equal(&walk->listed, &list);
    for (uint64_t i = 0; i < list.count; i++) walk->listed.items[i] = file_of(&list.items[i]);
    walk->listed.count = list.count;
    walk->at = walk->started ? first_of(&walk->listed, walk->base) : UINT64_MAX;
  }
  segment_list_free(&list);
  return error;
}

/*
 * Whether a walk can begin at a file: it is a segment under its own name. A file that is no segment, an empty segment
 * and a renamed one do not say where an offset lies. A file that can't be opened is an error, so that it is not passed
 * over in silence. -EAGAIN: the file is gone.
 */
static int is_first(const segment_walk *walk, walk_file file) {
  segment_name name = name_of(file);
  segment_scan scan;
  scan_damage damage;
  int error = scan_open_named(&scan, walk->directory, walk->log_id, &name, &damage);
  if (error != 0) return error == -ELOOP ? 0 : error == -ENOENT ? -EAGAIN : 1;
  int renamed = scan.header_valid && scan.header.base_offset != file.base;
  scan_close(&scan);
  return scan.header.salt != 0 && !renamed;
}

/* Before the first visit: finds the last segment that begins at or before `wanted`. 0 or a negative errno. */
static int find_first(segment_walk *walk, uint64_t wanted) {
  const walk_files *listed = &walk->listed;
  uint64_t from = wanted >= MAX_OFFSET ? listed->count : first_of(listed, wanted + 1);
  int found = 0;
  while (from > 0 && found == 0) found = is_first(walk, listed->items[--from]);
  if (found < 0) return found;
  walk->at = found ? first_of(listed, listed->items[from].base) : 0;
  return 0;
}

int segment_walk_log_changed(segment_walk *walk) {
  uint64_t log_id;
  if (identity_find(walk->directory, &log_id) != 0 || log_id == walk->log_id) return 0;
  walk->log_id = log_id;
  return 1;
}

/*
 * Opens the next segment of the listing. -EAGAIN in damage->error: a file is gone, list again. With `peek` the walk
 * stays where it is, and files that are no segments are not reported.
 */
static walk_result open_listed(segment_walk *walk, uint64_t wanted, int peek, segment_scan *scan, segment_name *name,
                                scan_damage *damage) {
  memset(name, 0, sizeof *name);
  memset(damage, 0, sizeof *damage);
  if (walk->at == UINT64_MAX) damage->error = find_first(walk, wanted);
  if (damage->error != 0) return WALK_FAILED;
  for (uint64_t i = walk->at; i < walk->listed.count; i++) {
    walk_file file = walk->listed.items[i];
    if (!peek) walk->at = i;
    if (is_refused(walk, file)) continue;
    *name = name_of(file);
    int error = scan_open_named(scan, walk->directory, walk->log_id, name, damage);
    if (error == 0 && scan->of_another_log && segment_walk_log_changed(walk)) {
      scan_close(scan);
      error = scan_open_named(scan, walk->directory, walk->log_id, name, damage);
    }
    if (error == 0 && scan->header.salt != 0) {
      if (!is_visited(walk, name, scan->header.salt)) {
        if (!peek) walk->at = i + 1;
        return WALK_OPENED;
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
      return WALK_FAILED;
    }
    if (peek) continue;
    damage->error = refuse(walk, file_of(name));
    return damage->error == 0 ? WALK_FOREIGN : WALK_FAILED;
  }
  if (!peek) walk->at = walk->listed.count;
  memset(name, 0, sizeof *name);
  return WALK_NONE;
}

/*
 * Whether the opened segment surely comes next. A listing can miss a file that is renamed meanwhile, but two equal
 * listings cannot both miss it: so a segment after a hole takes two. Without a hole one is enough.
 */
static int is_next(const segment_walk *walk, uint64_t wanted, const segment_scan *scan) {
  return scan->header.base_offset <= wanted || walk->settled;
}

static walk_result find(segment_walk *walk, uint64_t wanted, int peek, segment_scan *scan, segment_name *name,
                         scan_damage *damage) {
  walk_result result = WALK_NONE;
  int listed = 0;
  for (int round = 0;; round++) {
    /* An earlier listing serves until it is used up. Only a new one shows that there is nothing more. */
    if (walk->listed.count > 0 || listed) result = open_listed(walk, wanted, peek, scan, name, damage);
    int again = result == WALK_NONE ? !listed : result == WALK_FAILED && damage->error == -EAGAIN;
    if (result == WALK_OPENED && !peek && !is_next(walk, wanted, scan)) again = 1;
    if (!again || round == MAX_ROUNDS) return result;
    if (result == WALK_OPENED) scan_close(scan);
    int error = list_anew(walk, listed);
    if (error != 0) {
      memset(name, 0, sizeof *name);
      *damage = (scan_damage){.error = error};
      return WALK_FAILED;
    }
    listed = 1;
  }
}

walk_result segment_walk_next(segment_walk *walk, uint64_t wanted, segment_scan *scan, segment_name *name,
                              scan_damage *damage) {
  walk->wanted = wanted;
  walk_result result = find(walk, wanted, 0, scan, name, damage);
  if (result != WALK_OPENED) return result;
  visit(walk, name, scan->header.salt);
  /* Since the listing a segment may have been begun after this one: a hole behind this one proves nothing. */
  if (name->active) walk->settled = 0;
  return result;
}

int segment_walk_goes_on(segment_walk *walk) {
  segment_scan scan;
  segment_name name;
  scan_damage damage;
  switch (find(walk, walk->wanted, 1, &scan, &name, &damage)) {
    case WALK_OPENED:
      scan_close(&scan);
      return 1;
    case WALK_FAILED:
      return damage.error;
    default:
      return 0;
  }
}

void segment_walk_free(segment_walk *walk) {
  free(walk->listed.items);
  free(walk->refused.items);
  memset(&walk->listed, 0, sizeof walk->listed);
  memset(&walk->refused, 0, sizeof walk->refused);
}
