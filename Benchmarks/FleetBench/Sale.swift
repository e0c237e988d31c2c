// Sale: the event of all hosts, as Weir encodes it, and in the forms of producers without a log.

#if Tool && NATS
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// The event of capture-bench: a number, a double, a 32-bit integer and 20 bytes of text, encoded as `@Event` does.
  /// All but the number look random: real events don't pack too well either.
  struct Sale: Event {
    var order: UInt64
    var total: Double
    var items: Int32
    var coupon: String

    private static let coupons = (0..<900).map { "SPRING-2026-CODE-\(100 + $0)" }

    init(number: Int) {
      order = UInt64(number)
      let chance = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
      total = Double(chance >> 40 % 10_000) / 100
      items = Int32(chance >> 32 % 7)
      coupon = Self.coupons[Int(chance >> 20 % 900)]
    }

    static let eventTypes = [
      EventType(
        "sale.completed",
        [Field("order", .uint64), Field("total", .double), Field("items", .int32), Field("coupon", .string)])
    ]

    @inline(__always)
    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put(order)
      encoder.put(total)
      encoder.put(items)
      encoder.put(coupon)
    }

    init?(_ stored: StoredEvent) throws {
      guard stored.name == "sale.completed" else { return nil }
      order = try stored["order"]
      total = try stored["total"]
      items = try stored["items"]
      coupon = try stored["coupon"]
    }
  }

  extension Sale {
    /// Appends a line of JSON, with the time. Written by hand: a producer in a hurry does not use `JSONEncoder`.
    func appendJSON(to bytes: inout [UInt8]) {
      Self.append(#"{"name":"sale.completed","time":"#, to: &bytes)
      Self.append(Self.now, to: &bytes)
      Self.append(#","order":"#, to: &bytes)
      Self.append(order, to: &bytes)
      Self.append(#","total":"#, to: &bytes)
      let cents = UInt64((total * 100).rounded())
      Self.append(cents / 100, to: &bytes)
      bytes.append(UInt8(ascii: "."))
      bytes.append(UInt8(ascii: "0") + UInt8(cents / 10 % 10))
      bytes.append(UInt8(ascii: "0") + UInt8(cents % 10))
      Self.append(#","items":"#, to: &bytes)
      Self.append(UInt64(items), to: &bytes)
      Self.append(#","coupon":""#, to: &bytes)
      Self.append(coupon, to: &bytes)
      Self.append("\"}\n", to: &bytes)
    }

    /// Appends the fields as they are in memory, with a number for the name, and the time: the least that a receiver
    /// can tell the event by.
    func appendBinary(to bytes: inout [UInt8]) {
      withUnsafeBytes(of: UInt16(1)) { bytes += $0 }
      withUnsafeBytes(of: Self.now) { bytes += $0 }
      withUnsafeBytes(of: order) { bytes += $0 }
      withUnsafeBytes(of: total) { bytes += $0 }
      withUnsafeBytes(of: items) { bytes += $0 }
      bytes.append(UInt8(coupon.utf8.count))
      Self.append(coupon, to: &bytes)
    }

    private static var now: UInt64 {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    @inline(__always)
    private static func append(_ text: String, to bytes: inout [UInt8]) {
      var text = text
      text.withUTF8 { bytes += $0 }
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
      var digits: InlineArray<20, UInt8> = .init(repeating: 0)
      var (rest, start) = (number, 20)
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      for index in start..<20 { bytes.append(digits[index]) }
    }
  }
#endif
