# file: Sources/WeirReconcile/Matching/Assignment.swift
# tests: AssignmentTests
# The nearest pairs count more than the number of pairs.
s/^      pairs > other.pairs || pairs == other.pairs && distance < other.distance$/      distance < other.distance/
