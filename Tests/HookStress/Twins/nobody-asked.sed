# file: Sources/CWeir/firing.c
# Threads that fire still are not asked to clear up after themselves (F4).
s/if (began != 0 \&\& began < now) __atomic_store_n(&firing->pending, 1, __ATOMIC_SEQ_CST);/(void)began;/
