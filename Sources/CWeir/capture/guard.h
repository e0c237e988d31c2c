/*
 * guard.h: what becomes of a log when a file that it has mapped is cut short by somebody else, or the disk can't give a
 * page back: the kernel sends SIGBUS to whoever touches the page. See weir_guard_install in weir.h.
 */
#ifndef WEIR_GUARD_H
#define WEIR_GUARD_H

#include "system/names.h"

#include <stdint.h>

struct event_log;

/* Notes, and forgets, a mapping of a log. Lock-free; beyond GUARD_RANGES at a time a mapping goes without a guard. */
enum { GUARD_RANGES = 1024 };
void guard_add(struct event_log *log, const uint8_t *address, uint64_t bytes);
void guard_remove(const uint8_t *address);

int guard_is_installed(void);
void guard_uninstall(void); /* if nobody has installed another handler since */

/* Whether a page of the log's was lost: then nothing more is captured, written, or said to be durable. */
int guard_tripped(const struct event_log *log);

#endif
