# file: Sources/Weir/Aspects/HookRegistry.swift
# A detached hook stays in the table.
s/point.hooks.remove(at: index)/_ = index/
