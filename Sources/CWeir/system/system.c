/* system.c: see system.h. Longer than other files, because every call to the system goes through this one. */
#define _GNU_SOURCE
#include "system/system.h"

#include "system/failing.h"
#include "weir_failing.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#ifndef STATX_BTIME /* musl before 1.2.5 */
#include <linux/stat.h>
static int statx(int at, const char *name, int flags, unsigned mask, struct statx *status) {
  return (int)syscall(SYS_statx, at, name, flags, mask, status);
}
#endif

static_assert((int)AT_WORKING_DIRECTORY == AT_FDCWD, "the system's number for the working directory");

#ifdef WEIR_FAULT_INJECTION
/* An operation is called what its function is called in system.h, without the prefix that names.h puts in front. */
static const char *operation_name(const char *function) {
  uint64_t prefix = sizeof NAMES_PREFIX - 1;
  return strncmp(function, NAMES_PREFIX, prefix) == 0 ? function + prefix : function;
}

static struct {
  char operation[32];
  uint64_t nth, times, seen;
  int error;
} fault_plan;

void weir_fault_set(const char *operation, uint64_t nth, uint64_t times, int error) {
  snprintf(fault_plan.operation, sizeof fault_plan.operation, "%s", operation ? operation : "");
  fault_plan.nth = nth;
  fault_plan.times = times;
  fault_plan.error = error;
  __atomic_store_n(&fault_plan.seen, 0, __ATOMIC_RELAXED);
}

uint64_t weir_fault_count(void) { return __atomic_load_n(&fault_plan.seen, __ATOMIC_RELAXED); }

static int fault(const char *operation) {
  if (!fault_plan.operation[0]) return 0;
  if (strcmp(fault_plan.operation, "any") != 0 && strcmp(fault_plan.operation, operation) != 0) return 0;
  uint64_t seen = __atomic_add_fetch(&fault_plan.seen, 1, __ATOMIC_RELAXED);
  if (seen == fault_plan.nth && fault_plan.error == WEIR_FAULT_KILL) kill(getpid(), SIGKILL);
  return seen >= fault_plan.nth && seen - fault_plan.nth < fault_plan.times ? -fault_plan.error : 0;
}
#define FAULT()                                   \
  do {                                            \
    int fault_ = fault(operation_name(__func__)); \
    if (fault_ != 0) return fault_;               \
  } while (0)

static void (*observer)(const weir_call *call, int after);
static const uint8_t *boot_id;

void weir_fault_observe(void (*observed)(const weir_call *call, int after)) { observer = observed; }
void weir_fault_boot_id(const uint8_t id[16]) { boot_id = id; }

static void observe_after(const weir_call *call) {
  int before = errno;
  if (call->operation && observer) observer(call, 1);
  errno = before;
}

static weir_call observe_before(weir_call call) {
  if (observer) observer(&call, 0);
  else call.operation = NULL;
  return call;
}
#define OBSERVE(...)                                             \
  __attribute__((cleanup(observe_after))) weir_call call_ = \
      observe_before((weir_call){.operation = operation_name(__func__), __VA_ARGS__})
#else
#define FAULT() ((void)0)
#define OBSERVE(...) ((void)0)
#endif

/* A descriptor above those of the standard streams: in a process that has closed these, whatever it prints would
   otherwise be written into the log. */
static int above_standard_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int made = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int error = errno;
  close(fd);
  errno = error;
  return made;
}

