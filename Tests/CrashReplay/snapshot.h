/*
 * snapshot.h: a copy of a log's files that is kept in step with them, page by page, while a stepped process changes
 * them; and, of each state that they were in, a number that stands for it. A state can be written out as a directory
 * of its own: what a SIGKILL would have left there and then.
 */
#ifndef WEIR_REPLAY_SNAPSHOT_H
#define WEIR_REPLAY_SNAPSHOT_H

#include <stdint.h>
#include <sys/types.h>

enum { SNAPSHOT_FILES = 64, SNAPSHOT_PAGE = 4096, SNAPSHOT_RANGES = 64, SNAPSHOT_FILE_BYTES = 4 << 20 };

typedef struct snapshot_file {
  char name[256]; /* as long as a file's name may be */
  uint64_t inode;
  uint64_t bytes;
  uint8_t *content; /* SNAPSHOT_FILE_BYTES of room; zeros past `bytes` */
  uint64_t sum;     /* changes with any byte */
  int fd;
  int there;        /* seen by the scan in progress */
  int elsewhere;    /* in the ring's directory */
} snapshot_file;

/* Where the stepped process has a file mapped. */
typedef struct snapshot_range {
  uint64_t from, to, at, inode;
} snapshot_range;

typedef struct snapshot {
  const char *directory;
  const char *ring_directory; /* null: the ring is beside the segments */
  snapshot_file files[SNAPSHOT_FILES];
  uint32_t count;
  snapshot_range ranges[SNAPSHOT_RANGES];
  uint32_t range_count;
} snapshot;

void snapshot_start(snapshot *snapshot, const char *directory, const char *ring_directory);
void snapshot_free(snapshot *snapshot);

/* Looks at everything. Answers whether anything had changed. */
int snapshot_scan(snapshot *snapshot);

/* Learns where the process has the files mapped. */
void snapshot_read_maps(snapshot *snapshot, pid_t process);

/* Looks at the pages that the process may have stored to. Answers whether anything had changed. */
int snapshot_look(snapshot *snapshot, uint64_t address, uint64_t bytes);

/* A number that stands for names and contents as they are. */
uint64_t snapshot_sum(const snapshot *snapshot);

/*
 * Writes them into a new directory, those of the ring's directory into another new one (null if there is none). A
 * locator says which directory it belongs to, and is not followed from a copy; so it is made to say this one.
 */
void snapshot_write(const snapshot *snapshot, const char *directory, const char *ring_directory);

#endif
