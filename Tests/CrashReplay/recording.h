/*
 * recording.h: what the disk could have been given, at every moment of a real run. While a recording runs, each system
 * call of the library that changes or syncs a file is told of before and after (system.h); at both, and whenever a
 * thread of the recording's own looks, every file of the log is read, page by page, and a page that differs from the
 * last look is kept as a version. So it is the page cache itself that is recorded, stores of running threads into their
 * mappings included, not a model of what they store.
 *
 * The calls are made one at a time, while stores go on. A moment is one such look.
 *
 * What it knows of each moment, for images.h to choose from: the versions of each page of each file so far, which of
 * them were on the disk for sure (what a look saw before a sync that has ended by now), the sizes of each file, and the
 * names in each directory, as changes that are each made or not.
 */
#ifndef WEIR_REPLAY_RECORDING_H
#define WEIR_REPLAY_RECORDING_H

#include <pthread.h>
#include <stdint.h>

enum { PAGE_BYTES = 4096, SECTOR_BYTES = 512, MOST_MARKS = 16 };

/* A page as it was seen, from a moment on. Null bytes: zeros that nobody wrote, as of a block just allocated, or of a
   hole. */
typedef struct page_version {
  uint32_t moment;
  const uint8_t *bytes;
} page_version;

typedef struct recorded_page {
  page_version *versions;
  uint32_t count, room;
  uint32_t allocated; /* the moment after that of the call that gave it a block; 0: it was a hole until somebody wrote */
} recorded_page;

typedef struct file_size {
  uint32_t moment;
  uint64_t bytes;
} file_size;

/* A sync of the bytes [from, to) that had ended at `moment`: they are as of `as_of` at the least. */
typedef struct recorded_sync {
  uint32_t moment, as_of;
  uint64_t from, to;
} recorded_sync;

typedef struct recorded_file {
  uint64_t inode;
  int fd;
  int linked;
  recorded_page *pages;
  uint32_t page_count;
  file_size *sizes;
  uint32_t size_count;
  recorded_sync *syncs;
  uint32_t sync_count;
} recorded_file;

enum { NO_FILE = -1 };

/* One name that a change gives to a file, or takes from it (NO_FILE). */
typedef struct named {
  char name[64];
  int32_t file;
} named;

/* What one call did to the names in a directory: all of it happens, or nothing. */
typedef struct name_change {
  uint32_t moment;
  uint32_t directory;
  uint32_t count;
  named names[2];
} name_change;

enum { LOG_DIRECTORY, QUARANTINE_DIRECTORY, DIRECTORIES };

typedef struct directory_sync {
  uint32_t moment, as_of;
  uint32_t directory;
} directory_sync;

typedef struct recording {
  const char *path;      /* of the log's directory */
  pthread_mutex_t mutex; /* recursive: held from before a call until after it */
  uint32_t moments;      /* looks so far; the last one's number is one less */
  recorded_file *files;
  uint32_t file_count;
  named *names[DIRECTORIES]; /* as of the last look */
  uint32_t name_count[DIRECTORIES];
  named *first_names[DIRECTORIES]; /* as of the first look, and on the disk */
  uint32_t first_name_count[DIRECTORIES];
  name_change *changes;
  uint32_t change_count;
  directory_sync *directory_syncs;
  uint32_t directory_sync_count;
  uint64_t (*marks)[MOST_MARKS]; /* of each moment, what `mark` said */
  uint32_t mark_room;
  void (*mark)(void *context, uint64_t marks[MOST_MARKS]);
  void *context;
  struct {
    const uint8_t *address;
    uint64_t bytes;
    uint64_t inode;
  } maps[64];
  uint32_t map_count;
  uint32_t before;  /* the moment before the call in progress */
  int depth;        /* calls within calls */
  uint64_t versions, calls;
  int looking;      /* the thread that looks at random moments runs */
  int stop;
  pthread_t looker;
  uint64_t look_seed;
  uint8_t *kept;    /* where versions are kept, in pieces */
  uint64_t kept_left;
  uint8_t **pieces;
  uint32_t piece_count;
} recording;

/*
 * Begins to record what this process does to the log in `path`. What is there already is on the disk. `mark` (may be
 * null) is asked at each moment for numbers that the caller wants to know of it later. One recording at a time.
 */
recording *recording_start(const char *path, uint64_t seed, void (*mark)(void *, uint64_t[MOST_MARKS]), void *context);

/* Looks now, at contents and names; answers the moment. */
uint32_t recording_look(recording *recording);

/* Looks for a last time; from here on nothing is recorded any more. */
void recording_stop(recording *recording);
void recording_free(recording *recording);

/* The index in a page's versions of the one that it has at a moment, or -1: it is not there yet. */
int recorded_version(const recorded_page *page, uint32_t moment);

#endif
