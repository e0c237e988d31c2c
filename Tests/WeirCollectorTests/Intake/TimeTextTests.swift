// TimeTextTests: moments as vendors write them.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct TimeTextTests {
    @Test func `a text is read as a moment or as a number`() {
      #expect(TimeText.timestamp("2026-11-21 00:00:00")?.nanosecondsSince1970 == 1_795_219_200_000_000_000)
      #expect(TimeText.timestamp(.string("2026-11-21"))?.nanosecondsSince1970 == 1_795_219_200_000_000_000)
      #expect(TimeText.timestamp(.string("1795219200"))?.nanosecondsSince1970 == 1_795_219_200_000_000_000)
      #expect(TimeText.timestamp(.string("x")) == nil)
    }

    @Test func `a number is read in the unit that its size tells`() {
      #expect(TimeText.timestamp(.int(1_795_219_200))?.nanosecondsSince1970 == 1_795_219_200_000_000_000)
      #expect(TimeText.timestamp(.int(1_795_219_200_001))?.nanosecondsSince1970 == 1_795_219_200_001_000_000)
      #expect(TimeText.timestamp(.int(1_795_219_200_000_001))?.nanosecondsSince1970 == 1_795_219_200_000_001_000)
      #expect(TimeText.timestamp(.int(1_795_219_200_000_000_001))?.nanosecondsSince1970 == 1_795_219_200_000_000_001)
      #expect(TimeText.timestamp(.double(1_795_219_200.25))?.nanosecondsSince1970 == 1_795_219_200_250_000_000)
      #expect(TimeText.timestamp(.double(1_795_219_200_000.5))?.nanosecondsSince1970 == 1_795_219_200_000_500_000)
      #expect(TimeText.timestamp(.int(99_999_999_999)) == nil)
      for value: FieldValue in [
        .int(-1), .double(-1), .double(.nan), .double(.infinity), .null, .bool(true), .uint(.max),
      ] {
        #expect(TimeText.timestamp(value) == nil)
      }
    }
  }
#endif
