# file: Sources/Weir/Cursors/Cursor.swift
# tests: DeliveryOrderTests
# Segments go before the cursor that passed them is on the disk: after a power cut their events look lost.
/func move(/,/^  }/ s/^      try calls.syncData(file)$//
