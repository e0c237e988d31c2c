/* orphan_ring.h: the ring that a dead process left, for recover.c: found and mapped, or lost and reported. */
#ifndef WEIR_ORPHAN_RING_H
#define WEIR_ORPHAN_RING_H

#include "system/names.h"

#include "recover/recovery.h"

/* Finds the dead process's ring and maps it, or records that it is lost. */
weir_status orphan_ring_open(recovery *recovery);

/* The flag in the orphaned ring that a sync failed, or null. */
uint64_t *orphan_ring_sync_failed(const recovery *recovery);

/*
 * Writes the notice of a lost ring, only once even if an earlier recovery was killed; then quarantines the ring's
 * remains.
 */
weir_status orphan_ring_report_lost(recovery *recovery);

void orphan_ring_detach(recovery *recovery);

#endif
