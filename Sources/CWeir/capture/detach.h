/* detach.h: what takes an open log away from its captures. */
#ifndef WEIR_DETACH_H
#define WEIR_DETACH_H

#include "system/names.h"

#include "log/log.h"

void detach_register(event_log *log);   /* known to fork */
void detach_unregister(event_log *log); /* again: nothing happens */

/* For sigbus_watch: nothing more is captured, written, or said to be durable. */
void detach_page_lost(void *log);

/* Whether that has happened. After what was read of the mapped files. */
static inline int detach_lost_page(const event_log *log) {
  return __atomic_load_n(&log->mapping_lost, __ATOMIC_ACQUIRE); /* G2 */
}

#endif
