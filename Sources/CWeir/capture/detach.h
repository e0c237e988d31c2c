/* detach.h: ends the captures to an open log after a fork, or when a page of a mapped file is lost. */
#ifndef WEIR_DETACH_H
#define WEIR_DETACH_H

#include "system/names.h"

#include "capture/intake.h"

void detach_register(intake *intake);   /* makes the log known to the fork handlers */
void detach_unregister(intake *intake); /* a second call does nothing */

/* Callback of sigbus_watch: from then on nothing is captured, written, or reported as durable. */
void detach_page_lost(void *intake);

/* Whether a page was lost. Call after reading the mapped files. */
static inline int detach_lost_page(const intake *intake) {
  return __atomic_load_n(&intake->mapping_lost, __ATOMIC_ACQUIRE); /* G2 */
}

#endif
