/*
 * recover.c: what an opening does about a log whose writer died.
 *
 *   1. Scan the segments that were not sealed. Damaged blocks are copied to quarantine/.
 *   2. Set the lanes' heads to the log's word, and sync the ring. Under another boot id the ring stays as it is.
 *   3. Seal those segments: a seal after the last good block, cut, sync, rename.
 *   4. Drain the lanes into new segments, by the drainer's own code; seal and sync them.
 *   5. Of a ring that is lost, write so into a segment of its own; then put away what is left of it.
 *   6. Only then the caller replaces the ring.
 *
 * Killed between any two steps, the next opening comes to the same offsets and ids: a segment that is not sealed has
 * the log's word; once it is sealed the heads have it, because 2 comes before 3 and a block's head moves before its
 * seal. Under another boot id the log alone has the word, and what recovery itself wrote counts only once it is sealed,
 * which is when it is on the disk: so a power cut during recovery is one like any other. Damage costs what it hit.
 * Memory: one block, the ring's mapping, and the definitions of one segment.
 */
#define _GNU_SOURCE
#include "recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory.h"
#include "error.h"
#include "handover.h"
#include "lost_ring.h"
#include "notice.h"
#include "quarantine.h"
#include "scan.h"
#include "system.h"

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
  uint8_t last_boot_id[16]; /* of the last segment; zeros where there is none */
  uint64_t least_offset; /* the new opening's offsets start here or later */
  const char *lost;      /* what the log is to say of a ring that can't be read; null: there is none to speak of */
  const char *remains[2]; /* the files, RING_NAME and LOCATOR_NAME, that are put away after that; null: there is none */
  int absent;            /* neither a ring nor a word of it */
  int told;              /* the last that the log holds is the notice of a lost ring */
} recovery;

/* ---- The ring of the dead ---------------------------------------------------------------------------------------- */

static weir_status newer_version(recovery *recovery, const char *name) {
  return fail(recovery->error, WEIR_ERROR_VERSION, 0, recovery->log->path,
              "%s/%s was written by a newer version of Weir; open it with that version", recovery->log->path, name);
}

static const char *ring_path(const recovery *recovery) {
  return locator_path(&recovery->place, recovery->log->path);
}

/* Notes that the ring is lost. What is left of it stays where it is until the log says so. */
static void lose_ring(recovery *recovery, const char *reason, const char *remains) {
  recovery->report->ring_replaced = 1;
  recovery->lost = reason;
  recovery->remains[recovery->remains[0] != NULL] = remains;
}

/* Moves the remains of a lost ring to quarantine/, or a copy, where they lie in another directory. */
static int put_away(recovery *recovery, const char *remains) {
  int home = recovery->log->directory;
  const ring_place *place = &recovery->place;
  int elsewhere = place->where == RING_ELSEWHERE;
  struct stat status;
  int error = elsewhere ? sys_status_at(place->directory, place->name, &status)
                        : sys_status_at(home, remains, &status);
  if (error != 0) return error;
  int result;
  if (elsewhere) {
    int fd = sys_open_read(place->directory, place->name);
    if (fd < 0) return fd;
    result = quarantine_copy(home, fd, RING_NAME, recovery->lost);
    sys_close(fd);
    if (result >= 0 && (error = sys_unlink(place->directory, place->name)) != 0) return error;
  } else {
    result = quarantine_file(home, remains, recovery->lost, 1);
  }
  if (result == QUARANTINE_FULL) recovery->report->unkept_bytes += (uint64_t)status.st_size;
  return result < 0 ? result : 0;
}

/* Whether the lost ring was of another boot; then nobody knows which offsets had been given. */
static int lost_with_boot(const recovery *recovery) {
  if (recovery->dead) return 0;
  const uint8_t *boot_id = recovery->report->ring_vanished ? recovery->place.locator.boot_id : recovery->last_boot_id;
  return !all_zero(boot_id, sizeof recovery->boot_id) &&
         memcmp(boot_id, recovery->boot_id, sizeof recovery->boot_id) != 0;
}

