/* archive.c: see archive.h. */
#define _GNU_SOURCE
#include "archive.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"
#include "system/crc32c.h"
#include "system/system.h"
#include "pack.h"

typedef struct entry_header {
  uint8_t kind, flags;
  uint16_t stretches;
  uint32_t bytes;
  uint64_t base;
} entry_header;

enum { LEAST_ZEROS = 16 }; /* a stretch costs eight bytes itself */

static void need(int good, const char *what) {
  if (good) return;
  perror(what);
  abort();
}

/* ---- Reading and writing ----------------------------------------------------------------------------------------- */

static int take(const uint8_t **at, const uint8_t *end, void *value, size_t count) {
  if ((size_t)(end - *at) < count) return 0;
  memcpy(value, *at, count);
  *at += count;
  return 1;
}

static void read_stretches(archived *file, uint32_t stretches, const uint8_t **at, const uint8_t *end) {
  uint32_t to = 0, zeros, literals;
  for (uint32_t i = 0; i < stretches; i++) {
    if (!take(at, end, &zeros, sizeof zeros) || !take(at, end, &literals, sizeof literals)) return;
    if (zeros > file->bytes - to) zeros = file->bytes - to;
    to += zeros;
    if (literals > (size_t)(end - *at)) literals = (uint32_t)(end - *at);
    uint32_t wanted = literals < file->bytes - to ? literals : file->bytes - to;
    memcpy(file->data + to, *at, wanted);
    to += wanted;
    *at += literals;
  }
}

void archive_read(archive *archive, const uint8_t *bytes, size_t count) {
  const uint8_t *at = bytes, *end = bytes + count;
  entry_header header;
  memset(archive, 0, sizeof *archive);
  while (archive->count < ARCHIVE_FILES && take(&at, end, &header, sizeof header)) {
    archived *file = &archive->files[archive->count++];
    file->kind = header.kind % FILE_KINDS;
    file->flags = header.flags;
    file->base = header.base;
    file->bytes = header.bytes < ARCHIVE_FILE_BYTES ? header.bytes : ARCHIVE_FILE_BYTES;
    file->data = calloc(1, file->bytes + 1);
    need(file->data != NULL, "out of memory");
    read_stretches(file, header.stretches, &at, end);
  }
}

/* Where the next stretch of at least LEAST_ZEROS zeros begins, from `from` on, or the end; how long it is. */
static uint32_t find_zeros(const archived *file, uint32_t from, uint32_t *length) {
  uint32_t run = 0;
  for (uint32_t at = from; at < file->bytes; at++) {
    run = file->data[at] == 0 ? run + 1 : 0;
    if (run < LEAST_ZEROS) continue;
    uint32_t start = at + 1 - run;
    while (at + 1 < file->bytes && file->data[at + 1] == 0) at++, run++;
    *length = run;
    return start;
  }
  *length = 0;
  return file->bytes;
}

/* Answers the bytes written; 0 if there is no room. */
static size_t write_entry(const archived *file, uint8_t *bytes, size_t room) {
  entry_header header = {.kind = file->kind, .flags = file->flags, .bytes = file->bytes, .base = file->base};
  size_t at = sizeof header;
  uint32_t from = 0, zeros = 0;
  while (from < file->bytes && header.stretches < UINT16_MAX) {
    uint32_t next, end = find_zeros(file, from, &next), literals = end - from;
    if (room < at + 8 + literals) return 0;
    memcpy(bytes + at, &zeros, 4);
    memcpy(bytes + at + 4, &literals, 4);
    memcpy(bytes + at + 8, file->data + from, literals);
    at += 8 + literals;
    from = end + next;
    zeros = next;
    header.stretches++;
  }
  if (room < at) return 0;
  memcpy(bytes, &header, sizeof header);
  return at;
}

size_t archive_write(const archive *archive, uint8_t *bytes, size_t room) {
  size_t at = 0;
  for (uint32_t i = 0; i < archive->count; i++) at += write_entry(&archive->files[i], bytes + at, room - at);
  return at;
}

void archive_free(archive *archive) {
  for (uint32_t i = 0; i < archive->count; i++) free(archive->files[i].data);
  archive->count = 0;
}

int archive_add(archive *archive, file_kind kind, uint64_t base, const void *bytes, uint64_t count) {
  if (archive->count == ARCHIVE_FILES || count > ARCHIVE_FILE_BYTES) return 0;
  archived *file = &archive->files[archive->count++];
  *file = (archived){.kind = (uint8_t)kind, .base = base, .bytes = (uint32_t)count, .data = malloc(count + 1)};
  need(file->data != NULL, "out of memory");
  memcpy(file->data, bytes, count);
  return 1;
}

/* ---- From a directory -------------------------------------------------------------------------------------------- */

static int kind_of(const char *name, uint64_t *base) {
  char *end;
  *base = strtoull(name, &end, 10);
  if (end == name + 20 && strcmp(end, SEALED_SUFFIX) == 0) return FILE_SEALED;
  if (end == name + 20 && strcmp(end, ACTIVE_SUFFIX) == 0) return FILE_ACTIVE;
  if (end == name + 20 && strcmp(end, BATCH_SUFFIX) == 0) return FILE_BATCH;
  *base = 0;
  if (strcmp(name, RING_NAME) == 0) return FILE_RING;
  if (strcmp(name, LOCATOR_NAME) == 0) return FILE_LOCATOR;
  if (strcmp(name, START_NAME) == 0) return FILE_START;
  size_t length = strlen(name);
  return strncmp(name, "weir-", 5) == 0 && length > 5 && strcmp(name + length - 5, ".ring") == 0 ? FILE_FAR_RING : -1;
}

