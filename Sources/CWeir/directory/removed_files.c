/* removed_files.c: see removed_files.h. */
#include "directory/removed_files.h"

#include "system/forks.h"

enum { TIMES = 8 }; /* as much as the file has must be free on the disk, so many times */

void removed_files_hold(removed_files *removed, int directory, const char *name) {
  struct stat status;
  if (removed->count == MOST_REMOVED_FILES) return;
  int fd = sys_open_read(directory, name);
  if (fd < 0) return;
  struct removed_file *file = &removed->files[removed->count];
  *file = (struct removed_file){.fd = fd};
  int held = sys_status(fd, &status) == 0 && sys_has_room(fd, TIMES * 512 * (uint64_t)status.st_blocks) &&
             sys_file_of(fd, directory, name, &file->file) == 0;
  if (held) removed->count++;
  else sys_close(fd);
}

void removed_files_leave(removed_files *removed) {
  for (uint32_t i = 0; i < removed->count; i++) sys_close_file(removed->files[i].fd, &removed->files[i].file);
  removed->count = 0;
}

void removed_files_free(removed_files *removed) {
  forks_hold(); /* a forked child closes those that are listed */
  removed_files gone = *removed;
  removed->count = 0;
  forks_allow();
  removed_files_leave(&gone);
}
