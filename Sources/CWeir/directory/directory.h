/* directory.h: what lies in a log's directory: the segment files in order of offset, and whether a writer is alive. */
#ifndef WEIR_DIRECTORY_H
#define WEIR_DIRECTORY_H

#include "system/names.h"

#include "format/format.h"

typedef struct segment_name {
  char name[64];
  uint64_t base; /* from the name */
  int active;    /* not sealed: its name ends in .weir.active */
  int batch;     /* sealed and compressed: in .weir.lz4 */
} segment_name;

typedef struct segment_list {
  segment_name *items; /* sorted by base; for one base the sealed one comes first. Of one that is there raw and as a
                          batch only the raw one: the other may be incomplete */
  uint64_t count;
} segment_list;

/* Lists the segments. Ignores names that are not exactly 20 digits and a suffix. Free with segment_list_free. */
int segment_list_read(int directory, segment_list *list); /* 0 or a negative errno */
int segment_list_settled(int directory, segment_list *list); /* the same, once two listings in a row are equal */
void segment_list_free(segment_list *list);

/*
 * Lists what a recovery needs: the last sealed segment before the first that is not sealed, and all after it; or the
 * last sealed segment alone. `other` is called with every name that is no segment's. Takes one listing and memory for
 * these few segments, however many are sealed; two listings if sealed segments come after one that is not.
 */
int segment_list_tail(int directory, segment_list *list, int (*other)(void *context, const char *name), void *context);
int segment_list_equal(const segment_list *left, const segment_list *right);

/* Writes the file name of a raw segment, or of a batch. */
void segment_file_name(char name[64], uint64_t base, int active);
void segment_batch_name(char name[64], uint64_t base);

/*
 * Opens a directory for reading. Sets `*fd`, or fails as weir_reader_open does: also with MISSING if the directory has
 * no lock file, no ring and no segment.
 */
weir_status directory_open_read(const char *path, int *fd, weir_error *error);

/* Whether a writer holds the lock: 1, 0, or 0 where there is no lock file. */
int directory_is_live(int directory);

#endif
