# file: Sources/CWeir/replay/orphan.c
# sweep: drain of refusals
# The replay does not look which gap records the log has: killed after one was written, before the lane says so, it is
# written again.
/^static int next_gap/,/^}/ s/^\( *uint64_t reported = \)drained_reported(&ring->drained, (uint32_t)row, reason, in_ring);$/\1in_ring;\n    (void)row;/
