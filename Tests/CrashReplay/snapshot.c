/* snapshot.c: see snapshot.h. */
#include "check.h"
#include "replay.h"
#include "snapshot.h"

#include <dirent.h>
#include <sys/mman.h>

#include "format/format.h"
#include "system/crc32c.h"
#include "system/system.h"

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

static uint64_t page_sum(uint64_t page, const uint8_t *bytes) {
  uint64_t a = page + 1, b = ~page;
  for (uint64_t i = 0; i < SNAPSHOT_PAGE; i += 16) {
    uint64_t words[2];
    memcpy(words, bytes + i, 16);
    a = (a ^ words[0]) * UINT64_C(0x9fb21c651e98df25);
    b = (b ^ words[1]) * UINT64_C(0xd6e8feb86659fd93);
    a ^= a >> 29;
    b ^= b >> 31;
  }
  return replay_mix(a, b);
}

uint64_t snapshot_sum(const snapshot *snapshot) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < snapshot->count; i++) {
    const snapshot_file *file = &snapshot->files[i];
    uint64_t name = file->bytes << 1 | (uint64_t)file->elsewhere;
    for (const char *c = file->name; *c; c++) name = replay_mix(name, (uint8_t)*c);
    sum += replay_mix(name, file->sum); /* a sum, so that the order does not count */
  }
  return sum;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

void snapshot_start(snapshot *snapshot, const char *directory, const char *ring_directory) {
  memset(snapshot, 0, sizeof *snapshot);
  snapshot->directory = directory;
  snapshot->ring_directory = ring_directory;
}

static void forget(snapshot *snapshot, uint32_t index) {
  snapshot_file *file = &snapshot->files[index];
  munmap(file->content, SNAPSHOT_FILE_BYTES);
  close(file->fd);
  *file = snapshot->files[--snapshot->count];
}

void snapshot_free(snapshot *snapshot) {
  while (snapshot->count > 0) forget(snapshot, 0);
}

static snapshot_file *find(snapshot *snapshot, uint64_t inode) {
  for (uint32_t i = 0; i < snapshot->count; i++) {
    if (snapshot->files[i].inode == inode) return &snapshot->files[i];
  }
  return NULL;
}

static snapshot_file *add(snapshot *snapshot, const char *path, uint64_t inode) {
  REQUIRE(snapshot->count < SNAPSHOT_FILES);
  snapshot_file *file = &snapshot->files[snapshot->count];
  *file = (snapshot_file){.inode = inode, .fd = open(path, O_RDONLY | O_CLOEXEC)};
  REQUIRE(file->fd >= 0);
  file->content = mmap(NULL, SNAPSHOT_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(file->content != MAP_FAILED);
  snapshot->count++;
  return file;
}

/* Takes the page that lies at `at` as it is now. */
static int look_at_page(snapshot_file *file, uint64_t at, const uint8_t *now) {
  uint8_t *kept = file->content + at;
  if (memcmp(kept, now, SNAPSHOT_PAGE) == 0) return 0;
  static const uint8_t zeros[SNAPSHOT_PAGE];
  /* Pages of zeros count nothing, so that a file has a sum before it is looked at. */
  if (memcmp(kept, zeros, SNAPSHOT_PAGE) != 0) file->sum -= page_sum(at, kept);
  memcpy(kept, now, SNAPSHOT_PAGE);
  if (memcmp(kept, zeros, SNAPSHOT_PAGE) != 0) file->sum += page_sum(at, kept);
  return 1;
}

static int look_at_file(snapshot_file *file) {
  static uint8_t bytes[SNAPSHOT_FILE_BYTES];
  struct stat status;
  REQUIRE(fstat(file->fd, &status) == 0 && (uint64_t)status.st_size < SNAPSHOT_FILE_BYTES);
  uint64_t most = file->bytes > (uint64_t)status.st_size ? file->bytes : (uint64_t)status.st_size;
  uint64_t room = (most + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE * SNAPSHOT_PAGE;
  ssize_t count = pread(file->fd, bytes, room, 0);
  REQUIRE(count >= 0);
  memset(bytes + count, 0, room - (uint64_t)count);
  int changed = file->bytes != (uint64_t)status.st_size;
  file->bytes = (uint64_t)status.st_size;
  for (uint64_t at = 0; at < room; at += SNAPSHOT_PAGE) changed |= look_at_page(file, at, bytes + at);
  return changed;
}

static int scan_directory(snapshot *snapshot, const char *name, int elsewhere) {
  int changed = 0;
  DIR *directory = opendir(name);
  if (!directory) return 0;
  for (struct dirent *entry; (entry = readdir(directory));) {
    struct stat status;
    const char *path = join(name, entry->d_name);
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) continue;
    snapshot_file *file = find(snapshot, status.st_ino);
    if (!file) {
      file = add(snapshot, path, status.st_ino);
      changed = 1;
    }
    if (strcmp(file->name, entry->d_name) != 0) {
      snprintf(file->name, sizeof file->name, "%s", entry->d_name);
      changed = 1;
    }
    changed |= look_at_file(file);
    file->there = 1;
    file->elsewhere = elsewhere;
  }
  closedir(directory);
  return changed;
}

int snapshot_scan(snapshot *snapshot) {
  for (uint32_t i = 0; i < snapshot->count; i++) snapshot->files[i].there = 0;
  int changed = scan_directory(snapshot, snapshot->directory, 0);
  if (snapshot->ring_directory) changed |= scan_directory(snapshot, snapshot->ring_directory, 1);
  for (uint32_t i = snapshot->count; i-- > 0;) {
    if (snapshot->files[i].there) continue;
    forget(snapshot, i);
    changed = 1;
  }
  return changed;
}

void snapshot_read_maps(snapshot *snapshot, pid_t process) {
  char path[64], line[4400];
  snprintf(path, sizeof path, "/proc/%d/maps", process);
  FILE *maps = fopen(path, "r");
  REQUIRE(maps);
  snapshot->range_count = 0;
  while (fgets(line, sizeof line, maps)) {
    snapshot_range range;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64, &range.from, &range.to, &range.at,
               &range.inode) != 4 || !find(snapshot, range.inode)) {
      continue;
    }
    REQUIRE(snapshot->range_count < SNAPSHOT_RANGES);
    snapshot->ranges[snapshot->range_count++] = range;
  }
  fclose(maps);
}

