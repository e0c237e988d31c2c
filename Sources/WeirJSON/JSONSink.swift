// JSONSink: writes the pieces of JSON to memory that is known to be large enough.
//
// `JSONText` appends to an array, which checks its room for each piece, and an event has some thirty pieces. Here the
// room is made once for an event: see `EncodedJSON`. Both write the same bytes, and a test compares them.

/// A place in memory. Each method writes there and moves the place. The owner makes sure that there is room.
struct JSONSink {
  /// The most bytes that a number takes, with its sign, quotation marks, point and exponent.
  static let numberBytes = 32
  /// The most bytes that a byte of a text takes: `\u001f`.
  static let textFactor = 6

  private(set) var place: UnsafeMutablePointer<UInt8>

  init(_ start: UnsafeMutablePointer<UInt8>) {
    place = start
  }

  @inline(__always)
  mutating func put(byte: Unicode.Scalar) {
    place.pointee = UInt8(ascii: byte)
    place += 1
  }

  @inline(__always)
  mutating func put(_ text: StaticString) {
    put(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inline(__always)
  mutating func put(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else { return }
    place.update(from: start, count: bytes.count)
    place += bytes.count
  }

  /// Writes a short text in pieces of 16 bytes. That many bytes after the text can be read, and after its place be
  /// written.
  @inline(__always)
  mutating func put(padded start: UnsafePointer<UInt8>, _ count: Int) {
    var done = 0
    repeat {
      let piece = UnsafeRawPointer(start + done).loadUnaligned(as: SIMD16<UInt8>.self)
      UnsafeMutableRawPointer(place + done).storeBytes(of: piece, as: SIMD16<UInt8>.self)
      done &+= Self.padding
    } while done < count
    place += count
  }

  /// The bytes of a piece.
  static let padding = 16

  mutating func put(raw text: String) {
    var text = text
    text.withUTF8 { put($0) }
  }

  // MARK: Numbers

  mutating func put(_ value: Int64, as form: JSONForm) {
    put(value.magnitude, isNegative: value < 0, as: form)
  }

  mutating func put(_ value: UInt64, as form: JSONForm) {
    put(value, isNegative: false, as: form)
  }

  private mutating func put(_ magnitude: UInt64, isNegative: Bool, as form: JSONForm) {
    let isText = form.hasLargeIntegersAsText && magnitude > JSONForm.exactInDouble
    if isText { put(byte: "\"") }
    if isNegative { put(byte: "-") }
    put(magnitude)
    if isText { put(byte: "\"") }
  }

  /// Writes the digits of a number, two at a time.
  mutating func put(_ value: UInt64) {
    let count = Self.digitCount(value)
    put(value, digits: count)
  }

  /// Writes a number of this many digits, with leading zeros.
  @inline(__always)
  private mutating func put(_ value: UInt64, digits: Int) {
    var rest = value
    var index = digits
    let pairs = Self.pairs.utf8Start
    while index >= 2 {
      let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
      index -= 2
      place[index] = pairs[Int(pair) * 2]
      place[index + 1] = pairs[Int(pair) * 2 + 1]
      rest = quotient
    }
    if index == 1 { place[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest) }
    place += digits
  }

  private static func digitCount(_ value: UInt64) -> Int {
    var count = 1
    var rest = value
    while rest >= 10_000 {
      rest /= 10_000
      count &+= 4
    }
    return count &+ (rest >= 1_000 ? 3 : rest >= 100 ? 2 : rest >= 10 ? 1 : 0)
  }

  private static let pairs: StaticString = """
    00010203040506070809101112131415161718192021222324252627282930313233343536373839\
    40414243444546474849505152535455565758596061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899
    """

  mutating func put(_ value: Float, as form: JSONForm) {
    if value.isFinite { put(raw: value.description) } else { put(notFinite: value.isNaN, value < 0, form) }
  }

  mutating func put(_ value: Double, as form: JSONForm) {
    guard value.isFinite else { return put(notFinite: value.isNaN, value < 0, form) }
    if !putShort(value) { put(raw: value.description) }
  }

  /// Writes a number that has at most 15 digits, at most four of them after the point, as amounts and durations have.
  /// Returns `false` for all other numbers.
  ///
  /// Two decimal numbers of at most 15 digits are never the same double. So the digits found here are the shortest,
  /// which `description` finds for any number, with more work.
  private mutating func putShort(_ value: Double) -> Bool {
    let magnitude = value.magnitude
    guard magnitude < 1e11, magnitude >= 1e-3 || magnitude == 0 else { return false }
    let scaled = UInt64(magnitude * 10_000 + 0.5)
    guard Double(scaled) / 10_000 == magnitude else { return false }
    if value.sign == .minus { put(byte: "-") }
    let (whole, part) = scaled.quotientAndRemainder(dividingBy: 10_000)
    put(whole)
    put(byte: ".")
    if part.isMultiple(of: 100) {
      let short = part / 100
      if short.isMultiple(of: 10) { put(short / 10, digits: 1) } else { put(short, digits: 2) }
    } else if part.isMultiple(of: 10) {
      put(part / 10, digits: 3)
    } else {
      put(part, digits: 4)
    }
    return true
  }

  private mutating func put(notFinite isNaN: Bool, _ isNegative: Bool, _ form: JSONForm) {
    if form.hasNonFiniteAsNull { return put("null") }
    put(isNaN ? "\"NaN\"" : isNegative ? "\"-Infinity\"" : "\"Infinity\"")
  }

  // MARK: Ids and times

  /// Writes 16 hexadecimal digits.
  mutating func put(hexadecimal value: UInt64) {
    let start = UnsafeMutableRawPointer(place)
    start.storeBytes(of: Self.digits(UInt32(truncatingIfNeeded: value >> 32)), as: UInt64.self)
    start.storeBytes(of: Self.digits(UInt32(truncatingIfNeeded: value)), toByteOffset: 8, as: UInt64.self)
    place += 16
  }

  /// Returns eight hexadecimal digits, the first of them in the byte that is stored first.
  @inline(__always)
  private static func digits(_ value: UInt32) -> UInt64 {
    var word = UInt64(value)
    word = (word & 0xFFFF_0000) >> 16 | (word & 0x0000_FFFF) << 32
    word = (word & 0x0000_FF00_0000_FF00) >> 8 | (word & 0x0000_00FF_0000_00FF) << 16
    word = (word & 0x00F0_00F0_00F0_00F0) >> 4 | (word & 0x000F_000F_000F_000F) << 8
    // 1 in the bytes from 10 on, which are letters.
    let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return (word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).littleEndian
  }

  /// Writes nine digits.
  mutating func put(nanoseconds: Int) {
    put(UInt64(truncatingIfNeeded: nanoseconds), digits: 9)
  }

  // MARK: Texts

  /// Writes a text that nearly always consists of plain ASCII, with quotation marks. Returns `false`, and writes
  /// nothing, if a character has to be looked at.
  mutating func putPlain(_ text: UnsafeRawBufferPointer) -> Bool {
    let count = text.count
    var index = 0
    while index &+ 8 <= count {
      guard Self.isPlain(text.loadUnaligned(fromByteOffset: index, as: UInt64.self)) else { return false }
      index &+= 8
    }
    if count >= 8, index < count {
      // Some bytes are looked at twice.
      guard Self.isPlain(text.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)) else { return false }
    } else if index < count {
      // The bytes that are missing are spaces.
      var word: UInt64 = 0x2020_2020_2020_2020
      for byte in text { word = word << 8 | UInt64(byte) }
      guard Self.isPlain(word) else { return false }
    }
    put(byte: "\"")
    put(text.assumingMemoryBound(to: UInt8.self))
    put(byte: "\"")
    return true
  }

  /// Whether all eight bytes are in 0x20...0x7E, and neither a quotation mark nor a backslash.
  @inline(__always)
  private static func isPlain(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    let below = (word &- ones &* 0x20) & ~word
    let quote = word ^ ones &* 0x22
    let slash = word ^ ones &* 0x5C
    let delete = word ^ ones &* 0x7F
    let found =
      word | below | (quote &- ones) & ~quote | (slash &- ones) & ~slash | (delete &- ones) & ~delete
    return found & tops == 0
  }
}
