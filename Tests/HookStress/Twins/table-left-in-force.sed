# file: Sources/WeirAspects/JoinPoints/HookRegistry.swift
# A detached hook stays in the table: its place in the listing, and the table's memory, are never given back.
s/point.hooks.remove(at: index)/point.hooks.swapAt(index, index)/
