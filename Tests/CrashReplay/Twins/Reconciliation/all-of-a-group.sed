# file: Sources/WeirReconcile/Matching/Matcher.swift
# tests: ReconcilerTests
# Equal contents pair in the order of places, whatever their times.
s/^      if one.content == other.content, way != .content || isNear(one, other) {$/      if one.content == other.content {/
