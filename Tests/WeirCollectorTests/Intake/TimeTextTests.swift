// TimeTextTests: moments as vendors write them.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct TimeTextTests {
    @Test(arguments: [
      ("2026-11-21T00:00:00Z", 1_795_219_200_000_000_000), ("2026-11-21", 1_795_219_200_000_000_000),
      ("2026-11-21 00:00:00", 1_795_219_200_000_000_000), ("2026-11-21t01:30:00+01:30", 1_795_219_200_000_000_000),
      ("2026-11-20T23:00:00-0100", 1_795_219_200_000_000_000),
      ("2026-11-21T00:00:00.000000001z", 1_795_219_200_000_000_001),
      ("2026-11-21T00:00:00.1234567899", 1_795_219_200_123_456_789), ("1969-12-31T23:59:59.5Z", -500_000_000),
      ("2026-11-20T23:59:60Z", 1_795_219_200_000_000_000), ("1795219200", 1_795_219_200_000_000_000),
    ])
    func `a text that is a moment is read as one`(text: String, nanoseconds: Int) {
      #expect(TimeText.timestamp(FieldValue.string(text))?.nanosecondsSince1970 == Int64(nanoseconds))
    }

    @Test(arguments: [
      "", "x", "2026", "2026-11", "2026-13-01", "2026-02-30", "2026-11-21T", "2026-11-21T24:00:00Z",
      "2026-11-21T00:60:00Z",
      "2026-11-21T00:00:61Z", "2026-11-21T00:00:00.Z", "2026-11-21T00:00:00+1", "2026-11-21T00:00:00Zx",
      "9999-12-31T00:00:00Z", "0001-01-01T00:00:00Z", "２０２６-11-21",
    ])
    func `a text that is no moment is not read as one`(text: String) {
      #expect(TimeText.timestamp(text) == nil)
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
