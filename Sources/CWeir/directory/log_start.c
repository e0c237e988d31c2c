/* log_start.c: see log_start.h. */
#include "directory/log_start.h"

#include <errno.h>
#include <string.h>

#include "system/crc32c.h"
#include "system/system.h"

static uint32_t checksum(const log_start_slot *slot) {
  uint64_t state = crc_extend(CRC_START, slot, offsetof(log_start_slot, crc));
  return crc_end(crc_extend(state, &slot->sequence, sizeof *slot - offsetof(log_start_slot, sequence)));
}

static int check(const log_start_slot *slot) {
  if (slot->magic != START_MAGIC) return -EBADMSG;
  int intact = slot->crc == checksum(slot);
  /* As in the locator: no single flipped bit makes version 1 the next one. */
  if (slot->major == FORMAT_MAJOR + 1 || (slot->major > FORMAT_MAJOR && intact)) return -ENOTSUP;
  if (!intact || slot->sequence == 0) return -EBADMSG;
  if (slot->incompatible != 0) return -ENOTSUP;
  if (slot->first_offset >= MAX_OFFSET || slot->events > slot->first_offset) return -EBADMSG;
  if (slot->notices > slot->first_offset - slot->events) return -EBADMSG;
  return slot->missing > slot->first_offset - slot->events - slot->notices ? -EBADMSG : 0;
}

static int read_slots(int fd, log_start_slot *best) {
  int found = -EBADMSG;
  memset(best, 0, sizeof *best);
  for (uint64_t i = 0; i < START_SLOTS; i++) {
    log_start_slot slot;
    int64_t got = sys_read_at(fd, &slot, sizeof slot, i * START_SLOT_STRIDE);
    if (got < 0) return (int)got;
    int error = got == sizeof slot ? check(&slot) : -EBADMSG;
    if (error == -ENOTSUP) return error;
    if (error != 0 || slot.sequence <= best->sequence) continue;
    *best = slot;
    found = 1;
  }
  return found;
}

int log_start_read(int directory, uint64_t log_id, log_start_slot *slot) {
  memset(slot, 0, sizeof *slot);
  int fd = sys_open_read(directory, START_NAME);
  if (fd < 0) return fd == -ENOENT ? 0 : fd;
  int result = -EBADMSG;
  /* A live log may write a slot during this read. It would take two syncs of the disk to do so twice in a row. */
  for (int i = 0; i < 3 && result == -EBADMSG; i++) result = read_slots(fd, slot);
  sys_close(fd);
  return result == 1 && log_id != 0 && slot->log_id != log_id ? -ESTALE : result;
}

const char *log_start_problem(int error) {
  if (error == -ESTALE) return START_FOREIGN;
  if (error != -EBADMSG && error != -ELOOP) return NULL;
  return "the file that says what was removed is damaged: what retention removed counts as missing";
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Makes the file under its temporary name, with both slots, so that no slot is ever unwritten. */
static int make(int directory, const log_start_slot *slot) {
  static const uint8_t zeros[START_SLOTS * START_SLOT_STRIDE] = {0};
  int error = sys_unlink(directory, START_NEW_NAME);
  if (error != 0 && error != -ENOENT) return error;
  int fd = sys_open_create(directory, START_NEW_NAME);
  if (fd < 0) return fd;
  error = sys_write_at(fd, zeros, sizeof zeros, 0);
  for (uint64_t i = 0; i < START_SLOTS && error == 0; i++) {
    error = sys_write_at(fd, slot, sizeof *slot, i * START_SLOT_STRIDE);
  }
  if (error == 0) error = sys_sync_data(fd);
  sys_close(fd);
  if (error == 0) error = sys_rename(directory, START_NEW_NAME, START_NAME);
  return error == 0 ? sys_sync_directory(directory) : error;
}

int log_start_write(int directory, log_start_slot *slot) {
  log_start_slot next = *slot;
  next.magic = START_MAGIC;
  next.major = FORMAT_MAJOR;
  next.minor = FORMAT_MINOR;
  next.sequence++;
  next.changed_ns = sys_wall_ns();
  next.crc = checksum(&next);
  int fd = sys_open_write(directory, START_NAME), error;
  if (fd == -ENOENT) {
    error = make(directory, &next);
  } else if (fd < 0) {
    error = fd;
  } else {
    error = sys_write_at(fd, &next, sizeof next, next.sequence % START_SLOTS * START_SLOT_STRIDE);
    if (error == 0) error = sys_sync_data(fd);
    sys_close(fd);
  }
  /* After a failed sync the slot may be on the disk or not. The next write uses the same slot: the other is whole. */
  if (error == 0) *slot = next;
  return error;
}

int log_start_confirm(int directory, const log_start_slot *slot) {
  int fd = sys_open_write(directory, START_NAME);
  if (fd < 0) return fd;
  /* In the same slot: the other may be the only one that the disk has. */
  int error = sys_write_at(fd, slot, sizeof *slot, slot->sequence % START_SLOTS * START_SLOT_STRIDE);
  if (error == 0) error = sys_sync_data(fd);
  sys_close(fd);
  return error == 0 ? sys_sync_directory(directory) : error;
}