/* Of a lost ring the log tells once, also when this was killed before. */
static weir_status tell_of_lost_ring(recovery *recovery) {
  uint64_t offset = recovery->dead ? recovery->dead->next_offset : recovery->handover.log_end;
  if (offset < recovery->least_offset) offset = recovery->least_offset;
  int left_out = lost_with_boot(recovery);
  if (left_out) recovery->report->rebooted = recovery->report->unknown_tail = 1;
  if (!recovery->told) {
    if (left_out) offset += OFFSETS_LEFT_OUT;
    int error = lost_ring_tell(recovery->log, recovery->dead, recovery->lost, offset,
                               left_out ? SEGMENT_AFTER_CUT : 0, &recovery->last);
    if (error != 0) {
      return fail_system(recovery->error, error, "write that the ring is lost to", recovery->log->path, NULL);
    }
    recovery->least_offset = offset + 1;
  }
  for (int i = 0; i < 2 && recovery->remains[i]; i++) {
    int error = put_away(recovery, recovery->remains[i]);
    if (error != 0) return fail_system(recovery->error, error, "quarantine", ring_path(recovery), recovery->remains[i]);
  }
  return WEIR_OK;
}

/* Reads and checks the header before anything is mapped. */
static int read_ring_header(int fd, ring_header *header) {
  struct stat status;
  int error = sys_status(fd, &status);
  if (error != 0) return error;
  int64_t count = sys_read_at(fd, header, sizeof *header, 0);
  if (count < 0) return (int)count;
  return count == sizeof *header ? ring_check_header(header, (uint64_t)status.st_size) : -EBADMSG;
}

/* Puts entries behind the definitions that are known; types_load, or adopt_missing, says which are looked at. */
static weir_status adopt_definitions(recovery *recovery, const uint8_t *entries, uint64_t bytes) {
  uint64_t total = recovery->definitions_bytes + bytes;
  uint8_t *grown = realloc(recovery->definitions, total + 8);
  if (!grown) {
    return fail(recovery->error, WEIR_ERROR_MEMORY, ENOMEM, recovery->log->path, "out of memory to recover %s",
                recovery->log->path);
  }
  if (bytes > 0) memcpy(grown + recovery->definitions_bytes, entries, bytes);
  recovery->definitions = grown;
  recovery->definitions_bytes = total;
  recovery->dead->definitions = grown;
  return WEIR_OK;
}

/* Of a segment of the dead opening, the definitions that its ring has lost with pages that the disk did not get. */
static weir_status adopt_missing(recovery *recovery, const uint8_t *entries, uint64_t bytes) {
  event_log *dead = recovery->dead;
  uint64_t at = 0;
  for (;;) {
    uint64_t from = at;
    const definition_header *entry = definition_next(entries, bytes, &at, dead->header->opening);
    if (!entry) return WEIR_OK;
    if (entry->type == 0 || entry->type >= MAX_TYPES || entry->bytes > MAX_DEFINITION_BYTES) continue;
    if (dead->types[entry->type].bytes > 0) continue;
    uint32_t place = (uint32_t)recovery->definitions_bytes;
    weir_status status = adopt_definitions(recovery, entries + from, at - from);
    if (status != WEIR_OK) return status;
    dead->types[entry->type] = (type_entry){.at = place, .bytes = (uint32_t)(at - from)};
  }
}

/*
 * The ring is of another boot: nothing of it changes, so that recovery always begins with the same. If the machine went
 * down after a close it has nothing to give, whatever its pages say.
 */
static weir_status distrust(recovery *recovery) {
  event_log *dead = recovery->dead;
  int closed = dead->header->closed == 1;
  recovery->report->rebooted = 1;
  recovery->report->unknown_tail = !closed;
  dead->rebooted = !closed;
  recovery->words = malloc((1 + (uint64_t)dead->lane_count) * LANE_CONTROL_BYTES);
  if (!recovery->words) {
    return fail(recovery->error, WEIR_ERROR_MEMORY, ENOMEM, dead->path, "out of memory to recover %s", dead->path);
  }
  weir_status status = adopt_definitions(recovery, dead->definitions, dead->header->types_bytes);
  if (status != WEIR_OK) return status;
  memcpy(recovery->words, dead->header, RING_HEADER_BYTES);
  dead->header = (ring_header *)(void *)recovery->words;
  for (uint32_t i = 0; i < dead->lane_count; i++) {
    lane_control *copy = (lane_control *)(void *)(recovery->words + (1 + (uint64_t)i) * LANE_CONTROL_BYTES);
    *copy = *dead->lanes[i].control;
    if (closed) memset(copy, 0, sizeof *copy);
    dead->lanes[i].control = copy;
  }
  if (closed) memset(dead->header->unlaned_dropped, 0, sizeof dead->header->unlaned_dropped);
  return WEIR_OK;
}

