/* detach.h: ends the captures to an open log after a fork, or when a page of a mapped file is lost. */
#ifndef WEIR_DETACH_H
#define WEIR_DETACH_H

#include "system/names.h"

#include "log/log.h"

void detach_register(event_log *log);   /* makes the log known to the fork handlers */
void detach_unregister(event_log *log); /* a second call does nothing */

/* Callback of sigbus_watch: from then on nothing is captured, written, or reported as durable. */
void detach_page_lost(void *log);

/* Whether a page was lost. Call after reading the mapped files. */
static inline int detach_lost_page(const event_log *log) {
  return __atomic_load_n(&log->mapping_lost, __ATOMIC_ACQUIRE); /* G2 */
}

#endif
