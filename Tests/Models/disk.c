/* disk.c: see disk.h. The part of system.h that is files, and the clocks, all without chance. */
#define _GNU_SOURCE
#include "disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"
#include "world.h"
#include "system/system.h"

enum { QUARANTINE_FD = 99, DIRECTORY_FD = 100, FIRST_FD = 101 };

disk *disk_in_use;
uint64_t model_time_ns;

void disk_empty(disk *disk) { memset(disk, 0, sizeof *disk); }

void disk_copy(disk *to, const disk *from) {
  *to = *from;
  for (uint32_t i = 0; i < to->count; i++) {
    file *file = &to->files[i];
    if (!file->bytes) continue;
    file->room = file->size + 8;
    file->bytes = malloc(file->room);
    if (!file->bytes) abort();
    memcpy(file->bytes, from->files[i].bytes, file->size);
  }
}

void disk_free(disk *copied) {
  for (uint32_t i = 0; i < copied->count; i++) free(copied->files[i].bytes);
  copied->count = 0;
}

void disk_hash(const disk *disk, uint64_t hash[2]) {
  for (uint32_t i = 0; i < disk->count; i++) {
    const file *file = &disk->files[i];
    mix(hash, file->size);
    for (const char *c = file->name; *c; c++) mix(hash, (uint64_t)*c);
    uint64_t word;
    for (uint64_t at = 0; at + 8 <= file->size; at += 8) {
      memcpy(&word, file->bytes + at, 8);
      if (word != 0) { /* most of a segment is zeros */
        mix(hash, at);
        mix(hash, word);
      }
    }
  }
}