static weir_status attach_dead(recovery *recovery, int fd) {
  event_log *dead = recovery->dead = calloc(1, sizeof *dead);
  if (!dead) {
    return fail(recovery->error, WEIR_ERROR_MEMORY, ENOMEM, recovery->log->path, "out of memory to recover %s",
                recovery->log->path);
  }
  dead->path = recovery->log->path;
  dead->directory = recovery->log->directory;
  dead->options = recovery->log->options;
  dead->retention = recovery->log->retention;
  weir_status status = ring_attach(dead, fd, recovery->error);
  if (status != WEIR_OK) return status;
  /* A segment must be able to hold any record of this ring, whatever this opening's options are. */
  uint64_t least = LEAST_SEGMENT_BYTES(dead->header->record_bytes);
  if (dead->options.segment_bytes < least) dead->options.segment_bytes = least;
  recovery->report->previous_opening = dead->header->opening;
  if (memcmp(dead->header->boot_id, recovery->boot_id, sizeof recovery->boot_id) != 0) {
    status = distrust(recovery);
    if (status != WEIR_OK) return status;
  }
  ring_calibration(dead->header, &dead->calibration);
  types_load(dead);
  return WEIR_OK;
}

/*
 * Whether an opening died while it made an empty ring, perhaps out of the drained one: then that there is none is no
 * loss. Offsets go on past those that it knew of.
 */
static int ring_being_made(recovery *recovery) {
  int fd = sys_open_read(recovery->place.directory, recovery->place.new_name);
  if (fd < 0) return 0;
  ring_header *header = malloc(sizeof *header);
  if (header && read_ring_header(fd, header) == 0) {
    recovery->least_offset = ring_end(header);
  }
  free(header);
  sys_close(fd);
  return 1;
}

/* Whom to believe about where the ring is. A damaged locator is put away: what it named is lost. */
static weir_status find_ring(recovery *recovery) {
  event_log *log = recovery->log;
  ring_place *place = &recovery->place;
  int error = locator_find(log->directory, place);
  if (error == -ENOTSUP) return newer_version(recovery, LOCATOR_NAME);
  if (error == -EBADMSG) {
    *place = locator_here(log->directory);
    lose_ring(recovery, RING_LOST_DAMAGED, LOCATOR_NAME);
    return WEIR_OK;
  }
  if (error != 0) return fail_system(recovery->error, error, "find the ring of", log->path, NULL);
  if (place->where == RING_VANISHED || place->where == RING_CLOSED) recovery->least_offset = place->locator.next_offset;
  if (place->where == RING_VANISHED) {
    lose_ring(recovery, RING_LOST_VANISHED, NULL);
    recovery->report->ring_vanished = 1;
    recovery->report->previous_opening = place->locator.opening;
  }
  if (place->where != RING_ELSEWHERE || locator_is_safe(log->directory, place->directory) == 1) return WEIR_OK;
  return fail(recovery->error, WEIR_ERROR_UNSAFE, 0, place->locator.path,
              "the ring of %s lies in %s, which belongs to another user, or every user may write to it; correct that",
              log->path, place->locator.path);
}

/*
 * A ring that somebody cut short, whose header is whole: what is left of it is worth having. A copy goes to quarantine/,
 * then it gets its length back, with zeros for what is gone: a lane whose first page is zero has nothing to give, and
 * records that are zero fail their checksums. 1; 0 if it is no such ring; or a negative errno.
 */
static int mend_cut_ring(recovery *recovery, int fd) {
  /* A header may be forged, and this takes room on the disk and in memory: of a larger ring an eighth must be left. */
  enum { SMALL_BYTES = 64 << 20, LEAST_SHARE = 8 };
  ring_header *header = calloc(1, sizeof *header);
  if (!header) return -ENOMEM;
  struct stat status;
  int error = sys_status(fd, &status);
  int64_t count = sys_read_at(fd, header, sizeof *header, 0);
  uint64_t bytes = header->file_bytes;
  int is_cut = error == 0 && count == sizeof *header && ring_check_header(header, UINT64_MAX) == 0 &&
               bytes > (uint64_t)status.st_size &&
               (bytes <= SMALL_BYTES || bytes / LEAST_SHARE <= (uint64_t)status.st_size);
  free(header);
  if (error != 0 || count < 0 || !is_cut) return error != 0 ? error : count < 0 ? (int)count : 0;
  error = quarantine_copy(recovery->log->directory, fd, RING_NAME, "the ring was cut short");
  if (error >= 0) error = sys_allocate(fd, bytes);
  if (error < 0) return error;
  recovery->report->ring_replaced = recovery->report->unknown_tail = 1;
  return 1;
}

