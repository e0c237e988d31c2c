/*
 * orphan_ring.c: the ring that a dead process left: where it is, whether it can be trusted, and the notice in the log
 * if it is lost. See orphan_ring.h.
 */
#include "recover/orphan_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/quarantine.h"
#include "directory/segment_list.h"
#include "format/ring_header.h"
#include "recover/lost_ring.h"
#include "ring/ring_owner.h"
#include "system/bytes.h"
#include "system/error.h"
#include "system/sigbus.h"
#include "system/system.h"

static const char *ring_path(const recovery *recovery) {
  return locator_path(&recovery->place, recovery->held->path);
}

/* Records that the ring is lost. Its remains stay where they are until the log has the notice. */
static void lose_ring(recovery *recovery, const char *reason, const char *remains) {
  recovery->report->ring_replaced = 1;
  recovery->lost = reason;
  recovery->remains[recovery->remains[0] != NULL] = remains;
}

/*
 * Moves the remains of a lost ring to quarantine/; from another directory it copies and removes them. If quarantine/ is
 * full, a file in the log's directory is removed if it is `ours`, else moved all the same.
 */
static int put_away(recovery *recovery, const char *remains, int ours) {
  int home = recovery->held->directory;
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
    result = quarantine_file(home, remains, recovery->lost, ours);
  }
  if (result == QUARANTINE_FULL) recovery->found.unkept_bytes += (uint64_t)status.st_size;
  return result < 0 ? result : 0;
}

/* Whether the lost ring was of another boot; then nobody knows which offsets were given. */
static int lost_with_boot(const recovery *recovery) {
  if (recovery->orphan) return 0;
  if (recovery->report->ring_vanished) return !sys_same_boot(recovery->place.locator.boot_id, recovery->boot_id);
  const uint8_t *boot_id = recovery->last_boot_id;
  const uint64_t size = sizeof recovery->boot_id;
  /*
   * Zeros mean a damaged header, or no segment, not another boot. But without /proc this boot's id is zeros too: then
   * any segment may be of another boot.
   */
  if (bytes_are_zero(boot_id, size)) return recovery->last_opening != 0 && bytes_are_zero(recovery->boot_id, size);
  return !sys_same_boot(boot_id, recovery->boot_id);
}

