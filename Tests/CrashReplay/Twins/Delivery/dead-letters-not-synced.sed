# file: Sources/Weir/Delivery/DeadLetterLog.swift
# tests: DeliveryOrderTests
# The cursor passes rejected events before their letters are on the disk: a power cut leaves the cursor alone.
s/^      try tracker.sync(timeout: .seconds(30))$//
