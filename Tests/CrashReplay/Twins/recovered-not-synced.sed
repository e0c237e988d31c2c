# file: Sources/CWeir/recover/unsealed.c
# power: 2000
# A segment that recovery seals gets its name before it is on the disk: a power cut takes what the process that was
# killed had left in the page cache alone.
/^int unsealed_finish/,/^}/ s/error = sys_sync_data(fd);/error = 0;/
