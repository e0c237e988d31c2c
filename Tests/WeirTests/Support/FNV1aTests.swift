// FNV1aTests: the published values of the hash. Names of cursors and idempotency keys are made of the hash, so it must
// never change.

import Testing
import Weir

struct FNV1aTests {
  @Test(arguments: [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)])
  func `the hash in 32 bits has the published values`(text: String, hash: UInt32) {
    #expect(FNV1a.hash32(text.utf8) == hash)
  }

  @Test(arguments: [
    ("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8),
  ])
  func `the hash in 64 bits has the published values`(text: String, hash: UInt64) {
    #expect(FNV1a.hash64(text.utf8) == hash)
  }
}
