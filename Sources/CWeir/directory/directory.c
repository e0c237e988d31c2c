/* directory.c: see directory.h. */
#include "directory/directory.h"

#include <errno.h>

#include "directory/segment_list.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/system.h"

/* Whether the directory is a log's: 1, 0, or a negative errno. */
static int holds_log(int directory) {
  struct stat status;
  static const char *const names[] = {LOCK_NAME, RING_NAME};
  for (int i = 0; i < 2; i++) {
    int error = sys_status_at(directory, names[i], &status);
    if (error == 0) return 1;
    if (error != -ENOENT) return error;
  }
  segment_list list;
  int error = segment_list_read(directory, &list);
  if (error != 0) return error;
  int any = list.count > 0;
  segment_list_free(&list);
  return any;
}

weir_status directory_open_read(const char *path, int *fd, weir_error *error) {
  *fd = -1;
  if (!crc_available()) {
    return fail(error, WEIR_ERROR_PLATFORM, 0, path, "this processor lacks the CRC32C instruction; use a newer one");
  }
  if (!path || !*path) {
    return fail(error, WEIR_ERROR_MISSING, ENOENT, path, "no directory was given; give the path of a log's directory");
  }
  int opened = sys_open_directory(path);
  if (opened == -ENOENT) {
    return fail(error, WEIR_ERROR_MISSING, ENOENT, path, "there is no directory %s; check the path", path);
  }
  if (opened == -ENOTDIR || opened == -ELOOP) {
    return fail(error, WEIR_ERROR_DIRECTORY, -opened, path,
                "%s is not a directory, or a symbolic link; give the log's directory itself", path);
  }
  if (opened < 0) return fail_system(error, opened, "open", path, NULL);
  int any = holds_log(opened);
  if (any == 1) {
    *fd = opened;
    return WEIR_OK;
  }
  sys_close(opened);
  if (any < 0) return fail_system(error, any, "read", path, NULL);
  return fail(error, WEIR_ERROR_MISSING, 0, path, "%s holds no log; check the path", path);
}

int directory_was_opened(int directory) {
  struct stat status;
  return sys_status_at(directory, LOCK_NAME, &status) == 0;
}

int directory_is_live(int directory) {
  int lock = sys_open_read(directory, LOCK_NAME);
  if (lock < 0) return 0;
  int live = sys_is_locked(lock);
  sys_close(lock);
  return live;
}
