/*
 * sigbus.h: handles SIGBUS, which the kernel sends to a thread that touches a page of a mapped file that was cut short
 * or can't be read. See weir_guard_install in weir.h.
 */
#ifndef WEIR_SIGBUS_H
#define WEIR_SIGBUS_H

#include "system/names.h"

#include <stdint.h>

/*
 * Watches a mapping: where one of its pages is lost, `lost` is called with `owner`, by the thread that touched the
 * page, in a signal handler. Lock-free; beyond SIGBUS_RANGES at a time a mapping is not watched.
 */
enum { SIGBUS_RANGES = 1024 };
void sigbus_watch(const uint8_t *address, uint64_t bytes, void (*lost)(void *owner), void *owner);
void sigbus_forget(const uint8_t *address);

void sigbus_note(void *flag); /* a `lost` that sets the int at `owner`, atomically */

int sigbus_is_installed(void);

#endif
