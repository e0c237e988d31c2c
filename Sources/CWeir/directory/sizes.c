/* sizes.c: see sizes.h. */
#include "directory/sizes.h"

#include <errno.h>
#include <string.h>

#include "directory/locator.h"
#include "system/system.h"

typedef struct sizing {
  int directory;
  log_sizes sizes;
  int has_quarantine;
} sizing;

static uint64_t allocated_bytes(const struct stat *status) { return (uint64_t)status->st_blocks * 512; }

/* The bytes of a ring's overflow lanes, which count only where they have blocks. 0 if its header can't be read. */
static uint64_t overflow_bytes(int directory, const char *name) {
  ring_header header;
  int fd = sys_open_read(directory, name);
  if (fd < 0) return 0;
  int good = sys_read_at(fd, &header, sizeof header, 0) == sizeof header && header.magic == RING_MAGIC;
  sys_close(fd);
  return good ? header.overflow_lanes * header.lane_stride : 0;
}

uint64_t sizes_of_ring(int directory, const char *name, const struct stat *status) {
  uint64_t size = (uint64_t)status->st_size, allocated = allocated_bytes(status);
  uint64_t overflow = S_ISREG(status->st_mode) ? overflow_bytes(directory, name) : 0;
  if (overflow < size) size -= overflow;
  return allocated > size ? allocated : size;
}

static void add(log_sizes *sizes, int directory, const char *name, const struct stat *status, int is_ring) {
  sizes->allocated += allocated_bytes(status);
  sizes->claimed += is_ring ? sizes_of_ring(directory, name, status) : allocated_bytes(status);
}

static int take_file(void *context, const char *name) {
  sizing *sizing = context;
  struct stat status;
  int error = sys_status_at(sizing->directory, name, &status);
  if (error != 0) return error == -ENOENT ? 0 : error; /* renamed or removed meanwhile */
  int is_ring = strcmp(name, RING_NAME) == 0 || strcmp(name, RING_NEW_NAME) == 0;
  add(&sizing->sizes, sizing->directory, name, &status, is_ring);
  if (S_ISDIR(status.st_mode) && strcmp(name, QUARANTINE_NAME) == 0) sizing->has_quarantine = 1;
  return 0;
}

/* Adds a ring in another directory: it is one of the log's files. */
static int take_ring(int directory, log_sizes *sizes) {
  ring_place place;
  struct stat status;
  int error = locator_find(directory, &place);
  if (error != 0) return error == -EBADMSG ? 0 : error;
  if (place.where == RING_ELSEWHERE && sys_status_at(place.directory, place.name, &status) == 0) {
    add(sizes, place.directory, place.name, &status, 1);
  }
  locator_leave(&place);
  return 0;
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
  sizing files = {.directory = directory};
  int error = sys_list(directory, take_file, &files);
  if (error == 0) error = take_ring(directory, &files.sizes);
  *sizes = files.sizes;
  return error != 0 || !files.has_quarantine ? error : take_quarantine(directory, sizes);
}