static int retry_open(int at, const char *name, int flags, mode_t mode) {
  int fd;
  do fd = openat(at, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
  while (fd < 0 && errno == EINTR);
  fd = above_standard_streams(fd);
  return fd < 0 ? -errno : fd;
}

/* Opens without waiting on a FIFO or a device, and refuses whatever is not a plain file as it does a link: ELOOP. */
static int open_plain(int at, const char *name, int flags, mode_t mode) {
  int fd = retry_open(at, name, flags | O_NONBLOCK | O_NOCTTY, mode);
  if (fd == -ENXIO) return -ELOOP; /* a socket, or a device that is not there */
  if (fd < 0) return fd;
  struct stat status;
  int error = fstat(fd, &status) != 0 ? -errno : S_ISREG(status.st_mode) ? 0 : -ELOOP;
  if (error != 0) {
    close(fd);
    return error;
  }
  return fd;
}

int sys_open_directory(const char *path) {
  FAULT();
  /* With a slash at its end the kernel follows a link despite O_NOFOLLOW. */
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  char *bare = strndup(path, length);
  if (!bare) return -ENOMEM;
  int fd = retry_open(AT_FDCWD, bare, O_RDONLY | O_DIRECTORY, 0);
  free(bare);
  return fd;
}

int sys_open_directory_at(int at, const char *name) {
  FAULT();
  return retry_open(at, name, O_RDONLY | O_DIRECTORY, 0);
}

int sys_make_directory(int at, const char *name) {
  FAULT();
  FAILING(WEIR_FAIL_CREATE, at);
  OBSERVE(.fd = at, .name = name);
  if (mkdirat(at, name, 0700) != 0) return -errno;
  /* A umask can have taken bits away that we need ourselves. */
  struct stat status;
  if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  if (!S_ISDIR(status.st_mode) || (status.st_mode & 0700) == 0700) return 0;
  return fchmodat(at, name, 0700, 0) != 0 ? -errno : 0;
}

int sys_open_read(int at, const char *name) {
  FAULT();
  return open_plain(at, name, O_RDONLY, 0);
}

/* The mode of a file just made, whatever the umask. */
static int with_mode(int fd) {
  if (fd < 0 || fchmod(fd, 0600) == 0) return fd;
  int error = errno;
  close(fd);
  return -error;
}

int sys_open_create(int at, const char *name) {
  FAULT();
  FAILING(WEIR_FAIL_CREATE, at);
  OBSERVE(.fd = at, .name = name);
  return with_mode(open_plain(at, name, O_RDWR | O_CREAT | O_EXCL, 0600));
}

int sys_open_write(int at, const char *name) {
  FAULT();
  return open_plain(at, name, O_RDWR, 0);
}

int sys_open_or_create(int at, const char *name) {
  FAULT();
  FAILING(WEIR_FAIL_CREATE, at);
  OBSERVE(.fd = at, .name = name);
  int fd = open_plain(at, name, O_RDWR, 0);
  if (fd != -ENOENT) return fd;
  fd = with_mode(open_plain(at, name, O_RDWR | O_CREAT | O_EXCL, 0600));
  return fd == -EEXIST ? open_plain(at, name, O_RDWR, 0) : fd;
}

int64_t sys_read_at(int fd, void *bytes, uint64_t count, uint64_t at) {
  FAULT();
  FAILING(WEIR_FAIL_READ, fd);
  uint64_t done = 0;
  while (done < count) {
    ssize_t n = pread(fd, (uint8_t *)bytes + done, count - done, (off_t)(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) break;
    done += (uint64_t)n;
  }
  return (int64_t)done;
}

/* Whether a file may grow to `end` bytes. Trying raises SIGXFSZ, which ends a process that does not expect it. */
static int check_size_limit(uint64_t end) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur ? -EFBIG : 0;
}

int sys_write_at(int fd, const void *bytes, uint64_t count, uint64_t at) {
  FAULT();
  FAILING(WEIR_FAIL_WRITE, fd);
  int over = check_size_limit(at + count);
  if (over != 0) return over;
  OBSERVE(.fd = fd, .bytes = count, .at = at);
  uint64_t done = 0;
  while (done < count) {
    ssize_t n = pwrite(fd, (const uint8_t *)bytes + done, count - done, (off_t)(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) return -ENOSPC;
    done += (uint64_t)n;
  }
  return 0;
}

static const uint8_t zeros[65536] = {0};

/* Allocates by writing zeros, on file systems without fallocate. */
static int allocate_by_writing(int fd, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += sizeof zeros) {
    uint64_t count = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
    int error = sys_write_at(fd, zeros, count, at);
    if (error != 0) return error;
  }
  return 0;
}

/*
 * On btrfs a store to a page after its writeback needs a new block, even in an allocated file; on a full disk the store
 * raises SIGBUS. FS_NOCOW_FL prevents that if set while the file is empty. The flag also turns btrfs's checksums off;
 * Weir's remain. Through an overlay the flag reaches the file below. 0 or a negative errno.
 */
static int keep_in_place(int fd) {
  struct statfs system;
  struct stat status;
  int flags = 0;
  if (fstatfs(fd, &system) != 0 || fstat(fd, &status) != 0) return -errno;
  uint32_t type = (uint32_t)system.f_type;
  if (status.st_size > 0 || (type != BTRFS_SUPER_MAGIC && type != OVERLAYFS_SUPER_MAGIC)) return 0;
  int known = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
  if (known && (flags & FS_NOCOW_FL)) return 0; /* inherited from the directory */
  /* A file that inherited compression can't take the flag: clear compression first. */
  int compressed = FS_COMPR_FL | FS_NOCOMP_FL;
  if (known && (flags & compressed)) {
    flags &= ~compressed;
    known = ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
  }
  flags |= FS_NOCOW_FL;
  if (known && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0) return 0;
  return type == OVERLAYFS_SUPER_MAGIC ? 0 : -EOPNOTSUPP;
}

/*
 * Before Linux 6.9 tmpfs gives up at a signal and undoes what it did. Under a profiler's timer a large file would never
 * be done, so each time that happens the pieces become smaller. 0 or a negative errno.
 */
static int allocate_in_pieces(int fd, uint64_t from, uint64_t bytes, int (*allocate)(int, int, off_t, off_t),
                              int mode) {
  enum { LEAST_PIECE_BYTES = 64 << 10 };
  uint64_t piece = bytes, to = from + bytes;
  for (uint64_t at = from; at < to;) {
    uint64_t count = to - at < piece ? to - at : piece;
    if (allocate(fd, mode, (off_t)at, (off_t)count) == 0) at += count;
    else if (errno != EINTR) return -errno;
    else if (piece > LEAST_PIECE_BYTES) piece /= 2;
  }
  return 0;
}

int sys_allocate(int fd, uint64_t bytes) {
  FAULT();
  FAILING(WEIR_FAIL_GROW, fd);
  int error = check_size_limit(bytes);
  if (error == 0) error = keep_in_place(fd);
  if (error != 0) return error;
  OBSERVE(.fd = fd, .bytes = bytes);
  error = allocate_in_pieces(fd, 0, bytes, fallocate, 0);
  return error == -EOPNOTSUPP ? allocate_by_writing(fd, bytes) : error;
}

/* The bare call: a lane's first capture comes to it, and must not be a point where its thread is cancelled. */
static int bare_fallocate(int fd, int mode, off_t from, off_t bytes) {
  return (int)syscall(SYS_fallocate, fd, mode, from, bytes);
}

int sys_allocate_more(int fd, uint64_t from, uint64_t bytes) {
  FAULT();
  FAILING(WEIR_FAIL_GROW, fd);
  int over = check_size_limit(from + bytes); /* also of a file whose size stays */
  if (over != 0) return over;
  OBSERVE(.fd = fd, .bytes = bytes, .at = from);
  return allocate_in_pieces(fd, from, bytes, bare_fallocate, FALLOC_FL_KEEP_SIZE);
}

int sys_remove_blocks(int fd, uint64_t from, uint64_t bytes) {
  FAULT();
  OBSERVE(.fd = fd);
  return allocate_in_pieces(fd, from, bytes, bare_fallocate, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
}

/* The kernel refuses a range that begins within a page, and rounds up where the range ends. */
int sys_remove_pages(uint8_t *address, uint64_t bytes) {
  FAULT();
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = -(uintptr_t)address & (page - 1);
  if (bytes < before + page) return -EINVAL;
  return madvise(address + before, (bytes - before) & ~(page - 1), MADV_REMOVE) == 0 ? 0 : -errno;
}

int sys_is_hole(int fd, uint64_t from, uint64_t bytes) {
  off_t data = lseek(fd, (off_t)from, SEEK_DATA);
  return data < 0 ? errno == ENXIO : (uint64_t)data >= from + bytes;
}

int sys_is_unbounded(uint64_t file_bytes) {
  struct rlimit limit;
  return check_size_limit(file_bytes) == 0 && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

int sys_truncate(int fd, uint64_t bytes) {
  FAULT();
  OBSERVE(.fd = fd);
  int result;
  do result = ftruncate(fd, (off_t)bytes);
  while (result != 0 && errno == EINTR);
  return result != 0 ? -errno : 0;
}

int sys_block_bytes(int fd, uint64_t *bytes) {
  struct statvfs system;
  FAULT();
  *bytes = 0;
  if (fstatvfs(fd, &system) != 0) return -errno;
  *bytes = system.f_frsize;
  return 0;
}

int sys_populate(uint8_t *address, uint64_t bytes) {
  /* madvise takes whole pages, of up to 64 KiB: begin at the page's start. */
  uint64_t before = (uintptr_t)address & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
  int result;
  do result = madvise(address - before, bytes + before, MADV_POPULATE_WRITE);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno == EFAULT ? -EIO : -errno;
}

/* Maps a file; answers the mapping, or MAP_FAILED. A child made by fork() does not get the mapping. */
static void *map_shared(int fd, uint64_t bytes) {
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED || madvise(mapped, bytes, MADV_DONTFORK) == 0) return mapped;
  int error = errno;
  munmap(mapped, bytes);
  errno = error;
  return MAP_FAILED;
}

int sys_map_lazily(int fd, uint64_t bytes, uint8_t **address) {
  FAULT();
  void *mapped = map_shared(fd, bytes);
  OBSERVE(.fd = fd, .address = (uint8_t *)mapped, .bytes = bytes);
  if (mapped == MAP_FAILED) return -errno;
  madvise(mapped, bytes, MADV_RANDOM); /* a disk that reads 8 MiB ahead would make 2,000 pages for one */
  *address = (uint8_t *)mapped;
  return 0;
}

int sys_map(int fd, uint64_t bytes, uint8_t **address) {
  FAULT();
  void *mapped = map_shared(fd, bytes);
  OBSERVE(.fd = fd, .address = (uint8_t *)mapped, .bytes = bytes);
  if (mapped == MAP_FAILED) return -errno;
  int error = sys_populate((uint8_t *)mapped, bytes);
  if (error != 0 && error != -EINVAL) {
    munmap(mapped, bytes);
    return error;
  }
  if (error != 0) { /* before Linux 5.14: touch each page, whose blocks are allocated already */
    for (uint64_t at = 0; at < bytes; at += 4096) {
      volatile uint8_t *page = (uint8_t *)mapped + at;
      *page = *page;
    }
  }
  *address = (uint8_t *)mapped;
  return 0;
}

int sys_map_zeros(uint64_t bytes, uint8_t **address) {
  FAULT();
  int before = errno;
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int error = mapped == MAP_FAILED ? -errno : 0;
  errno = before;
  if (error == 0) *address = (uint8_t *)mapped;
  return error;
}

int sys_map_wiped(uint64_t bytes, uint8_t **address) {
  FAULT();
  int error = sys_map_zeros(bytes, address);
  if (error != 0) return error;
  madvise(*address, bytes, MADV_WIPEONFORK); /* where the kernel can't, a child made by fork() is told by its handlers */
  return 0;
}

int sys_inherit(uint8_t *address, uint64_t bytes, int inherit) {
  return madvise(address, bytes, inherit ? MADV_DOFORK : MADV_DONTFORK) != 0 ? -errno : 0;
}

int sys_map_private(uint8_t *address, uint64_t bytes) {
  int before = errno;
  void *mapped = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  int error = mapped == MAP_FAILED ? -errno : 0;
  errno = before;
  return error;
}

int sys_unmap(uint8_t *address, uint64_t bytes) { return munmap(address, bytes) != 0 ? -errno : 0; }

int sys_sync_mapped(uint8_t *address, uint64_t bytes) {
  FAULT();
  OBSERVE(.fd = -1, .address = address, .bytes = bytes);
  return msync(address, bytes, MS_SYNC) != 0 ? -errno : 0;
}

/*
 * Writes zeros to all of a new, allocated file, 256 KiB a call, so that the kernel caches the file in large folios.
 * Stores into a mapping would allocate single pages all over memory, each with a fault. More in a call makes larger
 * folios, for which the kernel has to move other pages where memory is fragmented. A write that fails is no error:
 * whoever stores to the missing pages makes them. On tmpfs allocation has made the pages already.
 */
void sys_gather_pages(int fd, uint64_t bytes) {
  enum { PIECES = 4 };
  if (sys_is_memory(fd)) return;
  struct iovec pieces[PIECES];
  for (int i = 0; i < PIECES; i++) pieces[i] = (struct iovec){(void *)(uintptr_t)zeros, sizeof zeros};
  for (uint64_t at = 0; at + sizeof zeros <= bytes;) {
    uint64_t count = (bytes - at) / sizeof zeros;
    ssize_t n = pwritev(fd, pieces, (int)(count < PIECES ? count : (uint64_t)PIECES), (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += (uint64_t)n;
  }
}

void sys_start_writeback(int fd) { sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }

void sys_touch(int fd) { futimens(fd, NULL); }

void sys_touch_at(int at, const char *name) { utimensat(at, name, NULL, AT_SYMLINK_NOFOLLOW); }

int sys_sync_data(int fd) {
  FAULT();
  FAILING(WEIR_FAIL_SYNC, fd);
  OBSERVE(.fd = fd);
  int result;
  do result = fdatasync(fd);
  while (result != 0 && errno == EINTR);
  return result != 0 ? -errno : 0;
}

int sys_sync_directory(int fd) {
  FAULT();
  FAILING(WEIR_FAIL_SYNC, fd);
  OBSERVE(.fd = fd);
  int result;
  do result = fsync(fd);
  while (result != 0 && errno == EINTR);
  /* Some file systems do not sync directories and say so; there is nothing more to do on them. */
  return result != 0 && errno != EINVAL ? -errno : 0;
}

int sys_rename(int at, const char *from, const char *to) {
  FAULT();
  FAILING(WEIR_FAIL_RENAME, at);
  OBSERVE(.fd = at, .name = from);
  return renameat(at, from, at, to) != 0 ? -errno : 0;
}

int sys_rename_new(int at, const char *from, const char *to) {
  FAULT();
  FAILING(WEIR_FAIL_RENAME, at);
  OBSERVE(.fd = at, .name = from);
  if (syscall(SYS_renameat2, at, from, at, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  /* The file system does not know the flag. One writer a directory, so looking first is as good. */
  struct stat status;
  int error = sys_status_at(at, to, &status);
  if (error != -ENOENT) return error == 0 ? -EEXIST : error;
  return renameat(at, from, at, to) != 0 ? -errno : 0;
}

int sys_unlink(int at, const char *name) {
  FAULT();
  FAILING(WEIR_FAIL_RENAME, at);
  OBSERVE(.fd = at, .name = name);
  return unlinkat(at, name, 0) != 0 ? -errno : 0;
}

int sys_status(int fd, struct stat *status) {
  FAULT();
  return fstat(fd, status) != 0 ? -errno : 0;
}

int sys_status_at(int at, const char *name, struct stat *status) {
  FAULT();
  return fstatat(at, name, status, AT_SYMLINK_NOFOLLOW) != 0 ? -errno : 0;
}

int sys_identity(int fd, uint64_t *inode, int64_t *born_ns) {
  FAULT();
  struct statx status;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) return -errno;
  *inode = status.stx_ino;
  *born_ns = status.stx_mask & STATX_BTIME
                 ? (int64_t)((uint64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec)
                 : 0;
  return 0;
}

/* Whether two looks at one file see the same one. */
static int is_same(int fd, int at, const char *name, sys_file *file) {
  struct stat opened, named;
  *file = (sys_file){0};
  if (fstat(fd, &opened) != 0 || fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino) return 0;
  *file = (sys_file){(uint64_t)opened.st_dev, (uint64_t)opened.st_ino};
  return 1;
}

sys_file sys_directory_of(int directory) {
  sys_file file;
  is_same(directory, directory, ".", &file);
  return file;
}

int sys_file_of(int fd, int directory, const char *name, sys_file *file) {
  if (is_same(fd, directory, name, file) || sys_directory_of(directory).inode == 0) return 0;
  file->inode = UINT64_MAX; /* of none */
  return -EBADF;
}

int sys_is_file(int fd, const sys_file *file) {
  struct stat status;
  if (file->inode == 0) return 1;
  return fstat(fd, &status) == 0 && (uint64_t)status.st_dev == file->device && (uint64_t)status.st_ino == file->inode;
}

void sys_close_file(int fd, const sys_file *file) {
  if (sys_is_file(fd, file)) sys_close(fd);
}

int sys_is_memory(int fd) {
  struct statfs status;
  if (fstatfs(fd, &status) != 0) return 0;
  uint32_t type = (uint32_t)status.f_type;
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

/* Open-file-description locks belong to the descriptor, not to the process: they work between two openings of one
 * process, and end with the last copy of the descriptor. */
int sys_lock(int fd) {
  FAULT();
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return 0;
  return errno == EACCES ? -EAGAIN : -errno;
}

void sys_unlock(int fd) {
  struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
  if (fd >= 0) fcntl(fd, F_OFD_SETLK, &lock);
}

int sys_is_locked(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int sys_random(void *bytes, uint64_t count) {
  FAULT();
  uint64_t done = 0;
  while (done < count) {
    /* Not glibc's function, at which a thread that is cancelled ends. */
    long n = syscall(SYS_getrandom, (uint8_t *)bytes + done, count - done, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    done += (uint64_t)n;
  }
  return 0;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

int sys_same_boot(const uint8_t one[16], const uint8_t other[16]) {
  static const uint8_t unknown[16] = {0};
  return memcmp(one, unknown, sizeof unknown) != 0 && memcmp(one, other, sizeof unknown) == 0;
}

int sys_boot_id(uint8_t id[16]) {
  memset(id, 0, 16);
#ifdef WEIR_FAULT_INJECTION
  if (boot_id) {
    memcpy(id, boot_id, 16);
    return 0;
  }
#endif
  char text[64];
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  int64_t count = sys_read_at(fd, text, sizeof text, 0);
  close(fd);
  if (count < 0) return (int)count;
  int digits = 0;
  for (int64_t i = 0; i < count && digits < 32; i++) {
    int digit = hex_digit(text[i]);
    if (digit < 0) continue;
    id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | digit);
    digits++;
  }
  return digits == 32 ? 0 : -EIO;
}

int64_t sys_time_offset(void) {
  char text[256];
  long long seconds, ns;
  int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  int64_t count = sys_read_at(fd, text, sizeof text - 1, 0);
  close(fd);
  if (count < 0) return 0;
  text[count] = 0;
  return sscanf(text, "monotonic %lld %lld", &seconds, &ns) == 2 ? seconds * INT64_C(1000000000) + ns : 0;
}

int sys_clock_source_is(const char *name) {
  char text[32];
  int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 1;
  int64_t count = sys_read_at(fd, text, sizeof text, 0);
  close(fd);
  size_t length = strlen(name);
  return count < 0 || ((uint64_t)count >= length && memcmp(text, name, length) == 0);
}

void sys_close(int fd) {
  if (fd >= 0) close(fd);
}

int sys_list(int directory, int (*each)(void *context, const char *name), void *context) {
  FAULT();
  /* A descriptor of its own: a directory stream's position would be shared with the caller's. */
  int fd = retry_open(directory, ".", O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0) return fd;
  DIR *stream = fdopendir(fd);
  if (!stream) {
    int error = errno;
    close(fd);
    return -error;
  }
  int result = 0;
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(stream);
    if (!entry) {
      result = -errno;
      break;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if ((result = each(context, entry->d_name)) != 0) break;
  }
  closedir(stream);
  return result;
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int64_t sys_wall_ns(void) { return (int64_t)clock_ns(CLOCK_REALTIME); }
uint64_t sys_monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

uint64_t sys_deadline(uint64_t timeout_ns) {
  uint64_t now = sys_monotonic_ns();
  return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}
uint64_t sys_coarse_ns(void) { return clock_ns(CLOCK_MONOTONIC_COARSE); }

static struct timespec timespec_of(uint64_t ns) {
  return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

/*
 * By the bare system call: captures sleep here when their lane is full, and must be neither a point where a thread is
 * cancelled, which would leave a lane taken for ever, nor change errno under a signal handler's victim.
 */
void sys_sleep_ns(uint64_t ns) {
  int before = errno;
  struct timespec time = timespec_of(ns);
  while (syscall(SYS_nanosleep, &time, &time) != 0 && errno == EINTR) continue;
  errno = before;
}

void sys_be_nice(void) {
  enum { NICE = 10 };
  pid_t thread = (pid_t)syscall(SYS_gettid);
  if (getpriority(PRIO_PROCESS, (id_t)thread) < NICE) setpriority(PRIO_PROCESS, (id_t)thread, NICE);
}

int sys_watch(int directory, sys_file *file) {
  FAULT();
  /* By the descriptor: the path may be another directory's by now. */
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
  int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watch < 0) return -errno;
  uint32_t of = IN_ONLYDIR | IN_ATTRIB | IN_CREATE | IN_MOVE | IN_DELETE | IN_DELETE_SELF | IN_CLOSE_WRITE;
  struct stat status;
  if (inotify_add_watch(watch, path, of) >= 0 && fstat(watch, &status) == 0) {
    *file = (sys_file){(uint64_t)status.st_dev, (uint64_t)status.st_ino};
    return watch;
  }
  int error = errno;
  close(watch);
  return -error;
}

/*
 * To read from a descriptor of somebody else would take what is theirs, and might wait for ever. Only another one of
 * the kernel's nameless files, such as an eventfd, that does not wait either can't be told from the watch.
 */
int sys_watch_take(int watch, const sys_file *file) {
  char events[4096];
  int any = 0;
  if (!sys_is_file(watch, file) || !(fcntl(watch, F_GETFL) & O_NONBLOCK)) return -EBADF;
  while (read(watch, events, sizeof events) > 0) any = 1;
  return any;
}

void sys_watch_wait(int watch, uint64_t timeout_ns) {
  struct pollfd event = {.fd = watch, .events = POLLIN};
  uint64_t deadline = sys_deadline(timeout_ns);
  for (;;) {
    uint64_t now = sys_monotonic_ns();
    uint64_t left = now < deadline ? deadline - now : 0;
    struct timespec time = timespec_of(left);
    int result = ppoll(&event, 1, &time, NULL);
    if (result == 0 || (result > 0 && event.revents & POLLIN)) return;
    if (result < 0 && errno == EINTR) continue;
    sys_sleep_ns(left); /* the descriptor is lost: somebody has closed it */
    return;
  }
}

void sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns) {
  struct timespec time = timespec_of(timeout_ns);
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns == UINT64_MAX ? NULL : &time, NULL, 0);
}

void sys_futex_wake(uint32_t *word) {
  int before = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
  errno = before;
}

static int membarrier_registered; /* atomic */

int sys_membarrier_register(void) {
  FAULT();
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return -errno;
  __atomic_store_n(&membarrier_registered, 1, __ATOMIC_RELAXED);
  return 0;
}

/* With more than one thread the kernel waits until each processor has passed through its scheduler. */
extern char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 */

int sys_membarrier_is_cheap(void) {
  if (&__libc_single_threaded && __libc_single_threaded) return 1;
  return __atomic_load_n(&membarrier_registered, __ATOMIC_RELAXED);
}

int sys_membarrier(void) {
  FAULT();
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0 ? -errno : 0;
}