static weir_status open_ring(recovery *recovery) {
  weir_status found = find_ring(recovery);
  const ring_place *place = &recovery->place;
  if (found != WEIR_OK || place->where == RING_VANISHED || place->where == RING_CLOSED) return found;
  const char *path = ring_path(recovery);
  int fd = sys_open_write(place->directory, place->name);
  if (fd == -ENOENT) {
    recovery->absent = !recovery->lost;
    if (recovery->list.count > 0 && !ring_being_made(recovery) && !recovery->lost) {
      lose_ring(recovery, RING_LOST_MISSING, NULL);
    }
    return WEIR_OK;
  }
  if (fd < 0) return fail_system(recovery->error, fd, "open", path, place->name);
  ring_header *header = malloc(sizeof *header);
  int error = header ? read_ring_header(fd, header) : -ENOMEM;
  free(header);
  weir_status status = WEIR_OK;
  int mended = error == -EBADMSG ? mend_cut_ring(recovery, fd) : 0;
  if (mended != 0) error = mended < 0 ? mended : 0;
  if (error == -ENOTSUP) status = newer_version(recovery, RING_NAME);
  else if (error == -EBADMSG) lose_ring(recovery, RING_LOST_DAMAGED, RING_NAME);
  else if (error != 0) status = fail_system(recovery->error, error, "read", path, place->name);
  else status = attach_dead(recovery, fd);
  sys_close(fd);
  return status;
}

static void detach_dead(recovery *recovery) {
  event_log *dead = recovery->dead;
  if (!dead) return;
  if (dead->active) {
    if (dead->active->summary.blocks > 0) segment_abandon(dead->active);
    else segment_discard(dead->active);
  }
  ring_detach(dead);
  if (dead->lanes) sys_unmap((uint8_t *)dead->lanes, dead->lane_count * sizeof *dead->lanes);
  free(dead);
  free(recovery->words);
  free(recovery->definitions);
}

/* ---- Segments that were not sealed ------------------------------------------------------------------------------- */

static weir_status segment_failure(recovery *recovery, int error, const char *action, const char *name) {
  if (error == -ENOTSUP) return newer_version(recovery, name);
  return fail_system(recovery->error, error, action, recovery->log->path, name);
}

/* Opens every segment whose version matters, so that a newer one is refused before anything is changed. */
static weir_status check_versions(recovery *recovery) {
  uint64_t from = recovery->first_unsealed > 0 ? recovery->first_unsealed - 1 : 0;
  for (uint64_t i = from; i < recovery->list.count; i++) {
    segment_name *name = &recovery->list.items[i];
    segment_scan scan;
    scan_damage damage;
    int error = scan_open(&scan, recovery->log->directory, name->name, name->base, name->active, &damage);
    if (error != 0) return segment_failure(recovery, error, "open", name->name);
    scan_close(&scan);
  }
  return WEIR_OK;
}

static void find_first_unsealed(recovery *recovery) {
  const segment_list *list = &recovery->list;
  recovery->first_unsealed = 0;
  while (recovery->first_unsealed < list->count && !list->items[recovery->first_unsealed].active) {
    recovery->first_unsealed++;
  }
}

/*
 * Moves a file away that has a sealed segment's name, but neither its header nor one of its blocks: a new segment may
 * need the name.
 */
static weir_status remove_foreign(recovery *recovery, uint64_t index) {
  segment_list *list = &recovery->list;
  segment_name *name = &list->items[index];
  int error = quarantine_file(recovery->log->directory, name->name, FOREIGN_PROBLEM, 0);
  if (error != 0) return segment_failure(recovery, error, "quarantine", name->name);
  memmove(name, name + 1, (list->count - index - 1) * sizeof *name);
  recovery->first_unsealed--;
  list->count--;
  recovery->report->damaged_blocks++;
  return WEIR_OK;
}

