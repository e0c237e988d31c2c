# file: Sources/CWeir/limits/retention.c
# sweep: removal of delivered segments
# Delivered segments go before `start` says so: killed in between, their events look lost.
/^static int remove_some/,/^}/ s/^  error = log_start_write(retention->held->directory, &start);$/  for (int i = 0; i < count; i++) unlink_segment(retention, \&going[i]);\n&/
