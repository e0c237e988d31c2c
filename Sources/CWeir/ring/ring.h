/* ring.h: making the ring, mapping it, and the end of it. */
#ifndef WEIR_RING_H
#define WEIR_RING_H

#include "system/names.h"

#include "log/log.h"

/* In the place of the one before, whose file it may use again: only if log->spent says that this one is spent. */
weir_status ring_create(event_log *log, uint64_t base_offset, weir_error *error);
weir_status ring_attach(event_log *log, int fd, weir_error *error); /* maps an existing ring, header checked */
void ring_detach(event_log *log);
void ring_mark_closed(event_log *log); /* once it is drained, and what it held is on the disk */
int ring_is_drained(const event_log *log); /* the log has all that it holds, counts of refusals included */
weir_status ring_retire(event_log *log, weir_error *error); /* removes a drained ring that lies elsewhere */
uint64_t ring_file_bytes(const weir_options *options); /* of a new ring */
lane_view ring_lane_view(const event_log *log, uint32_t number);
/*
 * Where the ring itself says that a sync of a segment failed. After the death of the process it is what keeps recovery
 * from trying that file again, which the kernel might call a success.
 */
uint64_t *ring_sync_failed(const event_log *log);

#endif
