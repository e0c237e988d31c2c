# file: include/weir_capture.h
# sweep: capture
# The tail is stored before the record's header: killed in between, the event that exists is not one.
/^WEIR_INLINE int32_t weir_commit/,/^}/ s/^  uint64_t zero = 0;$/&\n  __atomic_store_n(record->tail, record->position + ((WEIR_RECORD_HEADER_BYTES + length + 7) \& ~(uint64_t)7), __ATOMIC_RELEASE);/
