/* bell.c: see bell.h. */
#include "capture/bell.h"

#include "system/system.h"

void bell_ring(intake *intake) {
  __atomic_store_n(&intake->producer.asleep, 0, __ATOMIC_RELAXED);
  __atomic_fetch_add(&intake->bell, 1, __ATOMIC_RELEASE); /* E4 */
  sys_futex_wake(&intake->bell);
}

void bell_wake(intake *intake) {
  /* Many producers may see the sleeper; the exchange lets one of them make the system call. */
  if (__atomic_load_n(&intake->producer.asleep, __ATOMIC_RELAXED) &&
      __atomic_exchange_n(&intake->producer.asleep, 0, __ATOMIC_ACQ_REL)) { /* L6 */
    bell_ring(intake);
  }
}

void bell_end_nap(intake *intake) {
  if (__atomic_load_n(&intake->napping, __ATOMIC_RELAXED) &&
      __atomic_exchange_n(&intake->napping, 0, __ATOMIC_ACQ_REL)) { /* L6 */
    bell_ring(intake);
  }
}
