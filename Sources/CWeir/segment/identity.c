/* identity.c: see identity.h. */
#include "segment/identity.h"

#include <errno.h>

#include "directory/locator.h"
#include "directory/log_lock.h"
#include "directory/log_start.h"
#include "directory/segment_list.h"
#include "format/ring_header.h"
#include "segment/scan.h"
#include "system/system.h"

/* The ids of the files that were read so far. */
typedef struct votes {
  uint64_t said[6];
  uint32_t count;
} votes;

/* Adds a file's id; 0: it has none. 1: two files agree. */
static int take(votes *votes, uint64_t log_id) {
  int agreed = 0;
  for (uint32_t i = 0; i < votes->count; i++) agreed |= votes->said[i] == log_id;
  if (log_id == 0) return 0;
  votes->said[votes->count++] = log_id;
  return agreed;
}

/*
 * Whether an error means that a file is not a log's, or can't be read by anybody. Any other error is reported: the file
 * may have the only id, and a new id would make the log's own files another log's.
 */
static int says_nothing(int error) {
  return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EACCES || error == -ENOTSUP ||
         error == -EBADMSG;
}

static int ask_ring(const ring_place *place, uint64_t *log_id) {
  if (place->where != RING_HERE && place->where != RING_ELSEWHERE) return 0;
  int fd = sys_open_read(place->directory, place->name);
  if (fd < 0) return fd;
  ring_header header;
  struct stat status;
  int error = sys_status(fd, &status);
  int64_t got = error == 0 ? sys_read_at(fd, &header, sizeof header, 0) : error;
  sys_close(fd);
  if (got < 0) return (int)got;
  if (got == sizeof header && ring_header_check(&header, (uint64_t)status.st_size) == 0) *log_id = header.log_id;
  return 0;
}

static int ask_segment(int directory, const segment_name *segment, uint64_t *log_id) {
  segment_name name = *segment;
  segment_scan scan;
  scan_damage damage;
  int error = scan_open_named(&scan, directory, 0, &name, &damage);
  if (error != 0) return error;
  *log_id = scan.header.log_id;
  scan_close(&scan);
  return 0;
}

enum { LOCK, RING, LOCATOR, START, NEWEST, OLDEST, FILES };

/* Reads one file's id; 0: it has none. 0 or a negative errno. */
static int ask(int directory, int file, const ring_place *place, const segment_list *list, uint64_t *log_id) {
  log_start_slot start;
  int error = 0;
  *log_id = 0;
  switch (file) {
    case LOCK: error = log_lock_id(directory, log_id); break;
    case RING: error = ask_ring(place, log_id); break;
    case LOCATOR: *log_id = place->has_locator ? place->locator.log_id : 0; break;
    case START:
      error = log_start_read(directory, 0, &start);
      if (error == 1) *log_id = start.log_id;
      break;
    case NEWEST:
      if (list->count > 0) error = ask_segment(directory, &list->items[list->count - 1], log_id);
      break;
    case OLDEST:
      if (list->count > 1) error = ask_segment(directory, &list->items[0], log_id);
      break;
  }
  return error >= 0 || says_nothing(error) ? 0 : error;
}

int identity_find(int directory, uint64_t *log_id) {
  votes votes = {.count = 0};
  segment_list list = {0};
  ring_place place = locator_here(directory);
  int error = locator_find(directory, &place), agreed = 0;
  if (says_nothing(error)) error = 0;
  for (int file = 0; error == 0 && !agreed && file < FILES; file++) {
    uint64_t said = 0;
    if (file == NEWEST) error = segment_list_read(directory, &list);
    if (error == 0) error = ask(directory, file, &place, &list, &said);
    agreed = error == 0 && take(&votes, said);
  }
  segment_list_free(&list);
  locator_leave(&place);
  *log_id = votes.count == 0 ? 0 : votes.said[agreed ? votes.count - 1 : 0];
  return error;
}

int identity_is_anothers(int directory, uint64_t base, uint64_t salt) {
  char name[64];
  segment_scan scan;
  scan_damage damage;
  segment_list_batch_name(name, base);
  int error = scan_open(&scan, directory, 0, name, base, 0, &damage);
  if (error == -ENOENT) return 0;
  if (error == -ELOOP || error == -ENOTSUP) return 1;
  if (error != 0) return error;
  int other = scan.header.salt != salt;
  scan_close(&scan);
  return other;
}
