# file: Sources/CWeir/batch/batch.c
# sweep: batching of what is there, by calls
# The raw segment goes before the batch segment has its name: killed in between, there is neither.
/^static batch_result publish/,/^}/ s/^  char name\[64\];$/&\n  if (unlink_raw(job) != 0) return BATCH_FAILED;/
