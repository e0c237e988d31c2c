/* sizes.c: see sizes.h. */
#include "directory/sizes.h"

#include <errno.h>
#include <string.h>

#include "directory/locator.h"
#include "system/system.h"

typedef struct sizing {
  int directory;
  log_sizes sizes;
  int has_ring; /* what has a ring's name is one */
  int has_quarantine;
} sizing;

static uint64_t allocated_bytes(const struct stat *status) { return (uint64_t)status->st_blocks * 512; }

/*
 * The bytes of a ring's overflow lanes, which count only where they have blocks. 0 if its header is no ring's. 0 or a
 * negative errno: the log's size is not known then, and a guess would have retention remove what there is room for.
 */
static int overflow_bytes(int directory, const char *name, uint64_t *bytes) {
  ring_header header;
  *bytes = 0;
  int fd = sys_open_read(directory, name);
  if (fd < 0) return fd;
  int64_t count = sys_read_at(fd, &header, sizeof header, 0);
  sys_close(fd);
  if (count < 0) return (int)count;
  if (count == sizeof header && header.magic == RING_MAGIC) *bytes = header.overflow_lanes * header.lane_stride;
  return 0;
}

int sizes_of_ring(int directory, const char *name, const struct stat *status, uint64_t *bytes) {
  uint64_t size = (uint64_t)status->st_size, allocated = allocated_bytes(status), overflow = 0;
  int error = S_ISREG(status->st_mode) ? overflow_bytes(directory, name, &overflow) : 0;
  if (overflow < size) size -= overflow;
  *bytes = allocated > size ? allocated : size;
  return error;
}

static int add(log_sizes *sizes, int directory, const char *name, const struct stat *status, int is_ring) {
  uint64_t claimed = allocated_bytes(status);
  int error = is_ring ? sizes_of_ring(directory, name, status, &claimed) : 0;
  if (error != 0) return error == -ENOENT ? 0 : error; /* renamed or removed meanwhile */
  sizes->allocated += allocated_bytes(status);
  sizes->claimed += claimed;
  return 0;
}

static int take_file(void *context, const char *name) {
  sizing *sizing = (struct sizing *)context;
  struct stat status;
  int error = sys_status_at(sizing->directory, name, &status);
  if (error != 0) return error == -ENOENT ? 0 : error; /* renamed or removed meanwhile */
  int is_ring = sizing->has_ring && (strcmp(name, RING_NAME) == 0 || strcmp(name, RING_NEW_NAME) == 0);
  if (S_ISDIR(status.st_mode) && strcmp(name, QUARANTINE_NAME) == 0) sizing->has_quarantine = 1;
  return add(&sizing->sizes, sizing->directory, name, &status, is_ring);
}

/* Adds a ring in another directory: it is one of the log's files. */
static int take_ring(int directory, log_sizes *sizes) {
  ring_place place;
  struct stat status;
  int error = locator_find(directory, &place);
  if (error != 0) return error == -EBADMSG ? 0 : error;
  if (place.where == RING_ELSEWHERE && sys_status_at(place.directory, place.name, &status) == 0) {
    error = add(sizes, place.directory, place.name, &status, 1);
  }
  locator_leave(&place);
  return error;
}

static int take_quarantine(int directory, log_sizes *sizes) {
  sizing quarantine = {.directory = sys_open_directory_at(directory, QUARANTINE_NAME)};
  if (quarantine.directory < 0) return 0; /* it can't be read: somebody else has made it */
  int error = sys_list(quarantine.directory, take_file, &quarantine);
  sizes->allocated += quarantine.sizes.allocated;
  sizes->claimed += quarantine.sizes.allocated;
  sys_close(quarantine.directory);
  return error;
}

int sizes_of_log(int directory, log_sizes *sizes) {
  sizing files = {.directory = directory, .has_ring = 1};
  int error = sys_list(directory, take_file, &files);
  if (error == 0) error = take_ring(directory, &files.sizes);
  *sizes = files.sizes;
  return error != 0 || !files.has_quarantine ? error : take_quarantine(directory, sizes);
}
