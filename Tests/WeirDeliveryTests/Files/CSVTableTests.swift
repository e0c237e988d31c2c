// CSVTable: the limit of its columns. `weir export` has the tests of its form.

import Testing
import Weir

@testable import WeirDelivery

@Suite struct CSVTableTests {
  @Test func `a table of names without end is refused`() throws {
    var columns = CSVColumns()
    let error = #expect(throws: WeirError.self) {
      for number in 0..<20_000 {
        try columns.add(
          StoredEvent(
            offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: "e",
            fields: FieldObject([("field \(number)", 1)])))
      }
    }
    #expect(error?.message.contains("columns") == true)
    #expect(columns.names.count <= CSVColumns.maximum + 1)
  }
}
