/* quarantine.c: see quarantine.h. */
#include "quarantine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

enum { COPY_BYTES = 1 << 16 };

/*
 * -ELOOP where something else has the name: through a symbolic link the copies would go wherever it leads. Looked at by
 * name each time; whoever could change it in between may write to the directory, and needs no such trick.
 */
static int open_quarantine(int directory) {
  int error = sys_make_directory(directory, QUARANTINE_NAME);
  if (error != -EEXIST) return error;
  struct stat status;
  error = sys_status_at(directory, QUARANTINE_NAME, &status);
  return error != 0 || S_ISDIR(status.st_mode) ? error : -ELOOP;
}

/* Makes quarantine/<name> and fills it by `fill`. A file that is not complete does not stay. */
static int make(int directory, const char *name, int (*fill)(const void *context, int fd), const void *context) {
  char path[128];
  snprintf(path, sizeof path, QUARANTINE_NAME "/%s", name);
  int error = open_quarantine(directory);
  if (error != 0) return error;
  int fd = sys_open_create(directory, path);
  if (fd == -EEXIST) return 0;
  if (fd < 0) return fd;
  error = fill(context, fd);
  if (error == 0) error = sys_sync_data(fd);
  sys_close(fd);
  if (error != 0) sys_unlink(directory, path);
  return error;
}

typedef struct file_range {
  int fd;
  uint64_t from, to;
} file_range;

static int copy_range(const void *context, int fd) {
  const file_range *range = context;
  uint8_t *buffer = malloc(COPY_BYTES);
  if (!buffer) return -ENOMEM;
  int error = 0;
  for (uint64_t at = range->from; at < range->to && error == 0;) {
    uint64_t wanted = range->to - at < COPY_BYTES ? range->to - at : COPY_BYTES;
    int64_t count = sys_read_at(range->fd, buffer, wanted, at);
    if (count <= 0) {
      error = (int)count;
      break;
    }
    error = sys_write_at(fd, buffer, (uint64_t)count, at - range->from);
    at += (uint64_t)count;
  }
  free(buffer);
  return error;
}

int quarantine_block(int directory, int segment_fd, uint64_t base, uint64_t from, uint64_t to) {
  char name[64];
  snprintf(name, sizeof name, "block-%020llu-%llu", (unsigned long long)base, (unsigned long long)from);
  file_range range = {segment_fd, from, to};
  return make(directory, name, copy_range, &range);
}

typedef struct lane_range {
  lane_view view;
  uint64_t from, to;
} lane_range;

static int copy_lane(const void *context, int fd) {
  const lane_range *range = context;
  /* No record of it is whole, so positions are all there is to go by: no byte is looked for in the overhang. */
  for (uint64_t at = range->from; at < range->to;) {
    uint64_t start = at & (range->view.capacity - 1), count = range->to - at;
    if (count > range->view.capacity - start) count = range->view.capacity - start;
    int error = sys_write_at(fd, range->view.data + start, count, at - range->from);
    if (error != 0) return error;
    at += count;
  }
  return 0;
}

int quarantine_lane(const event_log *log, uint32_t lane, uint64_t from, uint64_t to) {
  char name[64];
  snprintf(name, sizeof name, "lane-%016llx-%u-%llu", (unsigned long long)log->header->opening, lane,
           (unsigned long long)from);
  lane_range range = {ring_lane_view(log, lane), from, to};
  return make(log->directory, name, copy_lane, &range);
}

/* The first of <name>-0, <name>-1, … that is not there yet. */
static int free_name(int directory, const char *name, char path[128]) {
  for (int i = 0; i < 1000; i++) {
    struct stat status;
    snprintf(path, 128, QUARANTINE_NAME "/%s-%d", name, i);
    int error = sys_status_at(directory, path, &status);
    if (error == -ENOENT) return 0;
  }
  return -EEXIST;
}

int quarantine_copy(int directory, int fd, const char *name) {
  struct stat status;
  char path[128];
  int error = sys_status(fd, &status);
  if (error == 0) error = open_quarantine(directory);
  if (error == 0) error = free_name(directory, name, path);
  if (error != 0) return error;
  file_range range = {fd, 0, (uint64_t)status.st_size};
  return make(directory, path + sizeof QUARANTINE_NAME, copy_range, &range);
}

int quarantine_file(int directory, const char *name) {
  char path[128];
  int error = open_quarantine(directory);
  if (error == 0) error = free_name(directory, name, path);
  return error == 0 ? sys_rename(directory, name, path) : error;
}
