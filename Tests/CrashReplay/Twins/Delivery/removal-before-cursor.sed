# file: Sources/WeirDelivery/Dispatching/DeliveredLog.swift
# file: Sources/WeirDelivery/Cursors/CursorKeeper.swift
# tests: DeliveryOrderTests
# Segments go before the cursor has passed them, which it is given time for: killed in between, their events look lost.
s/^  \/\/\/ Whether this process has the log open\.$/  func release(below offset: Offset) {\n    state.withLock { $0.log?.setDelivered(offset) }\n    usleep(20_000)\n  }\n\n&/
s/^      try cursor.move(to: position)$/      log.release(below: position.offset)\n&/
