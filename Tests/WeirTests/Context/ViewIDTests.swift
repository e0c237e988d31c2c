// ViewIDTests: the ids of views and scopes are random UUIDs.

import Foundation
import Testing
import Weir

struct ViewIDTests {
  @Test func `an id is a UUID of version 4 in lower case`() throws {
    for _ in 0..<100 {
      let id = newViewID()
      #expect(id == id.lowercased())
      let uuid = try #require(UUID(uuidString: id)).uuid
      #expect(uuid.6 >> 4 == 4)
      #expect(uuid.8 >> 6 == 2)
    }
  }

  @Test func `ids differ`() {
    #expect(Set((0..<10_000).map { _ in newViewID() }).count == 10_000)
  }
}
