# file: Sources/Weir/Aspects/HookRegistry.swift
# What advice detached is never let go of.
s/for hook in hooks { state.retired.append(.*$/_ = hooks/
