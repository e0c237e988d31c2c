# file: Sources/WeirReconcile/Matching/EventOrder.swift
# tests: EventOrderTests
# Each event that is lower than one before it is out of order: one that comes early makes all others late.
s/^    if zip(places, places.dropFirst()).*$/    var highest: UInt64 = 0\n    if !places.isEmpty {\n      return places.indices.filter { index in\n        defer { highest = max(highest, places[index]) }\n        return places[index] < highest\n      }\n    }/
