/* finish.h: the end of full segments: unmapped, cut to their length, synced, renamed. */
#ifndef WEIR_FINISH_H
#define WEIR_FINISH_H

#include "system/names.h"

#include "limits/retention.h"
#include "segment/segment.h"

/* What segments are finished with. */
typedef struct finisher {
  struct retention *retention;    /* null: no bounds */
  uint64_t *next_prepared; /* atomic: numbers files in the making */
  uint64_t *sync_failed;   /* becomes 1 where a sync fails: see ring_sync_failed. Null: nobody notes it */
  void (*named)(struct batcher *batcher, uint64_t base); /* called for each segment whose sealed name is on the disk */
  struct batcher *batcher; /* the context of `named`; null: it is not called */
} finisher;

/* What became of them. */
typedef struct finished {
  int error;           /* the first negative errno, 0 */
  int directory_error; /* of the sync of the names */
  uint64_t lost;       /* events that the disk lost before they were synced */
  segment *failed;     /* those to try again or to abandon, in their order */
} finished;

/*
 * Finishes a list of segments (`next`), oldest first, and syncs the directory once; frees them. One whose sync fails is
 * copied to a new file, which takes the old one's name, as a whole or not at all.
 */
finished finish_segments(const finisher *finisher, segment *first);

#endif
