/*
 * lane_pages.c: see lane_pages.h.
 *
 * A new ring is a file with holes: an opening allocates the header, the definitions, the first lane and the first spare
 * one. Each other lane gets its blocks when it is about to be used, all of them at once: by the prefaulter ahead of
 * time, or else by the capture that takes the lane. So a log takes what its threads need, a lane that is taken has its
 * blocks, and a full disk never becomes a SIGBUS. A thread for whose lane there is no space shares the spare lanes that
 * are ready. The opening made one of them, so that there is one to share however early the disk is full.
 *
 * `ready` and `retry_at` order nothing: what they tell of is the kernel's. Two that make a lane ready at the same time
 * do no harm.
 */
#include "capture/lane_pages.h"

#include <errno.h>

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

int lane_pages_make(intake *intake, lane *lane, int mine) {
  if (__atomic_load_n(&lane->ready, __ATOMIC_RELAXED)) return 0;
  uint64_t now = sys_monotonic_ns();
  if (now < __atomic_load_n(&intake->retry_at, __ATOMIC_RELAXED)) return -ENOSPC;
  int before = errno;
  uint8_t *from = (uint8_t *)lane->control;
  uint64_t bytes = intake->ring.header->lane_stride, first = LANE_CONTROL_BYTES + LANE_FIRST_BYTES;
  if (first > bytes) first = bytes;
  int error = allocate(&intake->ring, from, bytes);
  if (error == 0) error = sys_populate(from, first);
  if (error == -EINVAL && mine) {
    touch(from, first);
    error = 0;
  }
  if (error == 0) __atomic_store_n(&lane->ready, 1, __ATOMIC_RELAXED);
  else if (error != -EINVAL) __atomic_store_n(&intake->retry_at, now + LANE_RETRY_NS, __ATOMIC_RELAXED);
  errno = before;
  return error;
}
