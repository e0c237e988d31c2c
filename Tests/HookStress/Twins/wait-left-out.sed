# file: Sources/WeirAspects/JoinPoints/HookRegistry.swift
# Detach returns without waiting for the threads that fire.
s/weir_firing_wait(weir_firing_retire())/_ = weir_firing_retire()/
