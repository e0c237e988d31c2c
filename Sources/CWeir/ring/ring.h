/* ring.h: making the ring, mapping it, and retiring it. */
#ifndef WEIR_RING_H
#define WEIR_RING_H

#include "system/names.h"

#include "log/log.h"

/* Replaces the previous ring, whose file it may reuse: only if log->spent says that the previous ring is spent. */
weir_status ring_create(event_log *log, uint64_t base_offset, weir_error *error);
weir_status ring_attach(event_log *log, int fd, weir_error *error); /* maps an existing ring, header checked */
void ring_detach(event_log *log);
void ring_mark_closed(event_log *log); /* call once the ring is drained and its events are on the disk */
int ring_is_drained(const event_log *log); /* whether the log has everything in the ring, counts of refusals included */
weir_status ring_retire(event_log *log, weir_error *error); /* removes a drained ring that lies elsewhere */
uint64_t ring_file_bytes(const weir_options *options); /* of a new ring */
lane_view ring_lane_view(const event_log *log, uint32_t number);
/*
 * The flag in the ring itself that a sync of a segment failed. After the process died it keeps recovery from syncing
 * that file again, because the kernel might report the second sync as a success.
 */
uint64_t *ring_sync_failed(const event_log *log);

#endif
