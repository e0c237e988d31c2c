# file: include/weir_firing.h
# A firing inside of another one ends both.
s/if (--firing->depth != 0) return 0;/--firing->depth;/
