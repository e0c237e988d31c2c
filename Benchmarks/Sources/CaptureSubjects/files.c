/* files.c: bare file operations: what a log's throughput is held against, and what disturbs a ring on the same disk. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "capture_subjects.h"

static int make_preallocated(const char *path, uint64_t bytes) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/* Bytes to copy from, not all alike and in memory before the time is taken. */
static uint8_t *make_source(uint64_t piece) {
  uint8_t *source = malloc(piece);
  for (uint64_t i = 0; source && i < piece; i++) source[i] = (uint8_t)(i * 2654435761u >> 13);
  return source;
}

uint64_t files_fill_mapped(const char *path, uint64_t bytes, uint64_t piece) {
  uint64_t took = 0;
  int fd = make_preallocated(path, bytes);
  uint8_t *source = make_source(piece);
  if (fd >= 0 && source) {
    uint64_t start = support_now_ns();
    uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
      for (uint64_t at = 0; at < bytes; at += piece) memcpy(map + at, source, bytes - at < piece ? bytes - at : piece);
      took = support_now_ns() - start;
      munmap(map, bytes);
    }
  }
  free(source);
  if (fd >= 0) close(fd);
  return took;
}

uint64_t files_fill_written(const char *path, uint64_t bytes, uint64_t piece) {
  int fd = make_preallocated(path, bytes), good = fd >= 0;
  uint8_t *source = make_source(piece);
  uint64_t start = support_now_ns();
  for (uint64_t at = 0; good && source && at < bytes; at += piece) {
    uint64_t part = bytes - at < piece ? bytes - at : piece;
    good = pwrite(fd, source, part, (off_t)at) == (ssize_t)part;
  }
  uint64_t took = support_now_ns() - start;
  good = good && source;
  free(source);
  if (fd >= 0) close(fd);
  return good ? took : 0;
}

int files_settle_cache(void) {
  sync();
  int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  int dropped = fd >= 0 && write(fd, "3", 1) == 1;
  if (fd >= 0) close(fd);
  return dropped;
}

int files_start_writeback(const char *path) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  int status = fd < 0 ? -1 : sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  if (fd >= 0) close(fd);
  return status;
}

void files_disturb(const char *path, uint64_t rate, const uint32_t *stop) {
  enum { PIECE = 1 << 20, PIECES = 64 };
  uint8_t *source = make_source(PIECE);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  uint64_t start = support_now_ns();
  for (uint64_t i = 0; source && fd >= 0 && !support_flag_load(stop); i++) {
    if (pwrite(fd, source, PIECE, (off_t)(i % PIECES * PIECE)) != PIECE) break;
    if (i % PIECES == PIECES - 1) fdatasync(fd);
    while (!support_flag_load(stop) && (support_now_ns() - start) / 1e9 * (double)rate < (double)(i * PIECE)) {
      struct timespec pause = {0, 1000000};
      nanosleep(&pause, NULL);
    }
  }
  free(source);
  if (fd >= 0) close(fd);
  unlink(path);
}
