/* disk.c: see disk.h. */
#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

int disk_ready(const char *what) {
  static int ready = -1;
  if (ready < 0) {
    ready = unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
  }
  if (!ready) printf("SKIPPED: %s, because mounting takes root and mount namespaces\n", what);
  return ready;
}

int disk_run(const char *format, ...) {
  char given[4096], command[4200];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(given, sizeof given, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof given) return 127;
  /* Where the tools of a file system are is not on every user's path. */
  snprintf(command, sizeof command, "{ PATH=$PATH:/usr/sbin:/sbin; %s\n}%s", given,
           getenv("WEIR_VERBOSE") ? "" : " >/dev/null 2>&1");
  fflush(stdout);
  int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int disk_needs(const char *program, const char *what) {
  if (disk_run("command -v %s", program) == 0) return 1;
  printf("SKIPPED: %s, because there is no %s\n", what, program);
  return 0;
}

int disk_tmpfs(const char *path, uint64_t bytes) {
  char options[64];
  snprintf(options, sizeof options, "size=%llu,mode=0700", (unsigned long long)bytes);
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return 0;
  return mount("none", path, "tmpfs", 0, options) == 0;
}

int disk_mount(const char *image, const char *options, const char *path) {
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return 0;
  return disk_run("mount -o loop,%s '%s' '%s'", options && *options ? options : "rw", image, path) == 0;
}

int disk_make(const char *image, uint64_t bytes, const char *kind, const char *options, const char *path) {
  /* No blocks kept back for root: a full disk is to be full for whoever runs the tests. */
  const char *make = strcmp(kind, "xfs") == 0       ? "mkfs.xfs -q -f"
                     : strcmp(kind, "xfs-64k") == 0 ? "mkfs.xfs -q -f -b size=65536"
                     : strcmp(kind, "btrfs") == 0   ? "mkfs.btrfs -q -f -m single"
                     : strcmp(kind, "ext2") == 0    ? "mkfs.ext2 -q -F -m 0 -b 4096"
                                                    : "mkfs.ext4 -q -F -m 0 -b 4096";
  int fd = open(image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  int made = ftruncate(fd, (off_t)bytes) == 0;
  close(fd);
  if (made && disk_run("%s '%s'", make, image) == 0 && disk_mount(image, options, path)) {
    return 1;
  }
  printf("SKIPPED: what needs %s, because it can't be made or mounted here\n", kind);
  return 0;
}

void disk_unmount(const char *path) {
  /* What was killed a moment ago may still hold a file open. */
  for (int i = 0; umount2(path, 0) != 0 && errno == EBUSY && i < 200; i++) usleep(10000);
  umount2(path, MNT_DETACH);
}

uint64_t disk_free_bytes(const char *path) {
  struct statvfs status;
  return statvfs(path, &status) == 0 ? (uint64_t)status.f_bavail * status.f_frsize : 0;
}

static void ballast_path(char name[4096], const char *path) { snprintf(name, 4096, "%s/ballast", path); }

void disk_drop_ballast(const char *path) {
  char name[4096];
  ballast_path(name, path);
  unlink(name);
}

void disk_leave_free(const char *path, uint64_t bytes) {
  char name[4096];
  ballast_path(name, path);
  disk_drop_ballast(path);
  int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  /* By halves: what a file system needs for its own lists of blocks is not known beforehand. */
  off_t at = 0;
  for (uint64_t step = UINT64_C(1) << 40; step >= 4096;) {
    uint64_t left = disk_free_bytes(path);
    if (left <= bytes) break;
    if (step > left - bytes) step = (left - bytes) / 4096 * 4096;
    if (step >= 4096 && fallocate(fd, 0, at, (off_t)step) == 0) at += (off_t)step;
    else step /= 2;
  }
  close(fd);
}
