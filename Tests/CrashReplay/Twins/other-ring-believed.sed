# file: Sources/CWeir/recover/orphan_ring.c
# cases: other_ring_cases
# The ring of another opening, or of another log, is taken for the log's own.
s/^  return owner == RING_ANOTHERS ? set_aside(recovery, remains) : WEIR_OK;$/  return WEIR_OK;/
