# file: include/weir_firing.h
# A thread does not say that it fires (F1).
s/__atomic_store_n(&firing->epoch, epoch, __ATOMIC_RELEASE);/(void)epoch;/
