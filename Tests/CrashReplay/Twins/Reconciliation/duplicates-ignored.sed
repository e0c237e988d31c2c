# file: Sources/WeirReconcile/Matching/Matcher.swift
# tests: ReconcilerTests
# What repeats a matched event is left out: n equal events match any number.
s/^    take(leftThere, beside: pairs.map(\\.there), &result.duplicatesThere, &result.leftThere)$/    _ = leftThere/
