# file: Sources/CWeir/drain/drainer.c
# sweep: waits for room
# The head moves before the block is appended: a producer that waits for room overwrites what is in no block yet.
/^static [a-z]* append_records/,/^}/ s/^  segment_append(drainer->active, &header);$/  advance_head(lane, batch->to);\n&/
