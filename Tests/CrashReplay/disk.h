/*
 * disk.h: small file systems to fill, break and cut: a tmpfs of a given size, and ext4, ext2, xfs or btrfs in a file.
 * They are mounted in a mount namespace of the process's own, so that nothing stays mounted whatever ends the process.
 */
#ifndef WEIR_CRASH_REPLAY_DISK_H
#define WEIR_CRASH_REPLAY_DISK_H

#include <stdint.h>

/*
 * Before any thread is started: gives the process a mount namespace of its own. 1, or 0 where that is not allowed; then
 * it has said "SKIPPED: <what> because …".
 */
int disk_ready(const char *what);

/* Runs a shell command, formatted like printf's. Its exit status; what it prints is shown only with WEIR_VERBOSE. */
int disk_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether a program is installed; otherwise says "SKIPPED: <what> because there is no <program>". */
int disk_needs(const char *program, const char *what);

/* Mounts a tmpfs of so many bytes at `path`, a folder that is made if need be. 1, or 0. */
int disk_tmpfs(const char *path, uint64_t bytes);

/*
 * Makes a file system of a kind ("ext4", "ext2", "xfs", "xfs-64k", "btrfs") in the file `image` and mounts it at `path` with the
 * given options of mount. 1, or 0 and "SKIPPED: …" where the machine lacks the kind.
 */
int disk_make(const char *image, uint64_t bytes, const char *kind, const char *options, const char *path);

/* Mounts an image that disk_make made. 1, or 0. */
int disk_mount(const char *image, const char *options, const char *path);

void disk_unmount(const char *path);

uint64_t disk_free_bytes(const char *path); /* for a user without privileges */

/* Fills a file system up but for so many bytes, by the file `ballast` in it. 0 bytes of ballast: none. */
void disk_leave_free(const char *path, uint64_t bytes);
void disk_drop_ballast(const char *path);

#endif
