// FieldObject+Trace: the ids of the current span, as fields.

#if Hummingbird
  import Instrumentation
  public import Weir

  extension FieldObject {
    /// The ids of the span that runs here, in hexadecimal: `trace_id` with 32 digits and `span_id` with 16. Empty
    /// outside of a span.
    ///
    /// Bind the ids where a span begins. All events that are captured in the span then have the ids:
    ///
    /// ```swift
    /// try await withSpan("charge") { _ in
    ///   try await Bindings.with(fields: .currentTrace) { try await charge(order) }
    /// }
    /// ```
    ///
    /// ``/WeirHummingbird/TrackRequestsMiddleware`` binds the ids of the request's span.
    ///
    /// The ids are read from what the tracer of the process injects into a request as W3C `traceparent`. A tracer that
    /// propagates its spans in another form only, such as B3, gives no ids. Costs a load outside of a span, and the
    /// making of two texts within. Any thread may call this.
    public static var currentTrace: FieldObject {
      guard let context = InstrumentationContext.current else { return [:] }
      var header: String?
      InstrumentationSystem.instrument.inject(context, into: &header, using: TraceParentInjector())
      guard let header, let ids = TraceParent(header) else { return [:] }
      return ["trace_id": .string(ids.trace), "span_id": .string(ids.span)]
    }
  }

  /// Keeps one header of those that a tracer injects.
  private struct TraceParentInjector: Injector {
    func inject(_ value: String, forKey key: String, into header: inout String?) {
      if key == "traceparent" || key.lowercased() == "traceparent" { header = value }
    }
  }

  /// The ids in a header `traceparent`: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
  struct TraceParent {
    let trace: String
    let span: String

    /// Returns `nil` for a header that is not valid by W3C Trace Context. Later versions of the header may be longer.
    init?(_ header: String) {
      let parts = header.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
      guard parts.count == 4 || parts.count == 5 && parts[0] != "00" else { return nil }
      guard Self.isHexadecimal(parts[0], 2), parts[0] != "ff", Self.isHexadecimal(parts[3], 2) else { return nil }
      guard Self.isID(parts[1], 32), Self.isID(parts[2], 16) else { return nil }
      trace = String(parts[1])
      span = String(parts[2])
    }

    private static func isID(_ text: Substring, _ digits: Int) -> Bool {
      isHexadecimal(text, digits) && text.utf8.contains { $0 != UInt8(ascii: "0") }
    }

    private static func isHexadecimal(_ text: Substring, _ digits: Int) -> Bool {
      text.utf8.count == digits
        && text.utf8.allSatisfy {
          UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
        }
    }
  }
#endif
