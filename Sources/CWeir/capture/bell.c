/* bell.c: see bell.h. */
#include "capture/bell.h"

#include "system/system.h"

void bell_ring(event_log *log) {
  __atomic_store_n(&log->producer.asleep, 0, __ATOMIC_RELAXED);
  __atomic_fetch_add(&log->bell, 1, __ATOMIC_RELEASE);
  sys_futex_wake(&log->bell);
}

void bell_wake(event_log *log) {
  /* Many producers may see the sleeper; the exchange lets one of them make the system call. */
  if (__atomic_load_n(&log->producer.asleep, __ATOMIC_RELAXED) &&
      __atomic_exchange_n(&log->producer.asleep, 0, __ATOMIC_ACQ_REL)) {
    bell_ring(log);
  }
}

void bell_end_nap(event_log *log) {
  if (__atomic_load_n(&log->napping, __ATOMIC_RELAXED) && __atomic_exchange_n(&log->napping, 0, __ATOMIC_ACQ_REL)) {
    bell_ring(log);
  }
}
