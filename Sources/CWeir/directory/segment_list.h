/* segment_list.h: the segment files of a log's directory, by their names, in order of offset. */
#ifndef WEIR_SEGMENT_LIST_H
#define WEIR_SEGMENT_LIST_H

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

/* Writes the file name of a raw segment, or of a batch. */
void segment_list_raw_name(char name[64], uint64_t base, int active);
void segment_list_batch_name(char name[64], uint64_t base);

/* The bases of sealed raw segments, ascending. The caller frees `bases`. */
typedef struct raw_list {
  uint64_t *bases;
  uint64_t count;
} raw_list;

/* Lists the sealed raw segments with a base below `end`. 0 or a negative errno. */
int segment_list_raw(int directory, uint64_t end, raw_list *list);

#endif
