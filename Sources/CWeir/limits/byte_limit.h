/*
 * byte_limit.h: what is used of the byte limit, and who may take of the rest. Three kinds of takers, of whom none waits
 * for another's bytes:
 *   - Files of events: segments, the ring. They leave `reserve` free, for a recovery, and `batch_reserve`.
 *   - Copies of segments whose sync failed. They leave `batch_reserve` free.
 *   - Batches in the making. Each takes its largest size from `batch_reserve` when it begins, which counts in
 *     batch_taken. Once done, the batch counts in `used`, in place of its segment.
 * So used + batch_taken stays below the limit whoever comes first, and no capture is refused, and no segment removed,
 * for a batch that is being made. Numbers change by compare-and-swap: whoever drains or seals never waits for a thread
 * at nice 10.
 *
 * label update                                what it guarantees
 * B1    used, by compare-and-swap             no two threads take the same bytes
 * B2    batch_taken, by compare-and-swap      the same of the room for batches
 *
 * Neither puts anything else in order: a file is made after its room is taken, and unlinked before the room is given
 * back, by the same thread.
 */
#ifndef WEIR_BYTE_LIMIT_H
#define WEIR_BYTE_LIMIT_H

#include "system/names.h"

#include "limits/retention.h"

/*
 * Of every log: the file `start`, the lock, a locator, the counts of a recovery, and what a file system adds to a
 * file's blocks to find them. Files take whole blocks: of 4 KiB mostly, of up to 64 KiB where pages are as large.
 */
enum { LEAST_BLOCK_BYTES = 4096, MOST_BLOCK_BYTES = 65536 };
static inline uint64_t byte_limit_slack(uint64_t block_bytes) { return (UINT64_C(112) << 10) + 4 * block_bytes; }

static inline uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

static inline uint64_t byte_limit_round(uint64_t bytes, uint64_t block_bytes) {
  return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

/* What a file of so many bytes takes. */
static inline uint64_t byte_limit_blocks(const retention *retention, uint64_t bytes) {
  return byte_limit_round(bytes, retention->block_bytes);
}

/* Whether so many bytes more are too many, once `freed` of those in use are gone. */
int byte_limit_is_short(const retention *retention, uint64_t needed, uint64_t freed);

/* Counts bytes that are used from now on, and bytes that are not any more, in one step: nobody sees them twice. */
void byte_limit_change(retention *retention, uint64_t more, uint64_t less);

/* Takes the bytes if they fit below the limit, less what is to stay free: 1 or 0. */
int byte_limit_try(retention *retention, uint64_t bytes, uint64_t reserve);

/* Bytes that were taken are free again. From any thread. */
void byte_limit_give(retention *retention, uint64_t bytes);

/*
 * Takes the most room that a batch may need, before the batch is begun, so that batches never block one another:
 * `*bytes`, which becomes what was taken. That is less where a segment of an earlier opening is larger than those of
 * this one. 0, or -BYTE_LIMIT_REACHED: other batches have the room, or the limit was lowered. From any thread, as the
 * next.
 */
int byte_limit_take_batch(retention *retention, uint64_t *bytes);

/*
 * Ends that: of the `taken` bytes `allocated` stay, and the raw file's `unlinked` bytes are free. One step, so that no
 * thread sees batch and raw file counted twice.
 */
void byte_limit_settle_batch(retention *retention, uint64_t taken, uint64_t allocated, uint64_t unlinked);

#endif
