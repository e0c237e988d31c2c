# file: Sources/CWeir/batch/batch.c
# power: 6000
# A batch segment gets its name before its content is on the disk, and the raw one goes: a power cut leaves neither.
/^static batch_result publish/,/^}/ s/? sys_sync_data(writer->fd) :/? 0 :/
