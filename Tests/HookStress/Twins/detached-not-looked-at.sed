# file: Sources/Weir/Aspects/HookTable.swift
# Advice of a hook that was detached in this very firing runs, though what it holds may be gone.
s/guard !isDetached else { return }//
