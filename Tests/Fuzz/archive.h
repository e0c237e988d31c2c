/*
 * archive.h: a log's directory as one stretch of bytes, so that it can be a fuzzer's input, and the memory-backed
 * directory that it is unpacked into. The files' zeros are left out, since rings and active segments are mostly those.
 *
 *     entry, repeated:  u8 kind, u8 flags, u16 packed count of stretches, u32 bytes of the file, u64 base,
 *                       then for each stretch u32 zeros, u32 literals, the literals
 *
 * Whatever the bytes are, they unpack to something: a count is held against the caps, what does not fit is left out.
 */
#ifndef WEIR_FUZZ_ARCHIVE_H
#define WEIR_FUZZ_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

enum { ARCHIVE_FILES = 8, ARCHIVE_FILE_BYTES = 512 << 10, ARCHIVE_BYTES = 256 << 10 };

typedef enum file_kind {
  FILE_SEALED,    /* <base>.weir */
  FILE_ACTIVE,    /* <base>.weir.active */
  FILE_RING,      /* ring */
  FILE_FAR_RING,  /* the ring in the other directory, under the number of the locator */
  FILE_LOCATOR,   /* ring.at */
  FILE_START,     /* start */
  FILE_RING_NEW,  /* ring.new */
  FILE_ANNOUNCED, /* ring.at.new */
  FILE_BATCH,     /* <base>.weir.lz4 */
  FILE_KINDS
} file_kind;

/*
 * The locator is made to be of the directory that it is unpacked into, else it would always be a copy's. A sealed
 * segment may be made a batch when it is unpacked, as Weir does, or of another form.
 */
enum {
  FILE_AT_HOME = 1,
  FILE_PACKED = 2,
  FILE_COLUMNS = 4,
  FILE_NO_INDEX = 8,
  FILE_LINKED = 16,
  FILE_NO_SIZE = 32,
  FILE_PIECES = 64,
  FILE_FORMS = 6 /* flags from FILE_PACKED on */
};

typedef struct archived {
  uint8_t kind, flags;
  uint64_t base; /* of a segment's name */
  uint32_t bytes;
  uint8_t *data; /* allocated; ARCHIVE_FILE_BYTES at most */
} archived;

typedef struct archive {
  archived files[ARCHIVE_FILES];
  uint32_t count;
} archive;

void archive_read(archive *archive, const uint8_t *bytes, size_t count);
size_t archive_write(const archive *archive, uint8_t *bytes, size_t room); /* files that do not fit are left out */
void archive_free(archive *archive);

/* Appends a file with a copy of `bytes`; 0 where there is no room for one more. */
int archive_add(archive *archive, file_kind kind, uint64_t base, const void *bytes, uint64_t count);

/* Appends the files of a log's directory, as far as they are of a kind above. Answers how many. */
int archive_add_directory(archive *archive, const char *path);

/* Two empty directories, made at the first call, emptied at each: the log's, and one for a ring elsewhere. */
const char *archive_home(void);
const char *archive_far(void);

/* Unpacks into archive_home and archive_far, a lock file included. */
void archive_unpack(const archive *archive);

/* Removes both. */
void archive_clean_up(void);

#endif