/* The log gets one notice of a lost ring, even if an earlier recovery was killed here. */
weir_status orphan_ring_report_lost(recovery *recovery) {
  uint64_t offset = recovery->orphan ? recovery->orphan->next_offset : recovery->drained.log_end;
  if (offset < recovery->least_offset) offset = recovery->least_offset;
  int left_out = lost_with_boot(recovery);
  if (left_out) recovery->report->rebooted = recovery->report->unknown_tail = 1;
  if (!recovery->loss_reported) {
    if (left_out) offset += OFFSETS_LEFT_OUT;
    int error = lost_ring_report(recovery->site, recovery->orphan ? &recovery->redo : NULL, recovery->lost, offset,
                                 left_out ? SEGMENT_AFTER_CUT : 0, &recovery->page_lost, &recovery->last);
    if (error != 0) {
      return fail_system(recovery->error, error, "write that the ring is lost to", recovery->held->path, NULL);
    }
    recovery->least_offset = offset + 1;
  }
  for (int i = 0; i < 2 && recovery->remains[i]; i++) {
    int error = put_away(recovery, recovery->remains[i], 1);
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
  return count == sizeof *header ? ring_header_check(header, (uint64_t)status.st_size) : -EBADMSG;
}

uint64_t *orphan_ring_sync_failed(const recovery *recovery) {
  ring_header *header = (ring_header *)(void *)recovery->ring_header;
  return header ? &header->sync_failed : NULL;
}

/* Reads the orphaned ring behind `fd`, which stays open with it. */
static int read_orphan(recovery *recovery, int fd) {
  int error = orphan_hold(fd, recovery->boot_id, &recovery->orphan);
  if (error != 0) return error;
  const orphan *orphan = recovery->orphan;
  error = sys_map(fd, RING_HEADER_BYTES, &recovery->ring_header);
  if (error != 0) return error;
  sigbus_watch(recovery->ring_header, RING_HEADER_BYTES, sigbus_note, &recovery->page_lost);
  recovery->report->previous_opening = orphan->header.opening;
  recovery->closed = orphan->header.closed == 1;
  if (orphan->rebooted || orphan->empty) recovery->report->rebooted = 1;
  if (orphan->rebooted) recovery->report->unknown_tail = 1;
  return orphan_types_read(&recovery->types, orphan);
}

static weir_status attach_orphan(recovery *recovery, int fd) {
  int error = read_orphan(recovery, fd);
  if (error == 0) return WEIR_OK;
  return fail_system(recovery->error, error, "read", ring_path(recovery), recovery->place.name);
}

/*
 * Whether an opening died while it made an empty ring, perhaps from the drained one: then a missing ring is no loss.
 * New offsets start after those that the half-made ring's header knows.
 */
static int ring_being_made(recovery *recovery) {
  int fd = sys_open_read(recovery->place.directory, recovery->place.new_name);
  if (fd < 0) return 0;
  ring_header *header = (ring_header *)malloc(sizeof *header);
  recovery->made.there = 1;
  if (header && read_ring_header(fd, header) == 0) {
    recovery->least_offset = ring_header_end(header);
    recovery->made.closed = header->closed == 1;
  }
  free(header);
  sys_close(fd);
  return 1;
}

/* Finds the ring's owner by the listed segments, then by all segments if the listed ones do not decide. */
static int find_owner(recovery *recovery, const ring_word *word, ring_owner *owner) {
  int directory = recovery->held->directory;
  int error = ring_owner_find(directory, &recovery->list, 0, word, owner);
  if (error != 0 || *owner != RING_UNKNOWN || recovery->list.count == 0) return error;
  segment_list all;
  error = segment_list_read(directory, &all);
  if (error == 0) error = ring_owner_find(directory, &all, 1, word, owner);
  segment_list_free(&all);
  return error;
}

/*
 * Quarantines a ring, or a locator, that is not of the opening that wrote the newest segment: that opening's own ring
 * is lost. It happens at once, because this opening may seal segments and be killed: the next one could then not tell
 * whose ring it is. The next one finds no ring, and reports the loss all the same.
 */
static weir_status set_aside(recovery *recovery, const char *remains) {
  ring_place *place = &recovery->place;
  lose_ring(recovery, RING_LOST_REPLACED, NULL);
  /* A half-made ring would mean that nothing is lost. It was made from the lost ring, or from this one. */
  int error = sys_unlink(place->directory, place->new_name);
  if (error == 0 || error == -ENOENT) error = put_away(recovery, remains, 0);
  if (error != 0) return fail_system(recovery->error, error, "quarantine", ring_path(recovery), remains);
  if (place->where == RING_CLOSED) *place = locator_here(recovery->held->directory);
  return WEIR_OK;
}

/* Sets the ring of another opening aside. */
static weir_status check_owner(recovery *recovery, const ring_word *word, const char *remains) {
  ring_owner owner;
  int error = find_owner(recovery, word, &owner);
  if (error != 0) return fail_system(recovery->error, error, "read the segments of", recovery->held->path, NULL);
  return owner == RING_ANOTHERS ? set_aside(recovery, remains) : WEIR_OK;
}

/* Finds where the ring is. A damaged locator is quarantined later: the ring that it named is lost. */
static weir_status find_ring(recovery *recovery) {
  const log_lock *held = recovery->held;
  ring_place *place = &recovery->place;
  int error = locator_find(held->directory, place);
  if (error == -ENOTSUP) return fail_newer(recovery->error, recovery->held->path, LOCATOR_NAME);
  if (error == -EBADMSG) {
    *place = locator_here(held->directory);
    lose_ring(recovery, RING_LOST_DAMAGED, LOCATOR_NAME);
    return WEIR_OK;
  }
  if (error != 0) return fail_system(recovery->error, error, "find the ring of", held->path, NULL);
  if (place->another_logs && (error = quarantine_file(held->directory, LOCATOR_NAME, RING_AT_FOREIGN, 0)) < 0) {
    return fail_system(recovery->error, error, "quarantine", held->path, LOCATOR_NAME);
  }
  if (place->where == RING_VANISHED || place->where == RING_CLOSED) recovery->least_offset = place->locator.next_offset;
  if (place->where == RING_VANISHED) {
    lose_ring(recovery, RING_LOST_VANISHED, NULL);
    recovery->report->ring_vanished = 1;
    recovery->report->previous_opening = place->locator.opening;
  }
  if (place->where != RING_ELSEWHERE || locator_is_safe(held->directory, place->directory) == 1) return WEIR_OK;
  return fail(recovery->error, WEIR_ERROR_UNSAFE, 0, place->locator.path,
              "the ring of %s lies in %s, which belongs to another user, or every user may write to it; correct that",
              held->path, place->locator.path);
}

/*
 * Mends a ring that somebody cut short, if its header is whole, because the rest is worth having. A copy goes to
 * quarantine/; then the file gets its length back, filled with zeros, overflow lanes and definitions with holes. A
 * lane whose first page is zero holds nothing, and records of zeros fail their checksums. 1; 0 if it is no such ring;
 * or a negative errno.
 */
static int mend_cut_ring(recovery *recovery, int fd) {
  /* The header may be forged, and the full length takes disk and memory: of a larger ring an eighth must be left. */
  enum { SMALL_BYTES = 64 << 20, LEAST_SHARE = 8 };
  ring_header *header = (ring_header *)calloc(1, sizeof *header);
  if (!header) return -ENOMEM;
  struct stat status;
  int error = sys_status(fd, &status);
  int64_t count = sys_read_at(fd, header, sizeof *header, 0);
  int good = error == 0 && count == sizeof *header && ring_header_check(header, UINT64_MAX) == 0;
  uint64_t bytes = header->file_bytes, holes = good ? header->overflow_lanes * header->lane_stride : 0;
  uint64_t lanes_end = header->lanes_at + header->lane_count * header->lane_stride - holes, filled = bytes - holes;
  if (holes == 0) lanes_end = bytes;
  int is_cut = good && bytes > (uint64_t)status.st_size &&
               (filled <= SMALL_BYTES || filled / LEAST_SHARE <= (uint64_t)status.st_size);
  free(header);
  if (error != 0 || count < 0 || !is_cut) return error != 0 ? error : count < 0 ? (int)count : 0;
  error = quarantine_copy(recovery->held->directory, fd, RING_NAME, "the ring was cut short");
  if (error >= 0) error = sys_allocate(fd, lanes_end);
  if (error >= 0 && holes > 0) error = sys_write_at(fd, "", 1, bytes - 1);
  if (error < 0) return error;
  recovery->report->ring_replaced = recovery->report->unknown_tail = 1;
  return 1;
}

/* Reads the header, and mends a ring that was cut short. 0 or a negative errno. */
static int read_ring(recovery *recovery, int fd, ring_header *header) {
  int error = read_ring_header(fd, header);
  if (error != -EBADMSG) return error;
  int mended = mend_cut_ring(recovery, fd);
  return mended == 0 ? -EBADMSG : mended < 0 ? mended : 0;
}

static weir_status take_ring(recovery *recovery, int fd, ring_header *header) {
  const ring_place *place = &recovery->place;
  int error = read_ring(recovery, fd, header);
  if (error == -ENOTSUP) return fail_newer(recovery->error, recovery->held->path, RING_NAME);
  if (error == -EBADMSG) {
    lose_ring(recovery, RING_LOST_DAMAGED, RING_NAME);
    return WEIR_OK;
  }
  if (error != 0) return fail_system(recovery->error, error, "read", ring_path(recovery), place->name);
  const char *lost = recovery->lost; /* already set for a damaged locator */
  const ring_word word = {recovery->held->log_id, header->log_id, header->opening, header->base_offset,
                          header->closed == 1};
  weir_status status = check_owner(recovery, &word, RING_NAME);
  if (status != WEIR_OK || recovery->lost != lost) return status;
  return attach_orphan(recovery, fd);
}

weir_status orphan_ring_open(recovery *recovery) {
  weir_status status = find_ring(recovery);
  const ring_place *place = &recovery->place;
  if (status != WEIR_OK || place->where == RING_VANISHED) return status;
  if (place->where == RING_CLOSED) {
    const ring_locator *closed = &place->locator;
    const ring_word word = {recovery->held->log_id, closed->log_id, closed->opening, closed->next_offset, 1};
    return check_owner(recovery, &word, LOCATOR_NAME);
  }
  int fd = sys_open_write(place->directory, place->name);
  if (fd == -ENOENT) {
    recovery->absent = !recovery->lost;
    if (recovery->list.count > 0 && !ring_being_made(recovery) && !recovery->lost) {
      lose_ring(recovery, RING_LOST_MISSING, NULL);
    }
    return WEIR_OK;
  }
  if (fd < 0) return fail_system(recovery->error, fd, "open", ring_path(recovery), place->name);
  ring_header *header = (ring_header *)malloc(sizeof *header);
  if (header) status = take_ring(recovery, fd, header);
  else status = fail_system(recovery->error, -ENOMEM, "read", ring_path(recovery), place->name);
  free(header);
  if (!recovery->orphan) sys_close(fd);
  return status;
}

void orphan_ring_detach(recovery *recovery) {
  redo_free(&recovery->redo);
  sigbus_forget(recovery->ring_header);
  if (recovery->ring_header) sys_unmap(recovery->ring_header, RING_HEADER_BYTES);
  orphan_close(recovery->orphan);
  orphan_types_free(&recovery->types);
}
