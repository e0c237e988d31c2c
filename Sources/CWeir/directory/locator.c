/* locator.c: see locator.h. */
#include "directory/locator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "directory/log_lock.h"
#include "format/ring_header.h"
#include "system/crc32c.h"
#include "system/system.h"

static uint32_t checksum(const ring_locator *locator) {
  uint64_t state = crc_extend(CRC_START, locator, offsetof(ring_locator, crc));
  return crc_end(crc_extend(state, &locator->opening, sizeof *locator - offsetof(ring_locator, opening)));
}

static int check(const ring_locator *locator) {
  if (locator->magic != LOCATOR_MAGIC) return -EBADMSG;
  int intact = locator->crc == checksum(locator);
  /* A later version may have another checksum. No single flipped bit makes version 1 the next one. */
  if (locator->major == FORMAT_MAJOR + 1 || (locator->major > FORMAT_MAJOR && intact)) return -ENOTSUP;
  if (!intact) return -EBADMSG;
  if (locator->incompatible != 0) return -ENOTSUP;
  if (locator->state != LOCATOR_IN_USE && locator->state != LOCATOR_CLOSED) return -EBADMSG;
  if (locator->path_bytes == 0 || locator->path_bytes >= sizeof locator->path) return -EBADMSG;
  if (locator->path[0] != '/' || memchr(locator->path, 0, locator->path_bytes)) return -EBADMSG;
  for (uint64_t i = locator->path_bytes; i < sizeof locator->path; i++) {
    if (locator->path[i] != 0) return -EBADMSG;
  }
  return 0;
}

static int read_locator(int home, const char *name, ring_locator *locator) {
  int fd = sys_open_read(home, name);
  if (fd < 0) return fd;
  int64_t count = sys_read_at(fd, locator, sizeof *locator, 0);
  sys_close(fd);
  if (count < 0) return (int)count;
  return count == sizeof *locator ? check(locator) : -EBADMSG;
}

/* Whether the locator was made in this directory, not copied here: 1, 0, or a negative errno. */
static int is_own(int home, const ring_locator *locator) {
  uint64_t inode = 0;
  int64_t born = 0;
  int error = sys_identity(home, &inode, &born);
  return error != 0 ? error : inode == locator->home_inode && born == locator->home_born_ns;
}

static void name_files(ring_place *place) {
  snprintf(place->name, sizeof place->name, "weir-%016llx.ring", (unsigned long long)place->locator.number);
  snprintf(place->new_name, sizeof place->new_name, "%s.new", place->name);
}

static int exists(int directory, const char *name) {
  struct stat status;
  int error = sys_status_at(directory, name, &status);
  return error == 0 ? 1 : error == -ENOENT ? 0 : error;
}

ring_place locator_here(int home) {
  return (ring_place){.where = RING_HERE, .directory = home, .name = RING_NAME, .new_name = RING_NEW_NAME};
}

/* Opens the directory that the locator names, and checks whether the ring is there. */
static int look(ring_place *place) {
  int directory = sys_open_directory(place->locator.path);
  if (directory == -ENOENT) return RING_VANISHED;
  if (directory < 0) return directory;
  name_files(place);
  int there = exists(directory, place->name);
  if (there == 0) there = exists(directory, place->new_name);
  if (there <= 0) {
    sys_close(directory);
    return there == 0 ? RING_VANISHED : there;
  }
  place->directory = directory;
  return RING_ELSEWHERE;
}

/*
 * Whether the locator is of another log: the lock file and a ring in the log's directory agree on an id that is not the
 * locator's. Without that ring the log has no other ring than the one that the locator names.
 */
static int is_another_logs(int home, const ring_locator *locator) {
  uint64_t log_id;
  if (log_lock_id(home, &log_id) != 0 || log_id == 0 || log_id == locator->log_id) return 0;
  int fd = sys_open_read(home, RING_NAME);
  if (fd < 0) return 0;
  ring_header header;
  struct stat status;
  int there = sys_status(fd, &status) == 0 && sys_read_at(fd, &header, sizeof header, 0) == sizeof header;
  sys_close(fd);
  return there && ring_header_check(&header, (uint64_t)status.st_size) == 0 && header.log_id == log_id;
}

static int find(int home, ring_place *place) {
  *place = locator_here(home);
  int error = read_locator(home, LOCATOR_NAME, &place->locator);
  if (error == -ENOENT) return 0;
  if (error != 0) return error;
  if (is_another_logs(home, &place->locator)) {
    *place = locator_here(home);
    place->another_logs = 1;
    return 0;
  }
  int own = is_own(home, &place->locator);
  if (own < 0) return own;
  place->has_locator = 1;
  place->own = own;
  if (place->locator.state == LOCATOR_CLOSED) {
    int there = exists(home, RING_NAME);
    if (there == 0) place->where = RING_CLOSED;
    return there < 0 ? there : 0;
  }
  place->where = RING_VANISHED;
  if (!place->own) return 0;
  int where = look(place);
  if (where < 0) return where;
  place->where = (whereabouts)where;
  return 0;
}

