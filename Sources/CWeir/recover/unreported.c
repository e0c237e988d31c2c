/* unreported.c: see unreported.h. */
#include "recover/unreported.h"

#include <errno.h>

#include "system/crc32c.h"
#include "system/system.h"

static uint32_t checksum(const unreported *found) {
  uint64_t state = crc_extend(CRC_START, found, offsetof(unreported, crc));
  return crc_end(crc_extend(state, &found->log_id, sizeof *found - offsetof(unreported, log_id)));
}

int unreported_read(const log_lock *held, unreported *found) {
  int fd = sys_open_read(held->directory, RECOVERY_NAME);
  if (fd < 0) return fd == -ENOENT || fd == -ELOOP ? 0 : fd;
  int64_t count = sys_read_at(fd, found, sizeof *found, 0);
  sys_close(fd);
  if (count < 0) return (int)count;
  if (count != sizeof *found || found->magic != RECOVERY_MAGIC || found->crc != checksum(found)) return 0;
  if (found->log_id != held->log_id) return 0;
  return found->major > FORMAT_MAJOR || found->incompatible != 0 ? -ENOTSUP : 1;
}

int unreported_remove(const log_lock *held) {
  int error = sys_unlink(held->directory, RECOVERY_NAME);
  return error == -ENOENT ? 0 : error;
}

static int replace(int directory, const unreported *found) {
  int error = sys_unlink(directory, RECOVERY_NEW_NAME);
  if (error != 0 && error != -ENOENT) return error;
  int fd = sys_open_create(directory, RECOVERY_NEW_NAME);
  if (fd < 0) return fd;
  error = sys_write_at(fd, found, sizeof *found, 0);
  if (error == 0) error = sys_sync_data(fd);
  sys_close(fd);
  if (error == 0) error = sys_rename(directory, RECOVERY_NEW_NAME, RECOVERY_NAME);
  return error == 0 ? sys_sync_directory(directory) : error;
}

int unreported_store(const log_lock *held, unreported *found, uint64_t counted_to) {
  if (found->counted_to < counted_to) found->counted_to = counted_to;
  int any = found->missing_events || found->damaged_blocks || found->damaged_records || found->flags;
  if (!any && found->magic == 0) return 0;
  found->magic = RECOVERY_MAGIC;
  found->major = FORMAT_MAJOR;
  found->minor = FORMAT_MINOR;
  found->log_id = held->log_id;
  found->crc = checksum(found);
  return replace(held->directory, found);
}