/* Takes into the list what was left out of it: the sealed segments before the last. */
static weir_status list_all(recovery *recovery) {
  segment_list_free(&recovery->list);
  int error = segment_list_read(recovery->log->directory, &recovery->list);
  if (error != 0) return segment_failure(recovery, error, "list", NULL);
  recovery->whole_list = 1;
  find_first_unsealed(recovery);
  return WEIR_OK;
}

/*
 * Without a ring only a sealed segment's own end says which offsets had been given, and this one has lost it: no more
 * than as many as fit between the last good block and the end that the file once had. A hole that is too wide is told
 * of; an offset given twice would hide an event from every reader.
 */
static void pass_lost_end(recovery *recovery, const segment_scan *scan) {
  uint64_t end = scan->file_bytes, capacity = scan->header.capacity;
  if (scan->header_valid && capacity > end && capacity <= MAX_SEGMENT_BYTES) end = capacity;
  uint64_t most = end > scan->position ? (end - scan->position) / sizeof(record_header) : 0;
  uint64_t offset = scan->next_offset + most;
  if (!recovery->dead && offset > recovery->least_offset) recovery->least_offset = offset;
}

/* One sealed segment: where the log ends so far. `*settled`: its name is its own, so those before it say no more. */
static weir_status take_sealed(recovery *recovery, const segment_name *name, int *foreign, int *settled) {
  segment_scan scan;
  scan_damage damage;
  int error = scan_open(&scan, recovery->log->directory, name->name, name->base, name->active, &damage);
  if (error != 0) return segment_failure(recovery, error, "open", name->name);
  *foreign = scan.header.salt == 0;
  *settled = !*foreign && scan.header.base_offset == name->base;
  if (*foreign) {
    scan_close(&scan);
    return WEIR_OK;
  }
  if (scan_seal(&scan) != 0) {
    /* Its seal is damaged: read it through, for the log's end. */
    scan_result result;
    do result = scan_next(&scan, 1, &damage);
    while (result == SCAN_BLOCK || result == SCAN_DAMAGE);
    if (result == SCAN_ERROR) {
      scan_close(&scan);
      return segment_failure(recovery, damage.error, "read", name->name);
    }
    if (result == SCAN_TAIL) pass_lost_end(recovery, &scan);
  }
  weir_status status = WEIR_OK;
  if (recovery->dead && recovery->dead->rebooted && scan.header.opening == recovery->dead->header->opening &&
      scan_summary(&scan)) {
    status = adopt_missing(recovery, scan_seal_definitions(&scan), scan_summary(&scan)->definition_bytes);
  }
  error = handover_sealed(&recovery->handover, &scan);
  if (all_zero(recovery->last_boot_id, sizeof recovery->last_boot_id)) {
    memcpy(recovery->last_boot_id, scan.header.boot_id, sizeof recovery->last_boot_id);
  }
  if (recovery->last.salt == 0) {
    recovery->last = (segment_end){.salt = scan.header.salt, .end = scan.file_bytes, .base = name->base};
    recovery->told = lost_ring_is_told(&scan);
    if (recovery->told < 0 && error == 0) error = recovery->told;
  }
  scan_close(&scan);
  if (status != WEIR_OK) return status;
  return error == 0 ? WEIR_OK : segment_failure(recovery, error, "read", name->name);
}

/*
 * The last sealed segment, and what the next header says of its predecessor. Somebody else's files with such a name are
 * put away; behind a segment that somebody renamed, those before it are asked too, up to one whose name is its own.
 */
static weir_status take_last_sealed(recovery *recovery) {
  int settled = 0, foreign;
  uint64_t left = recovery->first_unsealed;
  while (left > 0 && !settled) {
    left--;
    weir_status status = take_sealed(recovery, &recovery->list.items[left], &foreign, &settled);
    if (status == WEIR_OK && foreign) status = remove_foreign(recovery, left);
    if (status == WEIR_OK && left == 0 && !settled && !recovery->whole_list) {
      status = list_all(recovery);
      left = recovery->first_unsealed;
    }
    if (status != WEIR_OK) return status;
  }
  return WEIR_OK;
}

