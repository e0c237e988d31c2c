/* finish.c: see finish.h. Also has the copy of a segment that the disk failed to sync. */
#include "seal/finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory/quarantine.h"
#include "directory/segment_list.h"
#include "limits/byte_limit.h"
#include "limits/claim.h"
#include "segment/scan.h"
#include "system/error.h"
#include "system/invariant.h"
#include "system/sigbus.h"
#include "system/system.h"

static int cut(segment *segment) {
  if (!segment->map) return 0;
  /* Unmap the file before it is cut: a mapped file never shrinks. */
  sigbus_forget(segment->map);
  int error = sys_unmap(segment->map, segment->capacity);
  if (error != 0) return error;
  segment->map = NULL;
  if (!segment_has_files(segment)) return -DESCRIPTOR_LOST;
  error = sys_truncate(segment->fd, segment->at);
  if (error == 0) sys_start_writeback(segment->fd);
  return error;
}

/* ---- After a sync that failed ------------------------------------------------------------------------------------ */

/* Reads the bytes of a file that can't be synced into memory, before the kernel drops more of them. */
static int keep(segment *segment) {
  if (segment->kept) return 0;
  uint8_t *kept = (uint8_t *)malloc(segment->at);
  if (!kept) return -ENOMEM;
  int64_t count = sys_read_at(segment->fd, kept, segment->at, 0);
  if (count < 0) {
    free(kept);
    return (int)count;
  }
  /* Bytes that can't be read become zeros, which fail their checksum: so they count as lost. */
  memset(kept + count, 0, segment->at - (uint64_t)count);
  segment->kept = kept;
  return 0;
}

/* The part of a copy up to its first loss. */
typedef struct whole_part {
  uint64_t end;         /* in the file */
  uint64_t next_offset; /* of the event after this part */
  int ended;
} whole_part;

static void end_whole_part(whole_part *whole, uint64_t end, uint64_t next_offset) {
  if (!whole->ended) *whole = (whole_part){end, next_offset, 1};
}

/* How many events the copy `name` of a segment has lost, or a negative errno. */
static int64_t count_lost(const segment *segment, const char *name, whole_part *whole) {
  segment_scan scan;
  scan_damage damage;
  int error = scan_open(&scan, segment->directory, 0, name, segment->base_offset, 0, &damage);
  if (error != 0) return error;
  uint64_t lost = 0, from = segment->base_offset;
  scan_result result;
  while ((result = scan_next(&scan, 1, &damage)) == SCAN_BLOCK || result == SCAN_DAMAGE) {
    if (result == SCAN_DAMAGE) end_whole_part(whole, damage.from, from);
    if (result == SCAN_DAMAGE) continue;
    lost += scan.block.base_offset - from;
    from = scan.block.base_offset + scan.block.count;
  }
  end_whole_part(whole, scan.position, from);
  scan_close(&scan);
  if (result == SCAN_ERROR) return damage.error;
  return (int64_t)(lost + segment->summary.next_offset - from);
}

static int write_copy(const segment *segment, int fd) {
  int error = sys_allocate(fd, segment->at);
  if (error == 0) error = sys_write_at(fd, segment->kept, segment->at, 0);
  if (error == 0) error = sys_sync_data(fd);
  return error;
}

/*
 * Cuts a copy to its whole part and leaves it unsealed, because a ring still has the events: the next recovery goes on
 * after this part, and takes the rest from the ring again.
 */
static int leave_whole_part(segment *segment, int fd, const whole_part *whole) {
  segment->lost_from = whole->next_offset;
  int error = sys_truncate(fd, whole->end);
  return error == 0 ? sys_sync_data(fd) : error;
}

