/*
 * recover.c: what an opening does about a log whose writer died.
 *
 *   1. Scan the unsealed segments. Damaged blocks are copied to quarantine/.
 *   2. Set the lanes' heads to the positions in the log. Under another boot id the ring stays as it is.
 *   3. Seal those segments: write a seal after the last good block, truncate, sync, rename.
 *   4. Write what the replay of the ring yields (see orphan.h) into new segments; seal and sync them.
 *   5. If a ring is lost, write the notice in a segment of its own; then quarantine the ring's remains.
 *   6. Only then may the caller replace the ring: ring_create requires the word that it is spent, which recovery
 *      gives at its end.
 *
 * If recovery is killed between two steps, the next opening gives the same offsets and ids. The blocks of an unsealed
 * segment say how far each lane was drained. Once it is sealed the heads say so, because step 2 comes before step 3
 * and step 4 moves the heads before it seals a segment. Under another boot id only the log counts, and recovery's
 * own segments count only once they are sealed and thus on the disk: a power cut during recovery is like any other.
 * The ring needs no sync: a kill leaves the page cache, and after a power cut no head is trusted. Damage costs only
 * what it hit. Memory: one block, one lane, and the definitions of the ring and of one segment.
 */
#include "recover/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch/batch.h"
#include "directory/quarantine.h"
#include "directory/segment_list.h"
#include "format/ring_header.h"
#include "recover/interrupted.h"
#include "recover/lost_ring.h"
#include "recover/orphan_ring.h"
#include "recover/recovery.h"
#include "recover/unsealed.h"
#include "segment/scan.h"
#include "system/bytes.h"
#include "system/error.h"
#include "system/system.h"

/* ---- Segments that were not sealed ------------------------------------------------------------------------------- */

static weir_status segment_failure(recovery *recovery, int error, const char *action, const char *name) {
  if (error == -ENOTSUP) return fail_newer(recovery->error, recovery->held->path, name);
  return fail_system(recovery->error, error, action, recovery->held->path, name);
}

