/*
 * system.h: the one door to the operating system. Every system call that can fail and that recovery or reading depends
 * on passes here, so that a test can make the n-th one fail (WEIR_FAULT_INJECTION, debug builds only). Calls retry
 * EINTR and short transfers; they answer 0 or a count, or a negative errno. No other file looks at errno.
 */
#ifndef WEIR_SYSTEM_H
#define WEIR_SYSTEM_H

#include "system/names.h"

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { AT_WORKING_DIRECTORY = -100 }; /* AT_FDCWD: in place of an `at` */

int sys_open_directory(const char *path);                    /* fd, never through a symbolic link */
int sys_open_directory_at(int at, const char *name);          /* the same, in a directory */
int sys_make_directory(int at, const char *name);            /* 0700 */
int sys_open_read(int at, const char *name);                 /* fd; only a plain file, no link followed */
int sys_open_create(int at, const char *name);               /* fd, read and write, 0600, must not exist */
int sys_open_write(int at, const char *name);                /* fd, read and write, must exist as a plain file */
int sys_open_or_create(int at, const char *name);            /* fd, read and write, 0600 */
int64_t sys_read_at(int fd, void *bytes, uint64_t count, uint64_t at); /* bytes read; fewer only at the end */
int sys_write_at(int fd, const void *bytes, uint64_t count, uint64_t at); /* all of it, or an error */
int sys_allocate(int fd, uint64_t bytes);                    /* real blocks for [0, bytes) */
int sys_allocate_more(int fd, uint64_t from, uint64_t bytes); /* real blocks in a file that sys_allocate began, whose
                                                                size stays. -EOPNOTSUPP where the file system can't. For
                                                                captures too: no point where a thread is cancelled */
int sys_truncate(int fd, uint64_t bytes);
int sys_map(int fd, uint64_t bytes, uint8_t **address);      /* shared, writable, every page populated */
int sys_map_lazily(int fd, uint64_t bytes, uint8_t **address); /* the same without the pages: for sys_populate. A fault
                                                                makes one page, and reads none ahead */
int sys_map_zeros(uint64_t bytes, uint8_t **address);        /* private zeros. A signal handler may call it */
int sys_map_wiped(uint64_t bytes, uint8_t **address);        /* private zeros, zeros again in a child of a fork */
int sys_inherit(uint8_t *address, uint64_t bytes, int inherit); /* whether a child of a fork has the mapping too */
int sys_map_private(uint8_t *address, uint64_t bytes);       /* zeros at this address, in place of what was there. For
                                                                signal handlers too: errno stays */
int sys_unmap(uint8_t *address, uint64_t bytes);
int sys_remove_pages(uint8_t *address, uint64_t bytes); /* of a mapped file: they become a hole in it, zeros */
int sys_remove_blocks(int fd, uint64_t from, uint64_t bytes); /* the same of a file. -EOPNOTSUPP: it can't */
int sys_is_hole(int fd, uint64_t from, uint64_t bytes); /* 1 if the file system says so */
int sys_is_unbounded(uint64_t file_bytes); /* neither such a file nor mapped memory is limited for this process */
int sys_populate(uint8_t *address, uint64_t bytes);          /* makes the pages that it lies in writable ahead. -EINVAL:
                                                                Linux can't */
int sys_sync_mapped(uint8_t *address, uint64_t bytes);       /* msync */
void sys_gather_pages(int fd, uint64_t bytes);               /* makes the cached pages of a new file large; a hint */
void sys_start_writeback(int fd);                            /* tells the disk to begin; a hint */
int sys_block_bytes(int fd, uint64_t *bytes);                /* of the file system; 0 or a negative errno */
void sys_touch(int fd);                                      /* sets its time of modification to now; a hint */
void sys_touch_at(int at, const char *name);                 /* the same of a name in a directory */
int sys_sync_data(int fd);                                   /* fdatasync */
int sys_sync_directory(int fd);
int sys_rename(int at, const char *from, const char *to);
int sys_rename_new(int at, const char *from, const char *to); /* -EEXIST instead of replacing a file */
int sys_unlink(int at, const char *name);
int sys_status(int fd, struct stat *status);
int sys_status_at(int at, const char *name, struct stat *status); /* links not followed */
int sys_identity(int fd, uint64_t *inode, int64_t *born_ns); /* tells a directory from its copies; born 0: not known */
/*
 * A host may close descriptors that it did not open (closefrom), and its next file then gets the number. A sys_file
 * identifies the file that a descriptor was opened for, a directory or `name` in it, so that nothing is written to, cut
 * off or closed of another. All zeros match any file: some file systems give one file two numbers.
 */
