# file: Sources/CWeir/drain.c
# sweep: drain
# The lane's head moves before the block is appended: killed in between, the events are nowhere.
/^static void append_records/,/^}/ s/^  segment_append(log->active, &header);$/  hand_over(lane, batch->to);\n&/
