/*
 * byte_limit.h: what is used of the byte limit, and who may take of the rest. Three kinds of takers, of whom none waits
 * for another's bytes:
 *   - Files of events: segments, the ring. They leave `reserve` free, for a recovery, and `batch_reserve`.
 *   - Copies of segments whose sync failed. They leave `batch_reserve` free.
 *   - Batches in the making. They take of `batch_reserve` alone, all that they may need at the beginning, and count
 *     there and not as used, until what they became counts in their segments' place.
 * So used + batch_taken stays below the limit whoever comes first, and no capture is refused, and no segment removed,
 * for a batch that is being made. Numbers change by compare-and-swap: whoever drains or seals never waits for a thread
 * at nice 10.
 */
#ifndef WEIR_BYTE_LIMIT_H
#define WEIR_BYTE_LIMIT_H

#include "system/names.h"

#include "limits/retention.h"

/* Of every log: the file `start`, the lock, and what a file system adds to a file's blocks to find them. */
#define SLACK_BYTES (UINT64_C(128) << 10)

static inline uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

static inline uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) & ~UINT64_C(4095); }

/* Whether so many bytes more are too many, once `freed` of those in use are gone. */
int byte_limit_is_short(const retention *retention, uint64_t needed, uint64_t freed);

/* Counts bytes that are used from now on, and bytes that are not any more, in one step: nobody sees them twice. */
void byte_limit_change(retention *retention, uint64_t more, uint64_t less);

#endif
