/*
 * drainer.h: what the drainer of an open log does, seen from inside the log, so that a test can wait until the drainer
 * naps or sleeps, and can keep it napping while events are captured that are to stay in their lanes.
 */
#ifndef WEIR_TESTS_DRAINER_H
#define WEIR_TESTS_DRAINER_H

#include "check.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "capture/lane.h"
#include "log/log.h"

/*
 * Whether the drainer waits for its bell in the kernel. The flags say so a moment before it does, and a bell that was
 * rung in that moment has it make one more pass: only a thread in the kernel's queue can be moved to another one.
 */
static inline int drainer_waits(intake *intake) {
  static uint32_t aside;
  uint32_t bell = __atomic_load_n(&intake->bell, __ATOMIC_ACQUIRE);
  long moved = syscall(SYS_futex, &intake->bell, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1, &aside, bell);
  if (moved == 1) syscall(SYS_futex, &aside, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1, &intake->bell, aside);
  return moved == 1;
}

/*
 * Whether the drainer waits while one of its flags is set. The flag is read again after the look at the wait: the
 * drainer may have gone on in between, and wait for a segment, which no flag says.
 */
static inline int drainer_waits_with(intake *intake, const uint32_t *flag) {
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE) && drainer_waits(intake) && __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* Between two passes, for at most half the drain interval. */
static inline int drainer_naps(weir_log *handle) {
  intake *intake = intake_of(handle);
  return drainer_waits_with(intake, &intake->napping);
}

/* With nothing to do: until somebody captures, or asks for something. */
static inline int drainer_sleeps(weir_log *handle) {
  intake *intake = intake_of(handle);
  return drainer_waits_with(intake, &intake->producer.asleep);
}

/*
 * Drains, and has the drainer nap or sleep without an end, unseen by captures, which would wake it: what they capture
 * now stays in its lane until somebody asks for a drain. Nobody must wait for room in a lane meanwhile.
 */
static inline void hold_drainer(weir_log *handle) {
  event_log *log = (event_log *)handle;
  intake *intake = &log->intake;
  REQUIRE(log->options.sync_interval_ns == 0); /* its quarter would be the nap */
  __atomic_store_n(&log->options.drain_interval_ns, UINT64_C(1000000000000000), __ATOMIC_RELAXED);
  REQUIRE(weir_drain(handle, UINT64_MAX, NULL, NULL) == WEIR_OK);
  REQUIRE(AWAIT(drainer_naps(handle) || drainer_sleeps(handle)));
  __atomic_store_n(&intake->napping, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&intake->producer.asleep, 0, __ATOMIC_RELAXED);
}

/* Whether no segment is being made ahead of its time, and none is asked for. */
static inline int preparer_rests(weir_log *handle) {
  preparer *preparer = &((event_log *)handle)->preparer;
  pthread_mutex_lock(&preparer->worker.mutex);
  int rests = !preparer->wanted;
  pthread_mutex_unlock(&preparer->worker.mutex);
  return rests;
}

#endif