typedef struct sys_file {
  uint64_t device, inode;
} sys_file;
sys_file sys_directory_of(int directory);
int sys_file_of(int fd, int directory, const char *name, sys_file *file); /* -EBADF if it is another by now */
int sys_is_file(int fd, const sys_file *file);     /* whether the descriptor still is of the file */
void sys_close_file(int fd, const sys_file *file); /* if it still is of the file */
int sys_is_memory(int fd);                                   /* 1 if the file has no disk behind it, as on tmpfs */
/*
 * A descriptor that becomes readable when a name comes into the directory, goes or changes, when one of its files is
 * touched, and when one is closed that somebody could write to. `file` is to know it by. A negative errno where the
 * system has no such thing or no more of them.
 */
int sys_watch(int directory, sys_file *file);
int sys_watch_take(int watch, const sys_file *file);         /* 1 if something happened since the last call, or 0.
                                                                -EBADF if the descriptor is somebody else's by now */
void sys_watch_wait(int watch, uint64_t timeout_ns);         /* waits for that. A signal does not end the wait */
int sys_lock(int fd);                                        /* -EAGAIN if another has it */
void sys_unlock(int fd);                                     /* for all copies of the descriptor */
int sys_is_locked(int fd);                                   /* 1 or 0; works on a read-only descriptor */
int sys_random(void *bytes, uint64_t count);
int sys_boot_id(uint8_t id[16]);                             /* -ENOENT without /proc: then it is zeros */
int sys_same_boot(const uint8_t one[16], const uint8_t other[16]); /* known to be: zeros are of no boot that is known */
int64_t sys_time_offset(void);                               /* of sys_monotonic_ns to the machine's, in a time
                                                                namespace; 0 where the kernel does not say */
int sys_clock_source_is(const char *name);                  /* the kernel keeps time by it; 1 if it does not say */
void sys_close(int fd);

/* Names in a directory, without "." and "..", in no order. Calls `each` until it answers other than 0. */
int sys_list(int directory, int (*each)(void *context, const char *name), void *context);

int64_t sys_wall_ns(void);
uint64_t sys_monotonic_ns(void);
uint64_t sys_coarse_ns(void);
uint64_t sys_deadline(uint64_t timeout_ns); /* so long from now, on the monotonic clock; UINT64_MAX: never */
void sys_sleep_ns(uint64_t ns);
void sys_be_nice(void); /* the calling thread gives way to others: nice 10, or what it has if that is more. A hint */

/* Waits while *word == value, at most timeout_ns (UINT64_MAX: for ever). Wakes early at will. */
void sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
void sys_futex_wake(uint32_t *word);

/* Makes every running thread of the process pass a full barrier. 0, or a negative errno where the kernel can't. */
int sys_membarrier_register(void);
int sys_membarrier_is_cheap(void); /* whether to register takes microseconds: else 10 to 20 ms, once a process */
int sys_membarrier(void);

#ifdef WEIR_FAULT_INJECTION
enum { WEIR_FAULT_KILL = 1 << 20 }; /* for an error: the process is killed instead, before the call */

/* Test only: the n-th call (from 1) of the operation named like its function fails with `error`; "any" counts all. */
void weir_fault_set(const char *operation, uint64_t nth, uint64_t times, int error);
uint64_t weir_fault_count(void);

/*
 * A call that changes or syncs files, for a test that records them: reported before and after the call; the files show
 * its effect.
 */
typedef struct weir_call {
  const char *operation;   /* the function's name */
  int fd;                  /* the file or directory; -1: it is by `address` or `name` alone */
  const char *name;        /* in the directory; null where there is none */
  const uint8_t *address;  /* of a mapping */
  uint64_t bytes;          /* of it, or of a write or an allocation */
  uint64_t at;             /* of a write or an allocation */
} weir_call;

/* Test only: sets the observer (null: none), and the boot id that sys_boot_id answers (null: the kernel's). */
void weir_fault_observe(void (*observer)(const weir_call *call, int after));
void weir_fault_boot_id(const uint8_t id[16]);
#endif

#endif
