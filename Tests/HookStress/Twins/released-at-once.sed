# file: Sources/WeirAspects/JoinPoints/HookRegistry.swift
# A table is released while threads read it.
s/let reached = weir_firing_reach(ask ? 1 : 0)/_ = weir_firing_reach(ask ? 1 : 0); let reached = UInt64.max/
