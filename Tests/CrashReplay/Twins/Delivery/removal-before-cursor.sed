# file: Sources/Weir/Delivery/DeliveredLog.swift
# file: Sources/Weir/Delivery/CursorKeeper.swift
# tests: DeliveryOrderTests
# Segments go before the cursor has passed them, which it is given time for: killed in between, their events look lost.
s/^  func release(calls: SystemCalls) throws(WeirError) {$/  func release(below offset: Offset) {\n    state.withLock { $0.log?.setDelivered(offset) }\n    usleep(20_000)\n  }\n\n&/
s/^      try cursor.move(to: position)$/      log.release(below: position.offset)\n&/
