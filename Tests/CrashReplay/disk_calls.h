/*
 * disk_calls.h: the C library's calls that reach the disk, in a form that behaves badly when told to: interrupted
 * calls, short transfers, slow syncs, missing fallocate, unreadable files. They take the place of the library's own in
 * the program whose one source file includes this. Everything above them is as users have it, the retries in system.c
 * too, which the faults that system.c itself injects would not pass through.
 */
#ifndef WEIR_CRASH_REPLAY_DISK_CALLS_H
#define WEIR_CRASH_REPLAY_DISK_CALLS_H

#include "check.h"

#include <sys/random.h>
#include <stdarg.h>
#include <sys/syscall.h>

static struct {
  _Atomic int interrupt;           /* every second call answers EINTR before it does anything */
  _Atomic uint64_t most;           /* bytes that one transfer carries; 0: all */
  _Atomic uint64_t pause_ns;       /* that each sync, allocation and cut takes longer */
  _Atomic int allocate_error;      /* errno of every fallocate; 0: it works */
  _Atomic int sync_error;          /* errno of every fdatasync */
  _Atomic uint64_t unreadable;     /* inode of a file whose reads fail with EIO from `unreadable_from` on; 0: none */
  _Atomic uint64_t unreadable_from;
  _Atomic uint64_t calls, interrupted, cut_short, paused;
} disk_calls;

static void disk_calls_behave(void) { memset(&disk_calls, 0, sizeof disk_calls); }

/* Whether this call is to be interrupted. */
static int disk_call(void) {
  uint64_t number = disk_calls.calls++;
  if (!disk_calls.interrupt || number % 2 != 0) return 0;
  disk_calls.interrupted++;
  errno = EINTR;
  return 1;
}

static size_t disk_transfer(size_t count) {
  uint64_t most = disk_calls.most;
  if (most == 0 || count <= most) return count;
  disk_calls.cut_short++;
  return 1 + disk_calls.cut_short * 7 % most;
}

static void disk_pause(void) {
  uint64_t ns = disk_calls.pause_ns;
  if (ns == 0) return;
  disk_calls.paused++;
  sleep_ns(ns);
}

int openat(int at, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return disk_call() ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t at) {
  struct stat status;
  if (disk_calls.unreadable && fstat(fd, &status) == 0 && status.st_ino == disk_calls.unreadable &&
      (uint64_t)at + count > disk_calls.unreadable_from) {
    errno = EIO;
    return -1;
  }
  return disk_call() ? -1 : syscall(SYS_pread64, fd, bytes, disk_transfer(count), at);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  return disk_call() ? -1 : syscall(SYS_pwrite64, fd, bytes, disk_transfer(count), at);
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
  return disk_call() ? -1 : syscall(SYS_getrandom, bytes, disk_transfer(count), flags);
}

int ftruncate(int fd, off_t bytes) {
  if (disk_call()) return -1;
  disk_pause();
  return (int)syscall(SYS_ftruncate, fd, bytes);
}

int fallocate(int fd, int mode, off_t at, off_t bytes) {
  if (disk_call()) return -1;
  disk_pause();
  errno = disk_calls.allocate_error;
  return errno != 0 ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

int fdatasync(int fd) {
  if (disk_call()) return -1;
  disk_pause();
  errno = disk_calls.sync_error;
  return errno != 0 ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd) {
  if (disk_call()) return -1;
  disk_pause();
  return (int)syscall(SYS_fsync, fd);
}

#endif
