# file: Sources/WeirReconcile/Matching/Assignment.swift
# tests: AssignmentTests
# Each event takes the first one that is near enough: an earlier choice leaves later events without a partner.
s/^        if !best.isBetter(than: paired) { (best, step) = (paired, .pair) }$/        (best, step) = (paired, .pair)/
