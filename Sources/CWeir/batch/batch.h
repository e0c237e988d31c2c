/*
 * batch.h: sealed segments as LZ4 frames. batch.c makes one file of another; batcher.c has the threads that do so for
 * an open log, batch_all.c does it for a log that nobody has open. FileFormat.md, Batch segment, has the layout;
 * reading them is batch_source.c's.
 *
 * What is kept true:
 *   - A raw segment is unlinked only after the batch segment of the same content has its name on the disk.
 *   - A segment in which anything is damaged stays raw, as it is: compressed, it would get checksums that vouch for
 *     the damage.
 *   - Nothing here makes a capture wait or fail. What goes wrong is counted, and tried again where that may help.
 */
#ifndef WEIR_BATCH_H
#define WEIR_BATCH_H

#include "system/names.h"

#include <pthread.h>

#include "format/format.h"

struct retention;

typedef enum batch_result {
  BATCH_DONE,
  BATCH_DAMAGED, /* something in it, or what stands in its way, is not as it should be: it stays raw, for good */
  BATCH_GONE,    /* there is no such raw segment any more */
  BATCH_STOPPED, /* because it was asked to */
  BATCH_FAILED,  /* an error of the system: it stays raw, until it is tried again */
  BATCH_UNSURE   /* the directory could not be synced: both are there, and that is to stay so while this kernel runs */
} batch_result;

/* One segment to be made a batch segment. */
typedef struct batch_job {
  int directory;
  uint64_t log_id;
  uint64_t base;
  struct retention *retention; /* whose byte limit counts; null: none */
  const uint32_t *stopping;    /* atomic: not 0: end soon; null: never */
  pthread_mutex_t *names;      /* held while names change; null: nobody else changes any */
  int dropped;                 /* under it: the segment was removed meanwhile */
  int uncounted;               /* under it: the batch has its name, and does not count as used yet */

  /* What came of it. */
  int error;          /* of BATCH_FAILED: a negative errno */
  uint64_t input;     /* bytes of the raw segment */
  uint64_t output;    /* of the batch segment, */
  uint64_t allocated; /* and on the disk */
  uint64_t unlinked;  /* of the raw file, on the disk */
} batch_job;

/* What a thread works with, kept from one segment to the next. Starts as all zeros. */
typedef struct batch_work {
  uint8_t *content; /* of the segment, what does not make an LZ4 block yet, and one more segment block */
  uint64_t content_room;
  uint8_t *packed;
  uint64_t packed_room;
  void *scratch; /* of columns_permute */
  uint64_t scratch_room;
  uint8_t *index; /* the skippable frame */
  uint64_t index_room;
} batch_work;

/*
 * Makes the batch segment of a sealed raw one, and unlinks that. Whatever happens, one of the two is whole, under its
 * name, on the disk. Memory: 1 MiB of content and the largest block of the segment, 1 MiB of what is compressed, and
 * what reading takes: some 3 MiB in all, with blocks as the drainer writes them.
 */
batch_result batch_write(batch_job *job, batch_work *work);

void batch_work_free(batch_work *work);

/* The file name of a batch segment in the making; and whether one is such a name. */
void batch_temporary_name(char name[64], uint64_t base);
int batch_is_temporary(const char *name);

/*
 * Removes one that a kill left, which nobody else may be making now. 0 or a negative errno. What can't be unlinked
 * since it is a directory is nobody's batch, holds nothing up, and stays: its segment stays raw.
 */
int batch_remove_temporary(int directory, const char *name);

/* The bases of sealed raw segments, ascending. `bases` is to be freed. */
typedef struct batch_list {
  uint64_t *bases;
  uint64_t count;
} batch_list;

/* Lists the sealed raw segments with a base below `end`. 0 or a negative errno. */
int batch_list_raw(int directory, uint64_t end, batch_list *list);

#endif
