/* file_bytes.c: see file_bytes.h. */
#include "segment/file_bytes.h"

#include <string.h>

#include "system/system.h"

int64_t file_bytes_read(const file_bytes *file, void *bytes, uint64_t count, uint64_t at) {
  if (!file->memory) return sys_read_at(file->fd, bytes, count, at);
  uint64_t left = at < file->count ? file->count - at : 0;
  if (count > left) count = left;
  if (count > 0) memcpy(bytes, file->memory + at, count);
  return (int64_t)count;
}

int file_bytes_status(const file_bytes *file, struct stat *status) {
  if (!file->memory) return sys_status(file->fd, status);
  *status = (struct stat){.st_size = (off_t)file->count};
  return 0;
}
