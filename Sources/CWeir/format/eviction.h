/*
 * eviction.h: the words of a lane's control page that count what captures evicted from a full lane. See overflow.c for
 * who writes them, and lane.c, L9, for their order.
 */
#ifndef WEIR_EVICTION_H
#define WEIR_EVICTION_H

#include "system/names.h"

#include "format/format.h"

/* Counts what `head` shows to have been evicted. */
void eviction_settle(lane_control *control, uint64_t head);

/* Events evicted so far, those not counted yet included. */
uint64_t eviction_total(const lane_control *control);

#endif
