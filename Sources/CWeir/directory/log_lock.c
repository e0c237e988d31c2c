/* log_lock.c: see log_lock.h. */
#define _GNU_SOURCE
#include "directory/log_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/format.h"
#include "system/bytes.h"
#include "system/crc32c.h"
#include "system/forks.h"

static log_lock *locks; /* changed only while forks are held */

static void close_descriptors(log_lock *lock) {
  sys_close_file(lock->directory, &lock->home);
  sys_close_file(lock->file, &lock->file_id);
  lock->directory = lock->file = -1;
}

/* A child closes only descriptors that are still of their file: the numbers may be of other files by then. */
static void after_fork_in_child(void) {
  for (log_lock *lock = locks; lock; lock = lock->next) close_descriptors(lock);
}

static void watch_forks(void) {
  static fork_watch watch = {.in_child = after_fork_in_child};
  forks_add(&watch);
}

/* The absolute path. Allocated; null: there is no memory. */
static char *absolute_path(const char *path) {
  char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
  if (!here) return strdup(path); /* the working directory may have been removed */
  uint64_t room = strlen(here) + strlen(path) + 2;
  char *made = (char *)malloc(room);
  if (made) snprintf(made, room, "%s/%s", strcmp(here, "/") == 0 ? "" : here, path);
  free(here);
  return made;
}

int log_lock_make(log_lock *lock, const char *path) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  *lock = (log_lock){.path = strdup(path), .absolute = absolute_path(path), .directory = -1, .file = -1,
                     .user = (uint32_t)geteuid()};
  return lock->path && lock->absolute ? 0 : -ENOMEM;
}

void log_lock_free(log_lock *lock) {
  free(lock->path);
  free(lock->absolute);
}

/* Whether there was no ring yet, so that nobody has synced the parent directory: 1, 0 or a negative errno. */
static int is_new(int directory) {
  struct stat status;
  int error = sys_status_at(directory, RING_NAME, &status);
  if (error == -ENOENT) error = sys_status_at(directory, LOCATOR_NAME, &status);
  return error == -ENOENT ? 1 : error;
}

/* If the parent can't be read, somebody else has made the directory. */
static int keep_name(int directory) {
  int above = sys_open_directory_at(directory, "..");
  if (above == -EACCES) return 0;
  if (above < 0) return above;
  int error = sys_sync_directory(above);
  sys_close(above);
  return error;
}

/* Without a ring the id may be that of an opening that got no further than to write the id. */
weir_status log_lock_keep(const log_lock *lock, weir_error *error) {
  int result = lock->id_new || lock->name_new ? sys_sync_data(lock->file) : 0;
  if (result != 0) return fail_system(error, result, "sync", lock->path, LOCK_NAME);
  result = lock->name_new ? keep_name(lock->directory) : 0;
  return result == 0 ? WEIR_OK : fail_system(error, result, "sync the directory above", lock->path, NULL);
}

static weir_status open_directory(log_lock *lock, int create, weir_error *error) {
  const char *path = lock->path;
  int made = 0;
  lock->directory = sys_open_directory(path);
  if (lock->directory == -ENOENT && create) {
    int result = sys_make_directory(AT_WORKING_DIRECTORY, path);
    if (result != 0 && result != -EEXIST) return fail_system(error, result, "make the directory", path, NULL);
    made = result == 0;
    lock->directory = sys_open_directory(path);
  }
  if (lock->directory < 0) return fail_system(error, lock->directory, "open the directory", path, NULL);
  struct stat status;
  int result = sys_status(lock->directory, &status);
  if (result != 0) return fail_system(error, result, "look at", path, NULL);
  if (status.st_uid != geteuid() && status.st_uid != 0 && geteuid() != 0) {
    return fail(error, WEIR_ERROR_UNSAFE, 0, path,
                "the directory %s belongs to another user (%u), who could forge or remove events; name one of your "
                "own, such as a new one below it",
                path, (unsigned)status.st_uid);
  }
  if (!made && (status.st_mode & S_IWOTH)) {
    return fail(error, WEIR_ERROR_UNSAFE, 0, path,
                "the directory %s can be written by every user (mode %04o), who could then forge or remove events; "
                "run 'chmod o-w' on it or choose another",
                path, (unsigned)status.st_mode & 07777);
  }
  result = is_new(lock->directory);
  lock->name_new = result == 1;
  return result >= 0 ? WEIR_OK : fail_system(error, result, "look at", path, NULL);
}

