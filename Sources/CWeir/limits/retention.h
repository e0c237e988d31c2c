/*
 * retention.h: the bounds of a log: the byte limit, and the removal of the oldest sealed segments by age, by size, and
 * at the limit. See weir.h for what each option means.
 *
 * What is kept true:
 *   - A file is made only after its room was taken: `used` counts it from then on.
 *   - Before a segment is unlinked, `start` on the disk says that it is removed (log_start.h).
 *   - Only the oldest segment is removed, and only once it is sealed. A segment whose sync failed may be sealed after
 *     its successors. Until then no segment at or above it is removed: `start` would pass over it without counting it.
 *   - The last sealed segment stays whatever the options say. It has the lanes' drained positions: without them a ring
 *     that a power cut threw back would be drained once more.
 *   - Only the sealer's thread removes segments; before that thread runs, and in recovery, the opening does; in a log
 *     without threads whoever has its work.
 *
 * label store                               load                              what it guarantees
 * R1    who delivers: delivered (seq_cst),  remover: removable_at (seq_cst),  a segment that is delivered while
 *       then a look at removable_at         then a look at delivered          the remover looks goes, too
 * R2    batcher: batched, by compare-and-   remover: batched, exchanged       each batch counts once, with the
 *       swap (release), after its fields    (acquire)                         bytes that it takes
 *
 * B1 and B2 are in byte_limit.h. failure, limited and copy_wanted order nothing: one that is seen late makes whoever
 * needs room ask again, or refuses one more capture.
 */
#ifndef WEIR_RETENTION_H
#define WEIR_RETENTION_H

#include "system/names.h"

#include "directory/log_lock.h"
#include "format/format.h"
#include "system/thread.h"

/* A segment of a log with bounds: 16 bytes of memory each. */
typedef struct retained {
  uint64_t base;
  uint64_t bytes; /* allocated on the disk; NOT_SEALED: the file has no sealed name yet */
} retained;

#define NOT_SEALED UINT64_MAX

/* A segment that was made a batch, on its way to the sealer. Allocated. */
typedef struct batched_segment {
  struct batched_segment *next;
  uint64_t base;
  uint64_t bytes; /* allocated, of the batch segment */
} batched_segment;

/*
 * The batcher, as far as the removal of segments has to know it. `drop` announces that the segment at `base` is about
 * to be removed: until `dropped`, no name of a segment changes, and a batch of this segment that is in the making never
 * gets its name. 1: that batch has its name already, and is not in `used` yet.
 */
typedef struct batch_names {
  struct batcher *batcher; /* null: none runs */
  int (*drop)(struct batcher *batcher, uint64_t base);
  void (*dropped)(struct batcher *batcher);
} batch_names;

/* What is known of the oldest segment's age, and of the clocks: see age.h. The sealer's, or the opening's. */
typedef enum age_kind { AGE_UNKNOWN, AGE_GONE, AGE_MONOTONIC, AGE_DATED } age_kind;
typedef struct ages {
  uint8_t boot_id[16];        /* of this boot; zeros: not known */
  int64_t time_offset;        /* of this process's monotonic clock to the machine's, which is meant below */
  uint64_t known_since;       /* monotonic: the log knows this boot since then */
  uint64_t steady_since;      /* monotonic: the wall clock is not known to have been set since then */
  int64_t offset;             /* the wall clock less the monotonic one, since then */
  int looked_back;            /* segments of earlier openings were read, for the next two fields */
  uint8_t before_boot_id[16]; /* of the last segment of another boot; zeros: there is none */
  int64_t before_ns;          /* that segment's date */
  age_kind oldest;
  int64_t latest_ns; /* AGE_MONOTONIC: none of its events was captured later */
  uint8_t dated_boot_id[16]; /* AGE_DATED: the boot that the oldest segment is of */
  int64_t dated_offset;      /* AGE_DATED: the wall clock less the monotonic one, by that boot's last reading */
  int64_t date_ns;   /* AGE_DATED: its date, by the last reading of its boot */
  int agreed;        /* AGE_DATED: another boot before this one says too that the segment is too old */
} ages;

