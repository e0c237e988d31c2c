// The ids of a span: from a header that is valid by W3C Trace Context, and from no other.

#if Hummingbird
  import Testing
  import Weir
  import WeirHummingbird

  struct CurrentTraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(arguments: ["00-\(trace)-\(span)-01", "00-\(trace)-\(span)-00", "cc-\(trace)-\(span)-01-what-comes-later"])
    func `the ids of a valid header`(_ header: String) async {
      let fields = await inSpan(header) { FieldObject.currentTrace }
      #expect(fields == ["trace_id": .string(Self.trace), "span_id": .string(Self.span)])
    }

    @Test(arguments: [
      "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-01-more", "ff-\(trace)-\(span)-01",
      "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-xx", "0-\(trace)-\(span)-01", "00-\(trace.dropLast())-\(span)-01",
      "00-\(trace)-\(span)0-01", "00-\(trace.uppercased())-\(span)-01",
      "00-00000000000000000000000000000000-\(span)-01",
      "00-\(trace)-0000000000000000-01", "00-\(trace.dropLast())g-\(span)-01", "00 \(trace) \(span) 01",
      "00-\(trace.dropLast(2))é-\(span)-01",
    ])
    func `no ids of any other header`(_ header: String) async {
      #expect(await inSpan(header) { FieldObject.currentTrace } == [:])
    }

    @Test func `no ids outside of a span`() {
      #expect(FieldObject.currentTrace == [:])
    }
  }
#endif