static weir_status recover_segments(recovery *recovery, unsealed *found) {
  uint64_t count = recovery->list.count - recovery->first_unsealed;
  for (uint64_t i = 0; i < count; i++) {
    segment_name *name = &recovery->list.items[recovery->first_unsealed + i];
    int error = unsealed_scan(&found[i], recovery->log->directory, name, recovery->dead, &recovery->handover,
                              recovery->report);
    if (error != 0) return segment_failure(recovery, error, "recover", name->name);
    /* The notice of a lost ring is a segment by itself, which a kill may have left unsealed. */
    const seal_summary *sums = &found[i].summary;
    if (!found[i].empty && found[i].salt != 0) {
      recovery->told = found[i].ring_told == 1 && sums->notices == 1 && sums->events == 0;
    }
    memcpy(recovery->last_boot_id, found[i].boot_id, sizeof recovery->last_boot_id);
    if (recovery->dead && recovery->dead->rebooted && found[i].opening == recovery->dead->header->opening) {
      weir_status status = adopt_missing(recovery, found[i].definitions, found[i].definitions_bytes);
      if (status != WEIR_OK) return status;
    }
    /* Without a ring, which knows exactly, a damaged last block's own word says which offsets had been given. */
    if (!recovery->dead && found[i].damaged_end > recovery->least_offset) recovery->least_offset = found[i].damaged_end;
  }
  return WEIR_OK;
}

/* A segment that had to take another name must not be in the way of the next. */
static void pass_name(recovery *recovery) {
  uint64_t least = recovery->last.salt != 0 ? recovery->last.base + 1 : 0;
  if (recovery->least_offset < least) recovery->least_offset = least;
  event_log *dead = recovery->dead;
  if (dead && dead->next_offset < least) dead->next_offset = dead->header->log_end = least;
}

static weir_status seal_segments(recovery *recovery, unsealed *found) {
  int directory = recovery->log->directory;
  segment_name *names = recovery->list.items + recovery->first_unsealed;
  uint64_t count = recovery->list.count - recovery->first_unsealed;
  for (uint64_t i = 0; i < count; i++) {
    int error = unsealed_seal(&found[i], directory, &names[i], recovery->dead);
    if (error != 0) return segment_failure(recovery, error, "seal", names[i].name);
  }
  uint64_t *sync_failed = recovery->dead ? ring_sync_failed(recovery->dead) : NULL;
  for (uint64_t i = 0; i < count; i++) {
    int error = unsealed_retire(&found[i], directory, &names[i], sync_failed, &recovery->last);
    if (error != 0) return segment_failure(recovery, error, "seal", names[i].name);
    pass_name(recovery);
  }
  int error = count > 0 ? sys_sync_directory(directory) : 0;
  return error == 0 ? WEIR_OK : fail_system(recovery->error, error, "sync", recovery->log->path, NULL);
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

/* Segments just large enough, because the disk may be full. */
static void choose_segment_bytes(event_log *dead) {
  uint64_t bytes = LEAST_SEGMENT_BYTES(dead->header->record_bytes) + 2 * dead->header->types_bytes;
  for (uint32_t i = 0; i < dead->lane_count; i++) {
    uint64_t left = dead->lanes[i].control->tail - head_position(dead->lanes[i].control->head);
    bytes += left < dead->header->lane_bytes ? left : dead->header->lane_bytes;
  }
  bytes = (bytes + 4095) & ~UINT64_C(4095);
  if (dead->options.segment_bytes > bytes) dead->options.segment_bytes = bytes;
}

/* Before anything is changed: a log whose offsets are forged, since no log comes to that many events. */
static weir_status used_up(recovery *recovery) {
  return fail(recovery->error, WEIR_ERROR_LIMIT, 0, recovery->log->path,
              "the log %s has no offsets left to give, which only forged ones explain; begin a log in another directory",
              recovery->log->path);
}

/* Sets the lanes to what recovery has to drain: from the log's word on, up to the tail. */
static weir_status settle_heads(recovery *recovery) {
  event_log *dead = recovery->dead;
  handover *handover = &recovery->handover;
  dead->calibration = handover_calibration(handover, dead->header);
  uint64_t known = ring_end(dead->header), end = handover_start_offset(handover, known);
  if (handover->rebooted) {
    recovery->report->missing_events += handover->missing;
  } else if (known > handover->log_end && handover->log_end >= dead->header->base_offset) {
    recovery->report->missing_events += known - handover->log_end;
  }
  if (end > LAST_FIRST_OFFSET) return used_up(recovery);
  dead->next_offset = dead->header->log_end = end;
  for (uint32_t i = 0; i < dead->lane_count; i++) {
    lane_control *control = dead->lanes[i].control;
    lane_view view = ring_lane_view(dead, i);
    uint64_t from, to;
    handover_lane(handover, &view, i, control, &from, &to);
    evicted evicted = handover_evicted(control);
    control->evicted_to = evicted.to;
    control->evicted_total = evicted.total;
    /* The flags go last: killed before, the next recovery finds the eviction as it was. */
    __atomic_store_n(&control->head, from, __ATOMIC_RELEASE);
    control->tail = to;
    dead->lanes[i].handed = handover_accounted(handover, i, from);
    dead->lanes[i].records = handover_records(handover, i);
    recovery->report->lanes_drained += from < to;
    for (int32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
      uint64_t *reported = &control->reported[reason - 1];
      *reported = handover_reported(handover, i, reason, *reported);
    }
  }
  for (int32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    uint64_t *reported = &dead->header->unlaned_reported[reason];
    *reported = handover_reported(handover, WEIR_MAX_LANES, reason, *reported);
  }
  int error = sys_sync_mapped(dead->ring, dead->ring_bytes);
  return error == 0 ? WEIR_OK : fail_system(recovery->error, error, "sync", dead->path, RING_NAME);
}

/* Events that gap records tell of: refused ones, or overwritten ones. */
static uint64_t reported_so_far(const event_log *dead, int overwritten) {
  uint64_t sum = 0;
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    if ((reason == WEIR_LOST_OVERWRITTEN) != overwritten) continue;
    sum += dead->header->unlaned_reported[reason];
    for (uint32_t i = 0; i < dead->lane_count; i++) sum += dead->lanes[i].control->reported[reason - 1];
  }
  return sum;
}

