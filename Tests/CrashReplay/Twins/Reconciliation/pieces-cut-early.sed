# file: Sources/WeirReconcile/Matching/OrderCheck.swift
# tests: OrderCheckTests
# A sequence is cut at the end of each block, whatever comes behind.
s/^        guard highest < least || piece.count == mostPairs else { continue }$/        guard true else { continue }/
