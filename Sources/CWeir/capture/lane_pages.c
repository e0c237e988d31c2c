/*
 * lane_pages.c: see lane_pages.h.
 *
 * A new ring is a file with holes: an opening allocates the header, the definitions, the first lane and the first spare
 * one. Each other lane gets its blocks when it is about to be used, all of them at once: by the prefaulter ahead of
 * time, or else by the capture that takes the lane. So a log takes what its threads need, a lane that is taken has its
 * blocks, and a full disk never becomes a SIGBUS. A thread for whose lane there is no space shares the spare lanes that
 * are ready. The opening made one of them, so that there is one to share however early the disk is full.
 *
 * `ready` and `retry_at` need no memory order: they tell of blocks and pages, which the kernel keeps. Two that make a
 * lane ready at the same time do no harm.
 */
#include "capture/lane_pages.h"

#include <errno.h>

#include "limits/byte_limit.h"
#include "limits/claim.h"
#include "system/error.h"
#include "system/system.h"

/* Allocates all of the lane. 0 or a negative errno. */
static int allocate(const mapped_ring *ring, uint8_t *from, uint64_t bytes) {
  if (ring->whole) return 0;
  int error = -DESCRIPTOR_LOST;
  if (sys_is_file(ring->fd, &ring->file)) error = sys_allocate_more(ring->fd, (uint64_t)(from - ring->bytes), bytes);
  if (error == 0 || error == -ENOSPC || error == -EDQUOT) return error;
  /* The host has closed the descriptor, or a sandbox denies the call. To populate a hole allocates it, too. */
  error = sys_populate(from, bytes);
  return error == -EINVAL ? -ENOSYS : error;
}

/* Before Linux 5.14: a store to each page, whose blocks are allocated. */
static void touch(uint8_t *from, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 4096) {
    volatile uint8_t *page = from + at;
    *page = *page;
  }
}

/* ---- Overflow lanes ---------------------------------------------------------------------------------------------- */

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

static uint64_t claimed_bytes(const intake *intake) { return 2 * intake->ring.header->lane_stride; }

/* Whether the room is needed for the segments that what the lanes hold is drained into. */
static int is_short(const intake *intake) {
  const retention *retention = intake->retention;
  uint64_t kept = plus(retention->reserve, retention->batch_reserve);
  return byte_limit_is_short(retention, plus(kept, claimed_bytes(intake) + 2 * intake->options->segment_bytes), 0);
}

static int claim_room(intake *intake) {
  if (intake->retention && is_short(intake)) return -BYTE_LIMIT_REACHED;
  if (intake->retention) __atomic_add_fetch(&intake->retention->overflowing, 1, __ATOMIC_RELAXED);
  int error = claim_bytes(intake->retention, claimed_bytes(intake), 0);
  if (error != 0 && intake->retention) __atomic_sub_fetch(&intake->retention->overflowing, 1, __ATOMIC_RELAXED);
  return error;
}

static void unclaim(intake *intake) {
  byte_limit_give(intake->retention, claimed_bytes(intake));
  if (intake->retention) __atomic_sub_fetch(&intake->retention->overflowing, 1, __ATOMIC_RELAXED);
}

static void add(intake *intake, const lane *lane) {
  uint64_t *in_ring = &intake->ring.header->lanes_in_play, known = load(in_ring);
  uint32_t count = __atomic_load_n(&intake->lanes_in_play, __ATOMIC_RELAXED), after = lane->number + 1;
  while ((uint32_t)known < after && !__atomic_compare_exchange_n(in_ring, &known, lanes_word(after), 0,
                                                                 __ATOMIC_RELEASE, __ATOMIC_RELAXED)) { /* L11 */
    continue;
  }
  while (count < after && !__atomic_compare_exchange_n(&intake->lanes_in_play, &count, after, 0, __ATOMIC_RELEASE,
                                                       __ATOMIC_RELAXED)) { /* L11 */
    continue;
  }
  __atomic_add_fetch(&intake->overflow_ready, 1, __ATOMIC_RELAXED);
}

/* ---- Any lane ---------------------------------------------------------------------------------------------------- */

int lane_pages_make(intake *intake, lane *lane, int mine) {
  if (__atomic_load_n(&lane->ready, __ATOMIC_RELAXED)) return 0;
  uint64_t now = sys_monotonic_ns();
  int overflows = lane_overflows(intake, lane);
  if (!overflows && now < __atomic_load_n(&intake->retry_at, __ATOMIC_RELAXED)) return -ENOSPC;
  int before = errno;
  uint8_t *from = (uint8_t *)lane->control;
  uint64_t bytes = intake->ring.header->lane_stride, first = LANE_CONTROL_BYTES + LANE_FIRST_BYTES;
  if (first > bytes) first = bytes;
  int claim = overflows ? claim_room(intake) : 0;
  int error = claim != 0 ? claim : allocate(&intake->ring, from, bytes);
  if (error == 0) error = sys_populate(from, first);
  if (error == -EINVAL && mine) {
    touch(from, first);
    error = 0;
  }
  if (error == 0 && overflows) {
    store(&lane->control->opening, intake->producer.opening);
    add(intake, lane);
  }
  if (error != 0 && overflows && claim == 0) unclaim(intake);
  if (error == 0) __atomic_store_n(&lane->ready, 1, __ATOMIC_RELAXED);
  else if (error != -EINVAL && !overflows) __atomic_store_n(&intake->retry_at, now + LANE_RETRY_NS, __ATOMIC_RELAXED);
  errno = before;
  return error;
}

void lane_pages_release(intake *intake, lane *lane) {
  const lane_control *control = lane->control;
  uint64_t head = head_position(__atomic_load_n(&control->head, __ATOMIC_ACQUIRE)); /* L4 */
  if (head != load(&control->tail)) return;
  uint8_t *records = (uint8_t *)lane->control + LANE_CONTROL_BYTES;
  if (sys_remove_pages(records, intake->ring.header->lane_stride - LANE_CONTROL_BYTES) != 0) return;
  lane->producer.own_tail = NULL; /* as before its first capture: see overflow.c */
  lane->producer.limit = 0;
  __atomic_store_n(&lane->ready, 0, __ATOMIC_RELAXED);
  __atomic_sub_fetch(&intake->overflow_ready, 1, __ATOMIC_RELAXED);
  unclaim(intake);
}