typedef struct retention {
  const log_lock *held;  /* the log's directory, locked */
  worker *remover; /* the sealer's; null: there is none yet. Without a thread whoever has the log's work removes */
  uint64_t block_bytes;  /* of the file system: files take whole blocks */
  uint64_t slack_bytes;  /* kept free below the limit for small files: see byte_limit_slack */
  uint64_t max_bytes;    /* UINT64_MAX: no limit */
  uint64_t retain_bytes; /* UINT64_MAX: all */
  uint64_t retain_ns;    /* UINT64_MAX: for ever */
  int displaces;         /* WEIR_LIMIT_DROP_OLDEST */
  uint64_t reserve;      /* kept free below the limit for the recovery of a full ring. 0 if `displaces` */
  uint64_t batch_reserve; /* kept free below the limit for batches beside their raw segments, which take no more: so no
                             capture is refused, and no segment removed, for a batch. 0: no batches are made */
  int remove_delivered;
  uint64_t covered;      /* segments with offsets from here on stay, whatever is due. UINT64_MAX: none */
  struct batch_names batch_names;

  uint64_t used;        /* atomic: bytes of all files but batches in the making */
  uint64_t batch_taken; /* atomic: bytes that batches in the making may come to need, at most batch_reserve */
  uint32_t overflowing; /* atomic: how many overflow lanes have room in `used` */
  uint64_t measured_at; /* monotonic: when the files were last added up. The preparer's */
  int recovering;       /* a recovery writes: it may use the reserve */
  uint32_t limited;     /* atomic: not even the reserve is free: no capture is accepted */

  /* The sealer's, or the opening's. */
  retained *queue; /* [first, end), by base: segments that are sealed, or whose sealing failed */
  uint64_t first, end, room;
  uint64_t unsealed;     /* how many segments of the queue are not sealed */
  uint64_t sealed_bytes; /* bytes of those that are */
  int names_unsure;      /* a sealed name may not be on the disk: no segment is removed for a copy any more */
  int leftovers;         /* segments that `start` says are removed are left: they are unlinked before any other */
  int unlisted;          /* a segment is missing in the queue, for want of memory: the queue is made anew first */
  struct ages ages;
  log_start_slot start;
  uint64_t look_at;      /* monotonic: when age is to be looked at again; UINT64_MAX: when something is sealed */

  /* The preparer asks the remover for room. Guarded by the remover's mutex. */
  uint64_t wanted;
  uint64_t asked, answered;
  int denied;         /* negative errno: nothing is removed any more. The remover's */
  int failure;        /* atomic: the negative errno of the last removal, 0 */

  uint64_t copy_wanted; /* atomic: with `displaces`, bytes that a copy lacks, which files made ahead leave. 0: none */
  batched_segment *batched; /* atomic: a stack that batchers push on, and the sealer takes */
  uint64_t delivered; /* atomic: every offset below it was delivered, wherever it had to be */
  uint64_t removable_at; /* atomic: once `delivered` reaches this offset, a segment can be removed. UINT64_MAX: never */
  int delivery_waits;    /* it is, and the remover has not looked. Guarded by the remover's mutex */
  uint64_t delivered_removed; /* atomic: events removed in this opening that were delivered */
  uint64_t expired;   /* atomic: events removed in this opening by age or size, undelivered */
  uint64_t displaced; /* atomic: events removed in this opening to make room, undelivered */
} retention;

/* Whether the options of an opening make sense together, on a file system of such blocks. */
weir_status retention_check(const weir_options *options, uint64_t ring_bytes, uint64_t block_bytes, weir_error *error);

/*
 * For a log whose directory is locked: removes the leftovers of a retention that was cut short; if there are bounds,
 * makes a retention. `start_offset`: all lower ones were removed. Before recovery, whose segments count too.
 */
weir_status retention_open(const log_lock *held, const weir_options *options, retention **made, uint64_t *start_offset,
                           weir_recovery *recovery, weir_error *error);

/* After recovery, and again once the ring is made: adds up all files, and removes what is due. */
weir_status retention_settle(retention *retention, weir_error *error);

/*
 * Lists the segments and adds up all files. In recovery, before anything is removed to make room: recovery has sealed
 * and removed files since they were counted. 0 or a negative errno.
 */
int retention_survey(retention *retention);

void retention_free(retention *retention);

/* A full segment could not be sealed, and is tried again: until retention_sealed nothing at or above it is removed. */
void retention_hold(retention *retention, uint64_t base);

/* A segment has its sealed name: `bytes` are allocated for it, in place of the `taken` ones that counted so far. */
void retention_sealed(retention *retention, uint64_t base, uint64_t taken, uint64_t bytes);

/* Hands the sealer a segment whose batch has taken the raw file's place. */
void retention_batched(retention *retention, batched_segment *segment);

/*
 * Says that every event with a lower offset was delivered wherever it had to be, so that its removal is no loss. A
 * lower offset than before changes nothing. Of an open log. Wakes the remover if a segment can be removed for it.
 */
void retention_deliver(retention *retention, uint64_t offset);

/* The monotonic time at which retention_serve is to be called next; 0: now. */
uint64_t retention_due(const retention *retention);

/*
 * Removes every segment that is due, and with WEIR_LIMIT_DROP_OLDEST also older ones until `needed` bytes are free. On
 * the remover's thread, or before that runs. 0 or a negative errno.
 */
int retention_remove_due(retention *retention, uint64_t needed);

/*
 * Removes what is due, and answers whoever asked for room. On the remover's thread, under its mutex, which is free
 * meanwhile.
 */
void retention_serve(retention *retention);

#ifdef WEIR_FAULT_INJECTION
/* Test only: called between a look at what is delivered and the word of what would have to be. Null: nothing is. */
extern void (*retention_looked)(void);
#endif

/* Answers whoever asks for room with an error, because nothing is removed any more. Under the remover's mutex. */
void retention_deny(retention *retention, int error);

#endif