/* Opens every segment whose version matters, so that a newer one is refused before anything is changed. */
static weir_status check_versions(recovery *recovery) {
  uint64_t from = recovery->first_unsealed > 0 ? recovery->first_unsealed - 1 : 0;
  for (uint64_t i = from; i < recovery->list.count; i++) {
    segment_name *name = &recovery->list.items[i];
    segment_scan scan;
    scan_damage damage;
    int error = scan_open(&scan, recovery->held->directory, recovery->held->log_id, name->name, name->base,
                          name->active, &damage);
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
 * Quarantines a file with a sealed segment's name that is no segment, or another log's: a new segment may need the
 * name.
 */
static weir_status remove_foreign(recovery *recovery, uint64_t index, const char *problem) {
  segment_list *list = &recovery->list;
  segment_name *name = &list->items[index];
  int error = quarantine_file(recovery->held->directory, name->name, problem, 0);
  if (error != 0) return segment_failure(recovery, error, "quarantine", name->name);
  memmove(name, name + 1, (list->count - index - 1) * sizeof *name);
  recovery->first_unsealed--;
  list->count--;
  recovery->found.damaged_blocks++;
  return WEIR_OK;
}

/* Lists the segments again, with all sealed ones: the first list has only the last of them. */
static weir_status list_all(recovery *recovery) {
  segment_list_free(&recovery->list);
  int error = segment_list_read(recovery->held->directory, &recovery->list);
  if (error != 0) return segment_failure(recovery, error, "list", NULL);
  recovery->whole_list = 1;
  find_first_unsealed(recovery);
  return WEIR_OK;
}

/*
 * Without a ring only the sealed segment's end says which offsets were given, and this segment has lost its end. So the
 * next offset leaves room for as many events as fit between the last good block and the end that the file once had. A
 * gap that is too wide is reported; an offset given twice would hide an event from every reader.
 */
static void pass_lost_end(recovery *recovery, const segment_scan *scan) {
  uint64_t end = scan->file_bytes, capacity = scan->header.capacity;
  if (scan->header_valid && capacity > end && capacity <= MAX_SEGMENT_BYTES) end = capacity;
  uint64_t most = end > scan->position ? (end - scan->position) / sizeof(record_header) : 0;
  uint64_t offset = scan->next_offset + most;
  if (!recovery->orphan && offset > recovery->least_offset) recovery->least_offset = offset;
}

/*
 * Reads one sealed segment. Sets `*settled` if earlier segments say nothing more: its file name agrees with its header,
 * so that they cannot move the end of the log, and drained_settles.
 */
static weir_status take_sealed(recovery *recovery, const segment_name *name, const char **foreign, int *settled) {
  segment_scan scan;
  scan_damage damage;
  int error = scan_open(&scan, recovery->held->directory, recovery->held->log_id, name->name, name->base,
                        name->active, &damage);
  if (error != 0) return segment_failure(recovery, error, "open", name->name);
  *foreign = scan.header.salt == 0 ? damage.reason : NULL;
  *settled = !*foreign && scan.header.base_offset == name->base && drained_settles(&recovery->drained, &scan);
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
  const seal_summary *seal = scan_summary(&scan);
  error = 0;
  if (recovery->orphan && seal && scan.header.opening == recovery->types.opening) {
    error = orphan_types_adopt(&recovery->types, scan_seal_definitions(&scan), seal->definition_bytes);
  }
  if (error == 0) error = drained_sealed(&recovery->drained, &scan);
  if (bytes_are_zero(recovery->last_boot_id, sizeof recovery->last_boot_id)) {
    memcpy(recovery->last_boot_id, scan.header.boot_id, sizeof recovery->last_boot_id);
  }
  if (recovery->last.salt == 0) {
    recovery->last = (segment_end){.salt = scan.header.salt, .end = scan.file_bytes, .base = name->base};
    recovery->last_opening = scan.header.opening;
    recovery->loss_reported = lost_ring_is_reported(&scan);
    if (recovery->loss_reported < 0 && error == 0) error = recovery->loss_reported;
  }
  scan_close(&scan);
  return error == 0 ? WEIR_OK : segment_failure(recovery, error, "read", name->name);
}

/*
 * Reads the last sealed segment, and sets what the next header says of its predecessor. Foreign files with a sealed
 * name are quarantined. Earlier segments are read too, back to one that settles the rest.
 */
static weir_status take_last_sealed(recovery *recovery) {
  int settled = 0;
  const char *foreign = NULL;
  uint64_t left = recovery->first_unsealed;
  while (left > 0 && !settled) {
    left--;
    weir_status status = take_sealed(recovery, &recovery->list.items[left], &foreign, &settled);
    if (status == WEIR_OK && foreign) status = remove_foreign(recovery, left, foreign);
    if (status == WEIR_OK && left == 0 && !settled && !recovery->whole_list) {
      status = list_all(recovery);
      left = recovery->first_unsealed;
    }
    if (status != WEIR_OK) return status;
  }
  return WEIR_OK;
}

/*
 * Counts the offsets between `end`, the log's end so far, and an unsealed segment: somebody deleted or renamed the
 * segments between. Offsets before the dead opening's first one are not its loss. After a power cut the records'
 * indices count the missing events.
 */
static void count_missing_before(recovery *recovery, const unsealed *found, uint64_t end) {
  if (recovery->drained.rebooted || found->salt == 0) return;
  const orphan *orphan = recovery->orphan;
  int of_orphan = orphan && found->opening == orphan->header.opening;
  if (!of_orphan && found->opening != recovery->last_opening) return;
  if (of_orphan && end < orphan->header.base_offset) end = orphan->header.base_offset;
  if (end < recovery->site->start_offset) end = recovery->site->start_offset;
  if (end < recovery->counted_to) end = recovery->counted_to;
  if (found->base > end) recovery->found.missing_events += found->base - end;
}

/* Adds what a scan found to the losses, and what the notices of a segment say that an earlier recovery wrote. */
static void count_losses(recovery *recovery, const unsealed *found, const segment_name *name,
                         const unreported *losses) {
  unreported *sums = &recovery->found;
  uint64_t base = found->salt != 0 ? found->base : name->base;
  if (base < recovery->counted_to) return;
  sums->missing_events += losses->missing_events;
  sums->damaged_blocks += losses->damaged_blocks;
  sums->damaged_bytes += losses->damaged_bytes;
  sums->unkept_bytes += losses->unkept_bytes;
  if (!found->drained) return;
  sums->missing_events += found->hole_events;
  sums->damaged_records += found->holes;
}

static weir_status recover_segments(recovery *recovery, unsealed *found) {
  uint64_t count = recovery->list.count - recovery->first_unsealed;
  for (uint64_t i = 0; i < count; i++) {
    segment_name *name = &recovery->list.items[recovery->first_unsealed + i];
    uint64_t end = recovery->drained.log_end;
    const log_lock *held = recovery->held;
    unreported losses = {0};
    int error = unsealed_scan(&found[i], held->directory, held->log_id, name, recovery->orphan, &recovery->drained,
                              &losses, recovery->report);
    if (error != 0) return segment_failure(recovery, error, "recover", name->name);
    count_losses(recovery, &found[i], name, &losses);
    count_missing_before(recovery, &found[i], end);
    if (found[i].salt != 0) recovery->last_opening = found[i].opening;
    /* The notice of a lost ring is a segment by itself, which a kill may have left unsealed. */
    const seal_summary *sums = &found[i].summary;
    if (found[i].fate != FATE_REMOVED && found[i].salt != 0) {
      recovery->loss_reported = found[i].ring_losses == 1 && sums->notices == 1 && sums->events == 0;
    }
    memcpy(recovery->last_boot_id, found[i].boot_id, sizeof recovery->last_boot_id);
    if (recovery->orphan && found[i].opening == recovery->types.opening) {
      error = orphan_types_adopt(&recovery->types, found[i].definitions, found[i].definitions_bytes);
      if (error != 0) return segment_failure(recovery, error, "recover", name->name);
    }
    /* A ring knows exactly which offsets were given. Without one, the header of a damaged last block says so. */
    if (!recovery->orphan && recovery->least_offset < found[i].damaged_end) {
      recovery->least_offset = found[i].damaged_end;
    }
  }
  return WEIR_OK;
}

/* If a segment had to take a higher name, new offsets start after that name: the next segment needs a free one. */
static void pass_name(recovery *recovery) {
  uint64_t least = recovery->last.salt != 0 ? recovery->last.base + 1 : 0;
  if (recovery->least_offset < least) recovery->least_offset = least;
  if (recovery->orphan && recovery->orphan->next_offset < least) recovery->orphan->next_offset = least;
}

static weir_status seal_segments(recovery *recovery, unsealed *found) {
  int directory = recovery->held->directory;
  segment_name *names = recovery->list.items + recovery->first_unsealed;
  uint64_t count = recovery->list.count - recovery->first_unsealed;
  for (uint64_t i = 0; i < count; i++) {
    int error = unsealed_seal(&found[i], directory, &names[i], &recovery->types);
    if (error != 0) return segment_failure(recovery, error, "seal", names[i].name);
  }
  uint64_t *sync_failed = orphan_ring_sync_failed(recovery);
  for (uint64_t i = 0; i < count; i++) {
    int error = unsealed_finish(&found[i], directory, &names[i], sync_failed, &recovery->last);
    if (error != 0) return segment_failure(recovery, error, "seal", names[i].name);
    pass_name(recovery);
  }
  int error = count > 0 ? sys_sync_directory(directory) : 0;
  recovery->sealed = error == 0;
  return error == 0 ? WEIR_OK : fail_system(recovery->error, error, "sync", recovery->held->path, NULL);
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

/* Refuses a log with forged offsets: no log reaches that many events. */
static weir_status used_up(recovery *recovery) {
  return fail(recovery->error, WEIR_ERROR_LIMIT, 0, recovery->held->path,
              "the log %s has no offsets left to give, which only forged ones explain; begin a log in another "
              "directory",
              recovery->held->path);
}

/* Begins the replay of the ring, and sets each lane's head and tail in the ring to what is to be drained. */
static weir_status begin_replay(recovery *recovery) {
  orphan *orphan = recovery->orphan;
  const drained *drained = &recovery->drained;
  orphan->drained = *drained;
  orphan_begin(orphan);
  if (drained->rebooted) {
    recovery->found.missing_events += drained->missing;
  } else {
    uint64_t from = drained->log_end, known = ring_header_end(&orphan->header);
    if (from < recovery->counted_to) from = recovery->counted_to;
    if (from < orphan->header.base_offset) from = orphan->header.base_offset;
    if (from < recovery->site->start_offset) from = recovery->site->start_offset;
    if (known > from) recovery->found.missing_events += known - from;
  }
  if (orphan->start_offset > LAST_FIRST_OFFSET) return used_up(recovery);
  redo *redo = &recovery->redo;
  redo->site = recovery->site;
  redo->page_lost = &recovery->page_lost;
  redo->ring = orphan;
  redo->types = &recovery->types;
  redo->sync_failed = orphan_ring_sync_failed(recovery);
  redo->found = &recovery->found;
  redo->counted_to = recovery->counted_to;
  int error = redo_begin(redo);
  for (uint32_t i = 0; i < orphan->header.lane_count; i++) {
    recovery->report->lanes_drained += orphan->from[i] < orphan->to[i];
  }
  if (error == 0) return WEIR_OK;
  return fail_system(recovery->error, error, "read the ring of", recovery->held->path, NULL);
}

static weir_status write_replay(recovery *recovery) {
  redo *redo = &recovery->redo;
  weir_recovery *report = recovery->report;
  int error = redo_run(redo, &recovery->last);
  report->events_from_lanes = redo->events;
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    if (reason == WEIR_LOST_OVERWRITTEN) report->overwritten += redo->dropped[reason];
    else if (reason == WEIR_DROP_SAMPLED) report->sampled += redo->dropped[reason];
    else report->dropped += redo->dropped[reason];
  }
  if (error != 0) {
    return fail_system(recovery->error, error, "write recovered events to", recovery->held->path, NULL);
  }
  if (redo->segments > 0) recovery->loss_reported = 0;
  recovery->last = redo->previous;
  return WEIR_OK;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int is_leftover(const char *name) {
  uint64_t prefix = strlen(PREPARED_PREFIX);
  if (batch_is_temporary(name)) return 1;
  if (strcmp(name, RECOVERY_NEW_NAME) == 0) return 1;
  if (strncmp(name, PREPARED_PREFIX, prefix) != 0) return strcmp(name, RING_NEW_NAME) == 0;
  return name[prefix] != 0 && name[prefix + strspn(name + prefix, "0123456789")] == 0; /* else the file is not Weir's */
}

/* Called for each name that is no segment's while the segments are listed. Keeps the names of leftovers. */
static int note_leftover(void *context, const char *name) {
  leftovers *leftovers = (struct leftovers *)context;
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
 * Removes a leftover; no leftover holds an event. If there is no ring, a half-made one stays: it shows that nothing is
 * lost, and becomes the new ring.
 */
static int remove_leftover(void *context, const char *name) {
  const recovery *recovery = (const struct recovery *)context;
  if (!is_leftover(name) || (!recovery->orphan && strcmp(name, RING_NEW_NAME) == 0)) return 0;
  if (batch_is_temporary(name)) return batch_remove_temporary(recovery->held->directory, name);
  int error = sys_unlink(recovery->held->directory, name);
  return error == -ENOENT ? 0 : error;
}

static weir_status remove_leftovers(recovery *recovery) {
  int error = 0;
  for (uint32_t i = 0; i < recovery->leftovers.count && error == 0; i++) {
    error = remove_leftover(recovery, recovery->leftovers.names[i]);
  }
  if (error == 0 && recovery->leftovers.more) {
    error = sys_list(recovery->held->directory, remove_leftover, recovery);
  }
  if (error == 0) error = locator_clear(recovery->held->directory, &recovery->place, recovery->orphan != NULL);
  if (error == -ENOTSUP) return fail_newer(recovery->error, recovery->held->path, LOCATOR_NEW_NAME);
  if (error == 0) return WEIR_OK;
  return fail_system(recovery->error, error, "clear leftovers from", recovery->held->path, NULL);
}

/* Before anything is sealed: see unreported.h. */
static weir_status store_losses(recovery *recovery) {
  uint64_t end = recovery->orphan ? recovery->orphan->start_offset : recovery->drained.log_end;
  if (end < recovery->least_offset) end = recovery->least_offset;
  if (recovery->report->unknown_tail) recovery->found.flags |= UNREPORTED_TAIL;
  int error = unreported_store(recovery->held, &recovery->found, end);
  if (error == 0) return WEIR_OK;
  return fail_system(recovery->error, error, "store what was found to be lost in", recovery->held->path, NULL);
}

static weir_status run(recovery *recovery) {
  weir_status status = check_versions(recovery);
  if (status == WEIR_OK) status = orphan_ring_open(recovery);
  if (status == WEIR_OK) status = interrupted_take(recovery);
  if (status == WEIR_OK) status = remove_leftovers(recovery);
  if (status != WEIR_OK) return status;
  const orphan *orphan = recovery->orphan;
  drained_start(&recovery->drained, orphan ? &orphan->header : NULL, orphan && orphan->rebooted);
  recovery->drained.counted_to = recovery->counted_to;
  status = take_last_sealed(recovery);
  if (status != WEIR_OK) return status;

  uint64_t count = recovery->list.count - recovery->first_unsealed;
  unsealed *found = (unsealed *)calloc(count + 1, sizeof *found);
  if (!found) {
    return fail(recovery->error, WEIR_ERROR_MEMORY, ENOMEM, recovery->held->path, "out of memory to recover %s",
                recovery->held->path);
  }
  status = recover_segments(recovery, found);
  if (status == WEIR_OK && recovery->orphan) status = begin_replay(recovery);
  if (status == WEIR_OK) status = store_losses(recovery);
  if (status == WEIR_OK) status = seal_segments(recovery, found);
  for (uint64_t i = 0; i < count; i++) unsealed_free(&found[i]);
  free(found);
  if (status == WEIR_OK && recovery->orphan) status = write_replay(recovery);
  if (status == WEIR_OK && recovery->lost) status = orphan_ring_report_lost(recovery);
  /* If an earlier recovery was killed after it quarantined the remains, it could not report the loss. */
  if (recovery->absent && recovery->loss_reported) recovery->report->ring_replaced = 1;
  return status;
}

/*
 * Says whether the ring is spent; without that nobody replaces the ring. It depends on the state that recovery left
 * behind, not on which steps returned: records left in a lane, or a segment that is still open, are not on the disk.
 */
static spent_ring vouch(const recovery *recovery) {
  const orphan *orphan = recovery->orphan;
  const redo *redo = &recovery->redo;
  int spent = recovery->sealed && !redo->active && (!orphan || redo->complete);
  for (uint32_t i = 0; orphan && i < orphan->header.lane_count; i++) {
    spent &= orphan->from[i] >= orphan->to[i] || redo->drained[i].position >= orphan->to[i];
  }
  return (spent_ring){.certain = spent, .opening = orphan ? orphan->header.opening : 0};
}

weir_status recover(const recovery_site *site, weir_recovery *report, recovered *recovered, weir_error *error) {
  const log_lock *held = site->held;
  recovery *recovery = (struct recovery *)calloc(1, sizeof *recovery);
  if (!recovery) {
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, held->path, "out of memory to recover %s", held->path);
  }
  recovery->site = site;
  recovery->held = held;
  recovery->report = report;
  recovery->error = error;
  recovery->place = locator_here(held->directory);
  weir_status status = WEIR_OK;
  int result = sys_boot_id(recovery->boot_id);
  if (result == 0 || result == -ENOENT) {
    result = segment_list_tail(held->directory, &recovery->list, note_leftover, &recovery->leftovers);
  }
  if (result != 0) {
    status = fail_system(error, result, "list", held->path, NULL);
  } else {
    find_first_unsealed(recovery);
    status = run(recovery);
  }
  report->segments_scanned = recovery->list.count - recovery->first_unsealed;
  report->missing_events = recovery->found.missing_events;
  report->damaged_blocks = recovery->found.damaged_blocks;
  report->damaged_bytes = recovery->found.damaged_bytes;
  report->damaged_records = recovery->found.damaged_records;
  report->unkept_bytes = recovery->found.unkept_bytes;
  if (status == WEIR_OK) {
    uint64_t end = recovery->orphan ? recovery->orphan->next_offset : recovery->drained.log_end;
    if (end < recovery->least_offset) end = recovery->least_offset;
    if (end < site->start_offset) end = site->start_offset;
    if (end > LAST_FIRST_OFFSET) status = used_up(recovery);
    *recovered = (struct recovered){.next_offset = end, .previous = recovery->last};
    if (status == WEIR_OK) recovered->spent = vouch(recovery);
    /*
     * The rest of a log that was not closed can look closed, hence all these conditions. A new log has no ring, and
     * lost none.
     */
    int closed = recovery->closed || recovery->place.where == RING_CLOSED || (recovery->absent && !recovery->lost);
    report->was_clean = closed && !report->ring_replaced && !recovery->interrupted && report->missing_events == 0;
  }
  orphan_ring_detach(recovery);
  locator_leave(&recovery->place);
  segment_list_free(&recovery->list);
  free(recovery);
  return status;
}