const file *disk_file_at(const disk *disk, const volatile void *address) {
  for (uint32_t i = 0; i < disk->count; i++) {
    const file *file = &disk->files[i];
    if (file->bytes && (uint64_t)((const volatile uint8_t *)address - file->bytes) < file->size) return file;
  }
  return NULL;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* What a name in a directory is among all files: those in quarantine/ have a prefix. */
typedef struct path {
  char text[64];
} path;

static path path_of(int at, const char *name) {
  path made = {{0}};
  snprintf(made.text, sizeof made.text, "%s%s", at == QUARANTINE_FD ? "quarantine/" : "", name);
  return made;
}

static file *named(const char *name) {
  for (uint32_t i = 0; i < disk_in_use->count; i++) {
    if (strcmp(disk_in_use->files[i].name, name) == 0) return &disk_in_use->files[i];
  }
  return NULL;
}

static int fd_of(const file *file) { return file ? FIRST_FD + (int)(file - disk_in_use->files) : -ENOENT; }
static file *file_of(int fd) { return &disk_in_use->files[fd - FIRST_FD]; }

static int open_named(int at, const char *name) { return fd_of(named(path_of(at, name).text)); }

/* A change of the disk that a kill may come before. */
static void changes(void) { world_before_store(NULL, 0); }

static int create(const char *name) {
  disk *disk = disk_in_use;
  if (strlen(name) >= sizeof disk->files->name) return -ENAMETOOLONG;
  changes();
  uint32_t at = 0;
  while (at < disk->count && (disk->files[at].name[0] || disk->files[at].bytes)) at++;
  if (at == MAX_FILES) return -ENOSPC;
  if (at == disk->count) disk->count++;
  file *made = &disk->files[at];
  memset(made, 0, sizeof *made);
  snprintf(made->name, sizeof made->name, "%s", name);
  return fd_of(made);
}

static int grow(file *file, uint64_t size) {
  if (size > file->room) {
    uint8_t *bytes = world_allocate(4096, size);
    if (!bytes) bytes = calloc(1, size);
    if (!bytes) return -ENOMEM;
    if (file->size) memcpy(bytes, file->bytes, file->size);
    if (file->bytes && !in_arena(file->bytes)) free(file->bytes);
    file->bytes = bytes;
    file->room = size;
  }
  if (size > file->size) memset(file->bytes + file->size, 0, size - file->size);
  file->size = size;
  return 0;
}

int sys_open_directory(const char *path) { return strcmp(path, "log") == 0 ? DIRECTORY_FD : -ENOENT; }
int sys_open_directory_at(int at, const char *name) { return (void)at, (void)name, QUARANTINE_FD; }
int sys_make_directory(int at, const char *name) { return (void)at, (void)name, 0; }
int sys_open_read(int at, const char *name) { return open_named(at, name); }
int sys_open_write(int at, const char *name) { return open_named(at, name); }
int sys_open_create(int at, const char *name) {
  return open_named(at, name) >= 0 ? -EEXIST : create(path_of(at, name).text);
}
int sys_open_or_create(int at, const char *name) {
  int fd = open_named(at, name);
  return fd >= 0 ? fd : create(path_of(at, name).text);
}

int64_t sys_read_at(int fd, void *bytes, uint64_t count, uint64_t at) {
  const file *file = file_of(fd);
  if (at >= file->size) return 0;
  if (count > file->size - at) count = file->size - at;
  memcpy(bytes, file->bytes + at, count);
  return (int64_t)count;
}

int sys_write_at(int fd, const void *bytes, uint64_t count, uint64_t at) {
  changes();
  file *file = file_of(fd);
  int error = at + count > file->size ? grow(file, at + count) : 0;
  if (error != 0) return error;
  seam_writes(file->bytes + at, count);
  memcpy(file->bytes + at, bytes, count);
  return 0;
}

int sys_allocate(int fd, uint64_t bytes) {
  if (world_captured.full) return -ENOSPC;
  changes();
  return file_of(fd)->size < bytes ? grow(file_of(fd), bytes) : 0;
}

int sys_allocate_more(int fd, uint64_t from, uint64_t bytes) { return (void)fd, (void)from, (void)bytes, 0; }

int sys_truncate(int fd, uint64_t bytes) {
  changes();
  file *file = file_of(fd);
  if (bytes > file->size) return grow(file, bytes);
  file->size = bytes;
  return 0;
}

int sys_map(int fd, uint64_t bytes, uint8_t **address) {
  if (bytes > file_of(fd)->size) return -EINVAL;
  *address = file_of(fd)->bytes;
  return 0;
}

int sys_map_lazily(int fd, uint64_t bytes, uint8_t **address) { return sys_map(fd, bytes, address); }

int sys_map_wiped(uint64_t bytes, uint8_t **address) {
  *address = world_allocate(128, bytes);
  if (!*address) *address = aligned_alloc(128, (bytes + 127) & ~UINT64_C(127));
  if (!*address) return -ENOMEM;
  memset(*address, 0, bytes);
  return 0;
}

/* Mapped files are the disk's; what sys_map_wiped made is a recovery's. */
int sys_unmap(uint8_t *address, uint64_t bytes) {
  (void)bytes;
  if (!in_arena(address) && !disk_file_at(disk_in_use, address)) free(address);
  return 0;
}

int sys_populate(uint8_t *address, uint64_t bytes) { return (void)address, (void)bytes, 0; }

/* Of a lane's records what a producer may store to: the rest of the page takes time. */
int sys_remove_pages(uint8_t *address, uint64_t bytes) {
  enum { USED_BYTES = 256 };
  if (bytes > USED_BYTES) bytes = USED_BYTES;
  changes();
  seam_writes(address, bytes);
  memset(address, 0, bytes);
  return 0;
}
int sys_remove_blocks(int fd, uint64_t from, uint64_t bytes) { return (void)fd, (void)from, (void)bytes, -EOPNOTSUPP; }

int sys_is_hole(int fd, uint64_t from, uint64_t bytes) { return (void)fd, (void)from, (void)bytes, 0; }

int sys_sync_mapped(uint8_t *address, uint64_t bytes) { return (void)address, (void)bytes, 0; }

/* The disk has what comes before the call. What is stored meanwhile it may have or not: it is not counted on. */
int sys_sync_data(int fd) {
  if (current == NO_THREAD || world_recovering) return 0;
  if (exploring_twin && exploring_twin->change == TWIN_SKIP_SYNC) return 0;
  scheduling_point();
  remember(world_captured.failing_syncs);
  if (world_captured.failing_syncs > 0) return world_captured.failing_syncs--, -EIO;
  world_synced(file_of(fd)->bytes);
  return 0;
}

int sys_sync_directory(int fd) { return (void)fd, 0; }

void sys_touch_at(int at, const char *name) { (void)at, (void)name; }
void sys_touch(int fd) {
  (void)fd;
  if (current == NO_THREAD) return;
  scheduling_point();
  world_touched();
}

int sys_rename(int at, const char *from, const char *to) {
  file *moved = named(path_of(at, from).text), *replaced = named(path_of(at, to).text);
  if (!moved) return -ENOENT;
  changes();
  if (replaced) replaced->name[0] = 0;
  memcpy(moved->name, path_of(at, to).text, sizeof moved->name);
  return 0;
}

int sys_rename_new(int at, const char *from, const char *to) {
  return open_named(at, to) >= 0 ? -EEXIST : sys_rename(at, from, to);
}

int sys_unlink(int at, const char *name) {
  file *removed = named(path_of(at, name).text);
  if (!removed) return -ENOENT;
  changes();
  removed->name[0] = 0;
  return 0;
}

static int describe(const file *file, struct stat *status) {
  memset(status, 0, sizeof *status);
  status->st_mode = S_IFREG | 0600;
  status->st_size = (off_t)file->size;
  status->st_ino = (ino_t)(file - disk_in_use->files) + 1;
  return 0;
}

int sys_status(int fd, struct stat *status) { return describe(file_of(fd), status); }
int sys_status_at(int at, const char *name, struct stat *status) {
  const file *found = named(path_of(at, name).text);
  return found ? describe(found, status) : -ENOENT;
}

int sys_lock(int fd) { return (void)fd, 0; }
int sys_is_locked(int fd) { return (void)fd, 0; }

int sys_random(void *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    uint64_t hash[2] = {7, 7};
    mix(hash, disk_in_use->randoms++);
    ((uint8_t *)bytes)[i] = (uint8_t)hash[0];
  }
  return 0;
}