int archive_add_directory(archive *archive, const char *path) {
  DIR *entries = opendir(path);
  need(entries != NULL, path);
  static uint8_t bytes[ARCHIVE_FILE_BYTES];
  int added = 0;
  for (struct dirent *entry; (entry = readdir(entries));) {
    uint64_t base;
    int kind = kind_of(entry->d_name, &base);
    if (kind < 0) continue;
    int fd = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC);
    need(fd >= 0, entry->d_name);
    ssize_t count = read(fd, bytes, sizeof bytes);
    need(count >= 0, entry->d_name);
    close(fd);
    if (!archive_add(archive, (file_kind)kind, base, bytes, (uint64_t)count)) continue;
    if (kind == FILE_LOCATOR) archive->files[archive->count - 1].flags = FILE_AT_HOME;
    added++;
  }
  closedir(entries);
  return added;
}

/* ---- Into one ---------------------------------------------------------------------------------------------------- */

static char root[64], home[80], far[80];

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status, (void)kind;
  return walk->level > 0 ? remove(path) : 0;
}

void archive_clean_up(void) {
  if (!root[0]) return;
  nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  rmdir(root);
  root[0] = 0;
}

static void prepare(void) {
  if (root[0]) return;
  snprintf(root, sizeof root, "%s/weir-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  need(mkdtemp(root) != NULL, root);
  snprintf(home, sizeof home, "%s/log", root);
  snprintf(far, sizeof far, "%s/far", root);
  need(mkdir(home, 0700) == 0 && mkdir(far, 0700) == 0, root);
  atexit(archive_clean_up);
}

const char *archive_home(void) {
  prepare();
  return home;
}

const char *archive_far(void) {
  prepare();
  return far;
}

static int is_packed(const archived *file) { return file->kind == FILE_SEALED && (file->flags & FILE_PACKED); }

static void put_file(const char *directory, const char *name, const archived *file) {
  char path[160];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  need(fd >= 0, path);
  if (file && is_packed(file)) {
    uint64_t count;
    uint8_t *packed = pack_segment(file, &count);
    need(write(fd, packed, count) == (ssize_t)count, path);
    free(packed);
  } else if (file && file->bytes) {
    need(write(fd, file->data, file->bytes) == (ssize_t)file->bytes, path);
  }
  close(fd);
}

/* The locator names this run's directories; its checksum is made right only if it was. */
static void bring_home(archived *file) {
  ring_locator *locator = (ring_locator *)(void *)file->data;
  if (file->bytes < sizeof *locator || !(file->flags & FILE_AT_HOME)) return;
  uint64_t state = crc_extend(CRC_START, locator, offsetof(ring_locator, crc));
  int right = locator->crc == crc_end(crc_extend(state, &locator->opening, sizeof *locator - 16));
  int fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  need(fd >= 0, home);
  need(sys_identity(fd, &locator->home_inode, &locator->home_born_ns) == 0, home);
  close(fd);
  memset(locator->path, 0, sizeof locator->path);
  locator->path_bytes = (uint32_t)strlen(far);
  memcpy(locator->path, far, locator->path_bytes);
  state = crc_extend(CRC_START, locator, offsetof(ring_locator, crc));
  if (right) locator->crc = crc_end(crc_extend(state, &locator->opening, sizeof *locator - 16));
}

static void name_of(const archive *archive, const archived *file, char name[64]) {
  static const char *const fixed[FILE_KINDS] = {[FILE_RING] = RING_NAME,         [FILE_LOCATOR] = LOCATOR_NAME,
                                                [FILE_START] = START_NAME,         [FILE_RING_NEW] = RING_NEW_NAME,
                                                [FILE_ANNOUNCED] = LOCATOR_NEW_NAME};
  uint64_t number = 0;
  for (uint32_t i = 0; i < archive->count && file->kind == FILE_FAR_RING; i++) {
    const archived *other = &archive->files[i];
    if (other->kind != FILE_LOCATOR || other->bytes < sizeof(ring_locator)) continue;
    memcpy(&number, other->data + offsetof(ring_locator, number), 8);
  }
  if (file->kind == FILE_FAR_RING) snprintf(name, 64, "weir-%016llx.ring", (unsigned long long)number);
  else if (fixed[file->kind]) snprintf(name, 64, "%s", fixed[file->kind]);
  else snprintf(name, 64, "%020llu%s", (unsigned long long)file->base,
                file->kind == FILE_BATCH || is_packed(file) ? BATCH_SUFFIX
                : file->kind == FILE_SEALED                 ? SEALED_SUFFIX
                                                            : ACTIVE_SUFFIX);
}

void archive_unpack(const archive *archive) {
  prepare();
  nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  nftw(far, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  put_file(home, LOCK_NAME, NULL);
  for (uint32_t i = 0; i < archive->count; i++) {
    const archived *file = &archive->files[i];
    char name[64];
    if (file->kind == FILE_LOCATOR || file->kind == FILE_ANNOUNCED) bring_home((archived *)file);
    name_of(archive, file, name);
    put_file(file->kind == FILE_FAR_RING ? far : home, name, file);
  }
}