static weir_status lock_directory(log_lock *lock, weir_error *error) {
  forks_hold();
  lock->file = sys_open_or_create(lock->directory, LOCK_NAME);
  forks_allow();
  if (lock->file < 0) return fail_system(error, lock->file, "open", lock->path, LOCK_NAME);
  /*
   * A process that was killed just now may not have let go of its descriptors yet, nor a program that it was starting:
   * such a one is waited for.
   */
  int result = sys_lock(lock->file);
  for (int i = 0; i < 100 && result == -EAGAIN; i++) {
    sys_sleep_ns(1000000);
    result = sys_lock(lock->file);
  }
  lock->owner = (int)getpid();
  lock->home = sys_directory_of(lock->directory);
  sys_file_of(lock->file, lock->directory, LOCK_NAME, &lock->file_id);
  if (result == 0) return WEIR_OK;
  if (result != -EAGAIN) return fail_system(error, result, "lock", lock->path, LOCK_NAME);
  return fail(error, WEIR_ERROR_LOCKED, EAGAIN, lock->path,
              "the log %s is open in another process or tracker; close that one, or use another directory", lock->path);
}

weir_status log_lock_take(log_lock *lock, int create, weir_error *error) {
  forks_hold();
  lock->next = locks;
  locks = lock;
  forks_allow();
  weir_status status = open_directory(lock, create, error);
  return status == WEIR_OK ? lock_directory(lock, error) : status;
}

static uint32_t checksum(const lock_content *content) {
  uint64_t state = crc_extend(CRC_START, content, offsetof(lock_content, crc));
  return crc_end(crc_extend(state, &content->log_id, sizeof *content - offsetof(lock_content, log_id)));
}

static int is_right(const lock_content *content) {
  return content->magic == LOCK_MAGIC && content->crc == checksum(content);
}

int log_lock_id(int directory, uint64_t *log_id) {
  lock_content content = {0};
  *log_id = 0;
  int fd = sys_open_read(directory, LOCK_NAME);
  if (fd < 0) return fd;
  int64_t got = sys_read_at(fd, &content, sizeof content, 0);
  sys_close(fd);
  if (got == sizeof content && is_right(&content)) *log_id = content.log_id;
  return got < 0 ? (int)got : 0;
}

/* Whether the file is empty or an opening's. A file of somebody else's is locked, and stays as it is. */
static int is_ours(const lock_content *content) {
  return content->magic == LOCK_MAGIC || bytes_are_zero(content, sizeof *content);
}

int log_lock_identify(log_lock *lock, uint64_t log_id) {
  while (log_id == 0) {
    int error = sys_random(&log_id, sizeof log_id);
    if (error != 0) return error;
  }
  lock->log_id = log_id;
  lock_content old = {0};
  int64_t got = sys_read_at(lock->file, &old, sizeof old, 0);
  if (got < 0) return (int)got;
  if (!is_ours(&old) || (is_right(&old) && old.log_id == log_id)) return 0;
  lock_content content = {.magic = LOCK_MAGIC, .major = FORMAT_MAJOR, .minor = FORMAT_MINOR, .log_id = log_id};
  content.crc = checksum(&content);
  int error = sys_write_at(lock->file, &content, sizeof content, 0);
  if (error != 0) return error;
  lock->id_new = 1;
  sys_start_writeback(lock->file); /* so that the next commit of the file system's journal has its block */
  return 0;
}

void log_lock_let_go(log_lock *lock) {
  forks_hold();
  for (log_lock **at = &locks; *at; at = &(*at)->next) {
    if (*at != lock) continue;
    *at = lock->next;
    break;
  }
  /*
   * A program that another thread is just starting has a copy of the descriptor until it runs, and with it the lock,
   * unless that is given up by name.
   */
  if (lock->owner == (int)getpid() && sys_is_file(lock->file, &lock->file_id)) sys_unlock(lock->file);
  close_descriptors(lock); /* forks are held: a child forked after this has no copy, one forked before closes its own */
  forks_allow();
}

int log_lock_check(const log_lock *lock) {
  return sys_is_file(lock->directory, &lock->home) && sys_is_file(lock->file, &lock->file_id) ? 0 : -DESCRIPTOR_LOST;
}

weir_status log_lock_fail(const log_lock *lock, int negative_errno, const char *action, weir_error *error) {
  uint32_t user = (uint32_t)geteuid();
  struct stat home;
  weir_status status = status_of(negative_errno);
  if (sys_status(lock->directory, &home) == 0 && home.st_nlink == 0) {
    return fail(error, status, -negative_errno, lock->path,
                "the directory %s was removed while the log in it was open: what it held is lost, and what is captured "
                "from now on; close the log, and open one in a directory that stays",
                lock->path);
  }
  if (status != WEIR_ERROR_ACCESS || user == lock->user) {
    return fail_system(error, negative_errno, action, lock->path, NULL);
  }
  return fail(error, status, -negative_errno, lock->path,
              "cannot %s %s: it was opened by user %u, the process is user %u by now, who may not write to the log's "
              "directory; open logs after dropping privileges",
              action, lock->path, (unsigned)lock->user, (unsigned)user);
}
