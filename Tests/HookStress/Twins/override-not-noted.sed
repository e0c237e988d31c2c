# file: include/weir_firing.h
# What an override calls through super is told as a call of its own.
s/firing->override = call;/(void)call;/