/* Replaces the file, whose sync failed, by a new one with the same bytes, on the disk. */
static int move_to_new_file(const finisher *finisher, segment *segment) {
  uint64_t number = __atomic_fetch_add(finisher->next_prepared, 1, __ATOMIC_RELAXED);
  int error = keep(segment);
  if (error == 0) error = claim_copy(finisher->retention, segment->base_offset, segment->at);
  if (error != 0) return error;
  char name[64];
  snprintf(name, sizeof name, PREPARED_PREFIX "%llu", (unsigned long long)number);
  int fd = sys_open_create(segment->directory, name);
  if (fd < 0) {
    byte_limit_give(finisher->retention, segment->at);
    return fd;
  }
  sys_file file;
  error = sys_file_of(fd, segment->directory, name, &file);
  if (error == 0) error = write_copy(segment, fd);
  whole_part whole = {0};
  int64_t lost = error == 0 ? count_lost(segment, name, &whole) : 0;
  if (lost < 0) error = (int)lost;
  if (lost > 0 && segment->recovers) error = leave_whole_part(segment, fd, &whole);
  if (error == 0) error = sys_rename(segment->directory, name, segment->name);
  if (error != 0) {
    sys_close_file(fd, &file);
    sys_unlink(segment->directory, name);
    byte_limit_give(finisher->retention, segment->at);
    return error;
  }
  sys_close_file(segment->fd, &segment->file);
  byte_limit_give(finisher->retention, segment->taken);
  segment->taken = segment->at;
  segment->fd = fd;
  segment->file = file;
  segment->lost = (uint64_t)lost;
  segment->poisoned = 0;
  segment->synced = 1;
  return 0;
}

/* ---- Finishing --------------------------------------------------------------------------------------------------- */

/* A file that has the sealed name already is somebody's: no two segments of a log have one base. */
static int rename_sealed(segment *segment) {
  char name[64];
  segment_list_raw_name(name, segment->base_offset, 0);
  int error = sys_rename_new(segment->directory, segment->name, name);
  if (error != -EEXIST) return error;
  error = quarantine_file(segment->directory, name, "a file with the name of a segment that was being written", 0);
  return error < 0 ? error : sys_rename_new(segment->directory, segment->name, name);
}

/* Finishes a segment as far as possible. A later call goes on where this one failed. */
static int finish(const finisher *finisher, segment *segment) {
  INVARIANT(segment->sealed);
  if (!segment_has_files(segment)) return -DESCRIPTOR_LOST;
  if (!segment->synced && !segment->poisoned) {
    segment->poisoned = sys_sync_data(segment->fd) != 0;
    segment->synced = !segment->poisoned;
  }
  if (segment->poisoned) {
    if (finisher->sync_failed) __atomic_store_n(finisher->sync_failed, 1, __ATOMIC_RELEASE); /* K2 */
    int error = move_to_new_file(finisher, segment);
    if (error != 0) return error;
  }
  if (segment->recovers && segment->lost > 0) return -EIO;
  /* The file is renamed only once it is on the disk: recovery does not scan files with sealed names. */
  int error = rename_sealed(segment);
  if (error != -ENOENT) return error;
  /* Somebody removed or renamed the file. Its bytes are still there, behind the descriptor. */
  error = move_to_new_file(finisher, segment);
  return error == 0 ? rename_sealed(segment) : error;
}

static void count_sealed(retention *retention, const segment *segment) {
  struct stat status;
  uint64_t bytes = segment->at;
  if (!retention) return;
  if (sys_status(segment->fd, &status) == 0) bytes = (uint64_t)status.st_blocks * 512;
  retention_sealed(retention, segment->base_offset, segment->taken, bytes);
}

finished finish_segments(const finisher *finisher, segment *first) {
  finished done = {0};
  int directory = first->directory;
  /* Each step for all segments before the next step: the disk works on them at once, and one commit of its journal
   * serves several. */
  for (segment *each = first; each; each = each->next) {
    if (cut(each) != 0) each->poisoned = 1;
  }
  segment **failed = &done.failed, *renamed = NULL, **last = &renamed;
  while (first) {
    segment *each = first;
    first = each->next;
    each->next = NULL;
    int error = finish(finisher, each);
    if (error != 0) {
      retention_hold(finisher->retention, each->base_offset);
      if (done.error == 0) done.error = error;
      *failed = each;
      failed = &each->next;
      continue;
    }
    done.lost += each->lost;
    *last = each;
    last = &each->next;
  }
  if (renamed) done.directory_error = sys_sync_directory(directory);
  if (done.error == 0) done.error = done.directory_error;
  /* Only now may these be removed to make room for a copy: their names are on the disk. */
  while (renamed) {
    segment *each = renamed;
    renamed = each->next;
    if (done.directory_error != 0 && finisher->retention) finisher->retention->names_unsure = 1;
    count_sealed(finisher->retention, each);
    if (done.directory_error == 0 && finisher->batcher) finisher->named(finisher->batcher, each->base_offset);
    segment_abandon(each);
  }
  return done;
}
