# file: Sources/CWeir/recover.c
# sweep: recovery
# Recovery seals the segments before the lanes' heads have what the log says: killed in between, nobody scans them any
# more, and what they took over is drained again.
s/if (status == WEIR_OK && recovery->dead) status = settle_heads(recovery);/if (status == WEIR_OK) status = seal_segments(recovery, found);/
t
s/if (status == WEIR_OK) status = seal_segments(recovery, found);/if (status == WEIR_OK \&\& recovery->dead) status = settle_heads(recovery);/