int locator_find(int home, ring_place *place) {
  /* A live log may move its ring between the read of the locator and the open of the ring: then try again. */
  enum { TRIES = 100 };
  for (int i = 0;; i++) {
    int error = find(home, place);
    if (error != 0 || place->where != RING_VANISHED || i == TRIES) return error;
    ring_locator again;
    if (read_locator(home, LOCATOR_NAME, &again) == 0 && memcmp(&again, &place->locator, sizeof again) == 0) return 0;
  }
}

void locator_leave(ring_place *place) {
  if (place->where == RING_ELSEWHERE) sys_close(place->directory);
  place->directory = -1;
}

const char *locator_path(const ring_place *place, const char *home_path) {
  return place->where == RING_ELSEWHERE ? place->locator.path : home_path;
}

int locator_choose(int home, const ring_place *old, int directory, const char *path, ring_place *place) {
  struct stat here, there;
  *place = (ring_place){.where = RING_ELSEWHERE, .directory = directory, .has_locator = 1, .own = 1};
  ring_locator *locator = &place->locator;
  int error = sys_status(directory, &here);
  int same = 0;
  if (error == 0 && old->where == RING_ELSEWHERE) {
    error = sys_status(old->directory, &there);
    same = error == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
  }
  if (same) locator->number = old->locator.number;
  else if (error == 0) error = sys_random(&locator->number, sizeof locator->number);
  if (error == 0) error = sys_identity(home, &locator->home_inode, &locator->home_born_ns);
  if (error != 0) return error;
  locator->magic = LOCATOR_MAGIC;
  locator->major = FORMAT_MAJOR;
  locator->minor = FORMAT_MINOR;
  locator->state = LOCATOR_IN_USE;
  locator->path_bytes = (uint32_t)strlen(path);
  memcpy(locator->path, path, locator->path_bytes);
  name_files(place);
  return 0;
}

int locator_announce(int home, const ring_place *place) {
  ring_locator locator = place->locator;
  locator.crc = checksum(&locator);
  int error = sys_unlink(home, LOCATOR_NEW_NAME);
  if (error != 0 && error != -ENOENT) return error;
  int fd = sys_open_create(home, LOCATOR_NEW_NAME);
  if (fd < 0) return fd;
  error = sys_write_at(fd, &locator, sizeof locator, 0);
  if (error == 0) error = sys_sync_data(fd);
  sys_close(fd);
  return error;
}

int locator_commit(int home) {
  int error = sys_rename(home, LOCATOR_NEW_NAME, LOCATOR_NAME);
  return error == 0 ? sys_sync_directory(home) : error;
}

static int remove_file(int directory, const char *name) {
  int error = sys_unlink(directory, name);
  return error == -ENOENT ? 0 : error;
}

int locator_close(int home, ring_place *place, uint64_t next_offset) {
  ring_place closed = *place;
  closed.locator.state = LOCATOR_CLOSED;
  closed.locator.next_offset = next_offset;
  int error = locator_announce(home, &closed);
  if (error == 0) error = locator_commit(home);
  if (error != 0) return error;
  error = remove_file(place->directory, place->name);
  int other = remove_file(place->directory, place->new_name);
  return error == 0 ? other : error;
}

/* Removes the files that a locator names, if it was made in this directory: a copied one names another log's. */
static int remove_named(int home, const ring_locator *locator) {
  int own = is_own(home, locator);
  if (own <= 0) return own;
  ring_place named = {.locator = *locator};
  name_files(&named);
  int directory = sys_open_directory(locator->path);
  /* The files hold no event. If their directory can't be reached any more, the opening goes on. */
  if (directory == -ENOENT || directory == -ENOTDIR || directory == -ELOOP || directory == -EACCES) return 0;
  if (directory < 0) return directory;
  int error = remove_file(directory, named.name);
  int other = remove_file(directory, named.new_name);
  sys_close(directory);
  return error == 0 ? other : error;
}

/* Removes an announced ring, which never was in force, unless it is the file of the ring that is. */
static int clear_announced(int home, const ring_place *place) {
  ring_locator announced;
  int error = read_locator(home, LOCATOR_NEW_NAME, &announced);
  if (error == -ENOENT) return 0;
  if (error == 0) {
    int in_force = place->has_locator && place->locator.number == announced.number;
    if (!in_force) error = remove_named(home, &announced);
  } else if (error == -EBADMSG) {
    error = 0; /* the locator is half written: its file was not made yet */
  }
  return error == 0 ? remove_file(home, LOCATOR_NEW_NAME) : error;
}

int locator_clear(int home, const ring_place *place, int made) {
  int error = clear_announced(home, place);
  if (error != 0 || !place->has_locator) return error;
  if (place->locator.state == LOCATOR_CLOSED) return remove_named(home, &place->locator);
  if (place->where == RING_ELSEWHERE && made) error = remove_file(place->directory, place->new_name);
  /* A ring in the log's own directory was drained before the locator came in force, or is still empty. */
  if (error == 0) error = remove_file(home, RING_NAME);
  return error == 0 ? remove_file(home, RING_NEW_NAME) : error;
}

int locator_is_safe(int home, int directory) {
  struct stat log, ring;
  int error = sys_status(home, &log);
  if (error == 0) error = sys_status(directory, &ring);
  if (error != 0) return error;
  if (ring.st_mode & S_IWOTH) return 0;
  return ring.st_uid == geteuid() || ring.st_uid == log.st_uid || ring.st_uid == 0;
}
