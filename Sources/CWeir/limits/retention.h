/*
 * retention.h: the bounds of a log: the byte limit, and the removal of the oldest sealed segments by age, by size, and
 * at the limit. See weir.h for what each option means.
 *
 * What is kept true:
 *   - Before a file is made there is room for it below the limit: `used` counts it from then on.
 *   - What is removed is named in `start`, on the disk, before anything is unlinked (log_start.h).
 *   - Only the oldest goes, and only once it is sealed. One whose sync failed can come by its sealed name after its
 *     successors: until then nothing at or above it is removed, or `start` would pass over it without counting it.
 *   - The last sealed segment stays whatever the options say: it has the log's word about the lanes, without which a
 *     ring that a power cut threw back would drain once more what was removed.
 *   - Only the sealer's thread removes; before that thread runs, and in recovery, the opening does.
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

/* A segment: 16 bytes of memory each, of a log with bounds. */
typedef struct retained {
  uint64_t base;
  uint64_t bytes; /* allocated; NOT_SEALED: its name is not the sealed one yet */
} retained;

#define NOT_SEALED UINT64_MAX

/* A segment that a batcher is done with, on its way to the sealer. Allocated. */
typedef struct batched_segment {
  struct batched_segment *next;
  uint64_t base;
  uint64_t bytes; /* allocated, of the batch segment */
} batched_segment;

/*
 * What makes batches of sealed segments, as far as their removal has to know. `drop`: the segment at `base` is about to
 * be removed; until `dropped` no name of a segment changes, and a batch of it that is in the making never gets one. 1
 * if it has one already, and still is in the room that was taken for it: then it does not count as used.
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
  int looked_back;            /* what earlier openings left was looked at: of it, the next two */
  uint8_t before_boot_id[16]; /* of the last segment of another boot; zeros: there is none */
  int64_t before_ns;          /* and its date */
  age_kind oldest;
  int64_t latest_ns; /* AGE_MONOTONIC: none of its events was captured later */
  uint8_t dated_boot_id[16]; /* AGE_DATED: of which boot it is, and what the last reading of its clocks was */
  int64_t dated_offset;
  int64_t date_ns;   /* AGE_DATED: its date, by the last reading of its boot */
  int agreed;        /* and that another boot before this one says that it is too old */
} ages;

typedef struct retention {
  const log_lock *held;  /* the log's directory, locked */
  worker *remover; /* the sealer's thread; null: none runs yet */
  uint64_t block_bytes;  /* of the file system: what a file takes is a multiple of them */
  uint64_t slack_bytes;  /* below the limit, for small files: see slack_of */
  uint64_t max_bytes;    /* UINT64_MAX: no limit */
  uint64_t retain_bytes; /* UINT64_MAX: all */
  uint64_t retain_ns;    /* UINT64_MAX: for ever */
  int displaces;         /* WEIR_LIMIT_DROP_OLDEST */
  uint64_t reserve;      /* below the limit, so that what a full ring holds can be recovered. 0 if it can displace */
  uint64_t batch_reserve; /* below the limit, for batches beside their segments: nobody else takes of it, and they take
                             no more; so no capture is refused, and no segment removed, for their sake. 0 without any */
  int remove_delivered;
  batch_names batch_names;

  uint64_t used;        /* atomic: bytes of all files, but of batches in the making */
  uint64_t batch_taken; /* atomic: of those: the room that they may come to need, at most batch_reserve */
  uint64_t measured_at; /* monotonic: when they were last added up. The preparer's */
  int recovering;       /* what is written is what the reserve is for */
  uint32_t limited;     /* atomic: not even the reserve is left: no capture is accepted */

  /* The sealer's, or the opening's. */
  retained *queue; /* by base: [first, end). The sealed ones, and those that are known to have failed to be */
  uint64_t first, end, room;
  uint64_t unsealed;     /* how many of them are not sealed */
  uint64_t sealed_bytes; /* of the others */
  int names_unsure;      /* a sealed name may not be on the disk: nothing is removed for a copy any more */
  int leftovers;         /* some are left that `start` says are removed: they go before any other does */
  int unlisted;          /* there was no memory for one: they are listed anew before any is removed */
  ages ages;
  log_start_slot start;
  uint64_t look_at;      /* monotonic: when age is to be looked at again; UINT64_MAX: when something is sealed */

  /* The preparer asks the remover for room. Guarded by the remover's mutex. */
  uint64_t wanted;
  uint64_t asked, answered;
  int failure;        /* atomic: the negative errno of the last removal, 0 */

  uint64_t copy_wanted; /* atomic: with displaces, what a copy lacks: files made ahead don't take it. 0: nothing */
  batched_segment *batched; /* atomic: a stack that batchers push on, and the sealer takes */
  uint64_t delivered; /* atomic: every offset below it was delivered, wherever it had to be */
  uint64_t removable_at; /* atomic: once so much is delivered there is a segment to remove for it. UINT64_MAX: none */
  int told;              /* it is. Guarded by the remover's mutex */
  uint64_t delivered_removed; /* atomic: events removed in this opening that were delivered */
  uint64_t expired;   /* atomic: events removed in this opening that were not */
  uint64_t displaced; /* the same, to make room */
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

void retention_free(retention *retention);

/* A full segment could not be sealed, and is tried again: until retention_sealed nothing at or above it is removed. */
void retention_hold(retention *retention, uint64_t base);

/* A segment has its sealed name; of it `taken` bytes counted, now `bytes` are allocated. */
void retention_sealed(retention *retention, uint64_t base, uint64_t taken, uint64_t bytes);

/* Tells the sealer that a batch has taken the raw one's place. */
void retention_batched(retention *retention, batched_segment *segment);

/*
 * Says that every event with an offset below it was delivered to whoever is to have it: removing those is no loss. Only
 * grows. Of an open log; wakes the remover where there is something to remove for it.
 */
void retention_deliver(retention *retention, uint64_t offset);

/* Monotonic: when retention_serve is next to be called; 0: now. */
uint64_t retention_due(const retention *retention);

/*
 * Removes all that is to go, and with WEIR_LIMIT_DROP_OLDEST older segments, for `needed` bytes. On the sealer's
 * thread, or before it runs. 0 or a negative errno.
 */
int retention_remove_due(retention *retention, uint64_t needed);

/*
 * On the remover's thread: answers who asked for room, and removes what is due. Under the remover's mutex, but not all
 * the time.
 */
void retention_serve(retention *retention);

#ifdef WEIR_FAULT_INJECTION
/* Test only: called between a look at what is delivered and the word of what would have to be. Null: nothing is. */
extern void (*retention_looked)(void);
#endif

/* The same, where nothing is to be removed any more: who asked for room gets the error. Under the remover's mutex. */
void retention_deny(retention *retention, int error);

#endif
