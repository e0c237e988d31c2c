/*
 * eviction.h: the words of a lane's control page that count what captures evicted from a full lane. See overflow.c for
 * who writes them, and lane.c, L9, for their order.
 */
#ifndef WEIR_EVICTION_H
#define WEIR_EVICTION_H

#include "system/names.h"

#include "format/format.h"

/* Counts the evictions that `head` shows, if they are not counted yet. */
void eviction_settle(lane_control *control, uint64_t head);

/* The events evicted so far, with those that are not counted yet. */
uint64_t eviction_total(const lane_control *control);

#endif
