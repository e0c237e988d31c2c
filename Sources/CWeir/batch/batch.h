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
  BATCH_DAMAGED, /* the segment is damaged, or a file of somebody else's has the batch's name: it stays raw, for good */
  BATCH_GONE,    /* there is no such raw segment any more */
  BATCH_STOPPED, /* `stopping` was set: the segment stays raw */
  BATCH_FAILED,  /* the system reported an error: the segment stays raw until the next try */
  BATCH_UNSURE   /* a sync of the directory failed: both files are there, and stay while this kernel runs */
} batch_result;

/* One segment to be made a batch segment. */
typedef struct batch_job {
  int directory;
  uint64_t log_id;
  uint64_t base;
  struct retention *retention; /* has the byte limit; null: there is none */
  const uint32_t *stopping;    /* atomic: 1 asks the job to end soon; null: nobody asks */
  pthread_mutex_t *names;      /* held while a file's name changes; null: nobody else changes names */
  int dropped;                 /* under `names`: the segment was removed meanwhile */
  int uncounted;               /* under `names`: the batch has its name, and is not in `used` yet */

  /* What came of it. */
  int error;          /* of BATCH_FAILED: a negative errno */
  uint64_t input;     /* bytes of the raw segment */
  uint64_t output;    /* bytes of the batch segment */
  uint64_t allocated; /* bytes that the batch segment takes on the disk */
  uint64_t unlinked;  /* bytes that the raw file took on the disk, once it is unlinked */
} batch_job;

/* What a thread works with, kept from one segment to the next. Starts as all zeros. */
typedef struct batch_work {
  uint8_t *content; /* content that does not fill an LZ4 block yet, and room for one more segment block */
  uint64_t content_room;
  uint8_t *packed;
  uint64_t packed_room;
  void *scratch; /* of columns_permute */
  uint64_t scratch_room;
  uint8_t *index; /* the skippable frame */
  uint64_t index_room;
} batch_work;

/*
 * Makes the batch segment of a sealed raw segment, and unlinks the raw file. Whatever happens, one of the two is whole,
 * under its name, on the disk. Memory: 1 MiB of content and the largest block of the segment, 1 MiB of what is
 * compressed, and what reading takes: some 3 MiB in all, with blocks as the drainer writes them.
 */
batch_result batch_write(batch_job *job, batch_work *work);

void batch_work_free(batch_work *work);

/*
 * Writes the batch segment of a sealed raw segment to a new file in another directory; the raw file stays. 0 or a
 * negative errno, and then there is no such file: -EBADMSG if anything in the segment is damaged.
 */
int batch_copy(int directory, uint64_t base, int to_directory, const char *to_name);

/*
 * Writes the batch segment of a sealed raw segment in memory to `to`, which has room for batch_most_bytes of it: how many
 * bytes it has, or a negative errno, as batch_copy.
 */
int64_t batch_pack(const uint8_t *segment, uint64_t count, uint8_t *to, batch_work *work);

/* The file name of a batch segment in the making, and whether a name is such a name. */
void batch_temporary_name(char name[64], uint64_t base);
int batch_is_temporary(const char *name);

/*
 * Removes a temporary file that a kill left. Nobody else may be making batches now. 0 or a negative errno. A directory
 * of that name is not Weir's: it stays, and so its segment stays raw.
 */
int batch_remove_temporary(int directory, const char *name);

#endif
