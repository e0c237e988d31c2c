# file: Sources/CWeir/seal/sealer.c
# power: 5000
# The durable watermark is published before the files are synced: what lies below it is lost in a power cut.
/^static int make_durable/,/^}/ s/^  int error = sync_files(sealer.*$/  __atomic_store_n(\&sealer->durable_offset, offset, __ATOMIC_RELEASE);\n&/
