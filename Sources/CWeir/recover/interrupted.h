/* interrupted.h: what an earlier recovery found and reported to nobody. See interrupted.c. */
#ifndef WEIR_INTERRUPTED_H
#define WEIR_INTERRUPTED_H

#include "system/names.h"

#include "recover/recovery.h"

/* Takes these counts. Call once the ring is known, before anything is counted. */
weir_status interrupted_take(recovery *recovery);

#endif