static weir_status drain_dead(recovery *recovery) {
  event_log *dead = recovery->dead;
  dead->previous = recovery->last;
  choose_segment_bytes(dead);
  uint64_t moved, refused = reported_so_far(dead, 0), overwritten = reported_so_far(dead, 1);
  dead->after_cut = dead->rebooted;
  int told = !dead->rebooted || recovery->handover.after_cut || drain_tail_notice(dead);
  drain_result result = told ? drain_all(dead, &moved) : DRAIN_STALLED;
  recovery->report->missing_events += dead->missing;
  recovery->report->events_from_lanes = dead->counters.drained;
  recovery->report->damaged_records = dead->counters.damaged;
  recovery->report->unkept_bytes += dead->unkept_bytes;
  recovery->report->dropped = reported_so_far(dead, 0) - refused;
  recovery->report->overwritten = reported_so_far(dead, 1) - overwritten;
  if (result == DRAIN_STALLED) {
    return fail_system(recovery->error, -dead->storage_errno, "write recovered events to", dead->path, NULL);
  }
  if (!dead->active) return WEIR_OK;
  recovery->told = 0;
  drain_seal_active(dead);
  recovery->last = dead->previous;
  int error = sealer_change(dead, NULL);
  return error == 0 ? WEIR_OK : fail_system(recovery->error, error, "sync recovered events in", dead->path, NULL);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int is_leftover(const char *name) {
  uint64_t prefix = strlen(PREPARED_PREFIX);
  if (strncmp(name, PREPARED_PREFIX, prefix) != 0) return strcmp(name, RING_NEW_NAME) == 0;
  return name[prefix] != 0 && name[prefix + strspn(name + prefix, "0123456789")] == 0; /* else it is somebody's */
}

/* Notes a name that is no segment's, while the segments are listed. */
static int note_leftover(void *context, const char *name) {
  leftovers *leftovers = context;
  if (!is_leftover(name)) return 0;
  uint64_t room = sizeof leftovers->names / sizeof *leftovers->names, longest = sizeof *leftovers->names - 1;
  if (leftovers->count == room || strlen(name) > longest) {
    leftovers->more = 1;
  } else {
    strcpy(leftovers->names[leftovers->count++], name);
  }
  return 0;
}

/*
 * Removes a file that holds no event. Without a ring, the one that was being made stays: it says that nothing is lost,
 * and becomes the ring.
 */
static int remove_leftover(void *context, const char *name) {
  const recovery *recovery = context;
  if (!is_leftover(name) || (!recovery->dead && strcmp(name, RING_NEW_NAME) == 0)) return 0;
  int error = sys_unlink(recovery->log->directory, name);
  return error == -ENOENT ? 0 : error;
}

static weir_status remove_leftovers(recovery *recovery) {
  int error = 0;
  for (uint32_t i = 0; i < recovery->leftovers.count && error == 0; i++) {
    error = remove_leftover(recovery, recovery->leftovers.names[i]);
  }
  if (error == 0 && recovery->leftovers.more) {
    error = sys_list(recovery->log->directory, remove_leftover, recovery);
  }
  if (error == 0) error = locator_clear(recovery->log->directory, &recovery->place, recovery->dead != NULL);
  if (error == -ENOTSUP) return newer_version(recovery, LOCATOR_NEW_NAME);
  return error == 0 ? WEIR_OK : fail_system(recovery->error, error, "clear leftovers from", recovery->log->path, NULL);
}

static weir_status run(recovery *recovery) {
  event_log *log = recovery->log;
  weir_status status = check_versions(recovery);
  if (status == WEIR_OK) status = open_ring(recovery);
  if (status == WEIR_OK) status = remove_leftovers(recovery);
  if (status != WEIR_OK) return status;
  const event_log *dead = recovery->dead;
  handover_start(&recovery->handover, dead ? dead->header->opening : 0, dead && dead->rebooted);
  if (dead) recovery->dead->handover = &recovery->handover;
  status = take_last_sealed(recovery);
  if (status != WEIR_OK) return status;

  uint64_t count = recovery->list.count - recovery->first_unsealed;
  unsealed *found = calloc(count + 1, sizeof *found);
  if (!found) {
    return fail(recovery->error, WEIR_ERROR_MEMORY, ENOMEM, log->path, "out of memory to recover %s", log->path);
  }
  status = recover_segments(recovery, found);
  if (status == WEIR_OK && recovery->dead) status = settle_heads(recovery);
  if (status == WEIR_OK) status = seal_segments(recovery, found);
  for (uint64_t i = 0; i < count; i++) unsealed_free(&found[i]);
  free(found);
  if (status == WEIR_OK && recovery->dead) status = drain_dead(recovery);
  if (status == WEIR_OK && recovery->lost) status = tell_of_lost_ring(recovery);
  /* One that was killed after it put the remains away could not report it. */
  if (recovery->absent && recovery->told) recovery->report->ring_replaced = 1;
  return status;
}

weir_status recover(event_log *log, weir_recovery *report, uint64_t *next_offset, weir_error *error) {
  recovery *recovery = calloc(1, sizeof *recovery);
  if (!recovery) return fail(error, WEIR_ERROR_MEMORY, ENOMEM, log->path, "out of memory to recover %s", log->path);
  recovery->log = log;
  recovery->report = report;
  recovery->error = error;
  recovery->place = locator_here(log->directory);
  weir_status status = WEIR_OK;
  int result = sys_boot_id(recovery->boot_id);
  if (result == 0 || result == -ENOENT) {
    result = segment_list_tail(log->directory, &recovery->list, note_leftover, &recovery->leftovers);
  }
  if (result != 0) {
    status = fail_system(error, result, "list", log->path, NULL);
  } else {
    find_first_unsealed(recovery);
    status = run(recovery);
  }
  report->segments_scanned = recovery->list.count - recovery->first_unsealed;
  if (status == WEIR_OK) {
    *next_offset = recovery->dead ? recovery->dead->next_offset : recovery->handover.log_end;
    if (*next_offset < recovery->least_offset) *next_offset = recovery->least_offset;
    if (*next_offset < log->start_offset) *next_offset = log->start_offset;
    if (*next_offset > LAST_FIRST_OFFSET) status = used_up(recovery);
    log->previous = recovery->last;
    report->was_clean = !report->ring_replaced && !report->unknown_tail && report->segments_scanned == 0 &&
                        report->events_from_lanes == 0 && report->dropped == 0 && report->overwritten == 0 &&
                        report->damaged_records == 0;
  }
  detach_dead(recovery);
  locator_leave(&recovery->place);
  segment_list_free(&recovery->list);
  free(recovery);
  return status;
}
