/*
 * slow_sync.c: a disk that takes at least SYNC_MICROSECONDS for each sync, by LD_PRELOAD and with files in memory. For what a
 * program gains or loses by waiting for a disk that this machine does not have.
 */
#include <stdlib.h>
#include <time.h>

int fdatasync(int fd);
int fsync(int fd);

static int slow_sync(void) {
  const char *microseconds = getenv("SYNC_MICROSECONDS");
  long count = microseconds ? atol(microseconds) : 0;
  struct timespec pause = {.tv_sec = count / 1000000, .tv_nsec = count % 1000000 * 1000};
  nanosleep(&pause, NULL);
  return 0;
}

int fdatasync(int fd) { return (void)fd, slow_sync(); }
int fsync(int fd) { return (void)fd, slow_sync(); }
