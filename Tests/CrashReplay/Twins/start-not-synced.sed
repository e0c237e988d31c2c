# file: Sources/CWeir/directory/log_start.c
# power: 6000
# What `start` says is not on the disk when the segments that it names go: after a power cut their events look lost.
s/^  if (error == 0) error = sys_sync_data(fd);$//
s/^    if (error == 0) error = sys_sync_data(fd);$//