int snapshot_look(snapshot *snapshot, uint64_t address, uint64_t bytes) {
  int changed = 0;
  for (uint32_t i = 0; i < snapshot->range_count; i++) {
    const snapshot_range *range = &snapshot->ranges[i];
    if (address >= range->to || address + bytes <= range->from) continue;
    snapshot_file *file = find(snapshot, range->inode);
    if (!file) continue;
    uint64_t from = (address > range->from ? address - range->from : 0) + range->at;
    uint64_t to = (address + bytes < range->to ? address + bytes : range->to) - range->from + range->at;
    for (uint64_t at = from / SNAPSHOT_PAGE * SNAPSHOT_PAGE; at < to && at < file->bytes; at += SNAPSHOT_PAGE) {
      uint8_t now[SNAPSHOT_PAGE] = {0};
      REQUIRE(pread(file->fd, now, sizeof now, (off_t)at) >= 0);
      changed |= look_at_page(file, at, now);
    }
  }
  return changed;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void write_file(const snapshot_file *file, const char *path) {
  static const uint8_t zeros[SNAPSHOT_PAGE];
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0 && ftruncate(fd, (off_t)file->bytes) == 0);
  for (uint64_t at = 0; at < file->bytes; at += SNAPSHOT_PAGE) {
    uint64_t count = file->bytes - at < SNAPSHOT_PAGE ? file->bytes - at : SNAPSHOT_PAGE;
    if (memcmp(file->content + at, zeros, count) == 0) continue;
    REQUIRE(pwrite(fd, file->content + at, count, (off_t)at) == (ssize_t)count);
  }
  close(fd);
}

static uint32_t locator_sum(const ring_locator *locator) {
  enum { CRC_AT = offsetof(ring_locator, crc) };
  const uint8_t *bytes = (const uint8_t *)locator;
  uint64_t state = crc_extend(CRC_START, bytes, CRC_AT);
  return crc_end(crc_extend(state, bytes + CRC_AT + 4, sizeof *locator - CRC_AT - 4));
}

/* Makes a locator that is whole belong to the copy. */
static void rewrite_locator(const char *directory, const char *name, const char *ring_directory) {
  ring_locator locator;
  int fd = open(join(directory, name), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (pread(fd, &locator, sizeof locator, 0) == sizeof locator && locator.magic == LOCATOR_MAGIC &&
      locator.crc == locator_sum(&locator)) {
    int home = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(home >= 0 && sys_identity(home, &locator.home_inode, &locator.home_born_ns) == 0);
    close(home);
    memset(locator.path, 0, sizeof locator.path);
    locator.path_bytes = (uint32_t)snprintf(locator.path, sizeof locator.path, "%s", ring_directory);
    locator.crc = locator_sum(&locator);
    REQUIRE(pwrite(fd, &locator, sizeof locator, 0) == sizeof locator);
  }
  close(fd);
}

void snapshot_write(const snapshot *snapshot, const char *directory, const char *ring_directory) {
  REQUIRE(mkdir(directory, 0700) == 0);
  if (ring_directory) REQUIRE(mkdir(ring_directory, 0700) == 0);
  for (uint32_t i = 0; i < snapshot->count; i++) {
    const snapshot_file *file = &snapshot->files[i];
    write_file(file, join(file->elsewhere ? ring_directory : directory, file->name));
  }
  if (!ring_directory) return;
  rewrite_locator(directory, LOCATOR_NAME, ring_directory);
  rewrite_locator(directory, LOCATOR_NEW_NAME, ring_directory);
}
