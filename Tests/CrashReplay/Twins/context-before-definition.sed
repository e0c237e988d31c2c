# file: Sources/CWeir/capture/context.c
# sweep: interleaved captures and changes
# A context is in force before its definition is in the ring: killed in between, an event has a context that nobody
# knows.
/^static weir_status define_context/,/^}/ s/^  uint8_t \*entry = .*$/  __atomic_store_n(\&intake->producer.context, header.type << 16, __ATOMIC_RELEASE);\n&/