int sys_boot_id(uint8_t id[16]) {
  memset(id, 1, 16);
  return 0;
}

int sys_clock_source_is(const char *name) { return (void)name, 1; }
void sys_close(int fd) { (void)fd; }

int sys_list(int directory, int (*each)(void *context, const char *name), void *context) {
  for (uint32_t i = 0; i < disk_in_use->count; i++) {
    path name;
    memcpy(name.text, disk_in_use->files[i].name, sizeof name.text);
    char *slash = strchr(name.text, '/');
    if (!name.text[0] || (slash != NULL) != (directory == QUARANTINE_FD)) continue;
    int result = each(context, slash ? slash + 1 : name.text);
    if (result != 0) return result;
  }
  return 0;
}

/* ---- Clocks ------------------------------------------------------------------------------------------------------ */

int64_t sys_wall_ns(void) { return 1000000000; }
uint64_t sys_monotonic_ns(void) {
  if (current != NO_THREAD) remember(model_time_ns);
  return model_time_ns;
}
uint64_t sys_coarse_ns(void) { return sys_monotonic_ns(); }

/* Nobody waits for time as such in a model, but for what others do meanwhile. If they do nothing, time goes on. */
void sys_sleep_ns(uint64_t ns) {
  enum { LONG_NS = 1000000000 };
  if (current == NO_THREAD) return;
  if (exploring->sleeps_run_out && wake_early()) {
    model_time_ns += LONG_NS;
    return;
  }
  model_time_ns += ns;
  wait_for_store();
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* The kernel reads the word under a lock that a waker takes too, after full barriers on both sides. */
void sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns) {
  if (current == NO_THREAD) return;
  scheduling_point();
  memory_fence(current);
  uint32_t now;
  memcpy(&now, word, sizeof now);
  remember(now);
  told("futex: the bell is %u, was %u", now, value);
  if (now != value) return;
  if (timeout_ns == UINT64_MAX) sleep_on(word);
  else if (!exploring->naps_run_out) wait_for_store();
}

void sys_futex_wake(uint32_t *word) {
  if (current == NO_THREAD) return;
  scheduling_point();
  memory_fence(current);
  told("futex: wakes sleepers");
  wake_sleepers(word);
}

int sys_membarrier_register(void) { return 0; }

/* Full barriers on the caller and on every other thread, on each at a moment of its own between two of the caller's. */
int sys_membarrier(void) {
  if (current == NO_THREAD) return 0;
  if (exploring_twin && exploring_twin->change == TWIN_SKIP_BARRIER) return 0;
  scheduling_point();
  memory_fence(current);
  for (int i = 0; i < MAX_THREADS; i++) {
    if (i == current || !exploring->threads[i]) continue;
    scheduling_point();
    memory_fence(i);
    told("membarrier: reaches thread %d", i);
  }
  scheduling_point();
  memory_fence(current);
  told("membarrier: done");
  return 0;
}
