# file: Sources/CWeir/batch/batch.c
# power: 6000
# The raw segment goes before the name of the batch segment is on the disk: a power cut may take the one and keep the
# other gone.
/^static batch_result publish/,/^}/ s/job->error = sys_sync_directory(job->directory);/job->error = 0;/
