// BackoffFile: stores the wait after failed tries, beside the provider's cursor, so that a restart does not begin with
// a call at once.
//
// The file is `cursors/NAME.backoff`. The file exists only while the last try failed. The file is written under another
// name and renamed, and never synced: after a power cut the file may be missing, old or damaged, and then the provider
// is tried at once.
//
//      0  8   magic "WEIRBACK"
//      8  4   version, 1
//     12  4   CRC32C of the rest of the file
//     16  8   failed tries in a row, at least 1
//     24  8   failed tries in a row that the circuit breaker counts
//     32  8   nanoseconds of the breaker's last opening; 0 if the breaker is closed
//     40  8   time of the writing, nanoseconds since 1970, signed
//     48  8   nanoseconds from then to the next try

import Weir

/// The state after failed tries, as it is kept across restarts.
struct KeptBackoff: Hashable, Sendable {
  /// The number of failed tries in a row.
  var failures: Int
  /// The number of failed tries in a row that the circuit breaker counts.
  var breakerFailures: Int
  /// The time of the breaker's last opening; `nil` if the breaker is closed.
  var openFor: Duration?
  /// The time of the day at which this was written.
  var written: Timestamp
  /// The time from then to the next try.
  var wait: Duration

  /// Returns how long the next try still waits: never longer than the wait that was written, nor than the longest wait
  /// of these options. So no clock that is set back makes the wait longer.
  func remaining(at now: Timestamp, _ backoff: DeliveryOptions.Backoff) -> Duration {
    let longest = min(wait, max(backoff.most, backoff.openFor))
    let (passed, overflow) = now.nanosecondsSince1970.subtractingReportingOverflow(written.nanosecondsSince1970)
    if overflow { return now < written ? longest : .zero }
    return max(.zero, min(longest, wait - .nanoseconds(passed)))
  }
}

/// The file with a provider's wait. Belongs to the provider's worker, which holds the lock of the cursor.
struct BackoffFile {
  private static let magic: [UInt8] = Array("WEIRBACK".utf8)
  private static let version: UInt32 = 1
  private static let byteCount = 56

  private let name: String
  private let calls: SystemCalls
  private let directory: Descriptor
  /// Whether the file may exist.
  private(set) var mayExist = true

  init(_ provider: String, of logDirectory: String, calls: SystemCalls) throws(WeirError) {
    name = provider + ".backoff"
    self.calls = calls
    directory = try calls.openDirectory(Cursor.directoryName, in: try calls.openDirectory(logDirectory))
  }

  /// Reads the file. Returns `nil` if there is none, or if it is not whole.
  func read() -> KeptBackoff? {
    guard let file = try? calls.open(name, in: directory, forWriting: false),
      let bytes = try? calls.read(file, Self.byteCount + 1, at: 0)
    else { return nil }
    return Self.parse(bytes)
  }

  /// Writes the file. A kill at any moment leaves the file as it was before or after.
  mutating func write(_ kept: KeptBackoff) throws(WeirError) {
    let newName = name + ".new"
    mayExist = true
    try calls.unlink(newName, in: directory)
    let file = try calls.create(newName, in: directory)
    try calls.write(file, Self.bytes(of: kept), at: 0)
    try calls.rename(newName, to: name, in: directory)
  }

  /// Removes the file, if there may be one.
  mutating func remove() throws(WeirError) {
    guard mayExist else { return }
    try calls.unlink(name, in: directory)
    mayExist = false
  }

  // MARK: Bytes

  static func bytes(of kept: KeptBackoff) -> [UInt8] {
    var body: [UInt8] = []
    func put<Number: FixedWidthInteger>(_ number: Number) {
      withUnsafeBytes(of: number.littleEndian) { body += $0 }
    }
    put(UInt64(clamping: kept.failures))
    put(UInt64(clamping: kept.breakerFailures))
    put(kept.openFor?.wholeNanoseconds ?? 0)
    put(kept.written.nanosecondsSince1970)
    put(kept.wait.wholeNanoseconds)
    var bytes = magic
    withUnsafeBytes(of: version.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: body.withUnsafeBytes { crc32c($0) }.littleEndian) { bytes += $0 }
    return bytes + body
  }

  static func parse(_ bytes: [UInt8]) -> KeptBackoff? {
    func get<Number: FixedWidthInteger>(_ place: Int, as type: Number.Type) -> Number {
      bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: type)) }
    }
    guard bytes.count == byteCount, bytes.starts(with: magic), get(8, as: UInt32.self) == version,
      get(12, as: UInt32.self) == bytes[16...].withUnsafeBytes({ crc32c($0) }), get(16, as: UInt64.self) > 0
    else { return nil }
    func duration(_ nanoseconds: UInt64) -> Duration { .nanoseconds(Int64(clamping: nanoseconds)) }
    let openFor = get(32, as: UInt64.self)
    return KeptBackoff(
      failures: Int(clamping: get(16, as: UInt64.self)), breakerFailures: Int(clamping: get(24, as: UInt64.self)),
      openFor: openFor > 0 ? duration(openFor) : nil,
      written: Timestamp(nanosecondsSince1970: get(40, as: Int64.self)), wait: duration(get(48, as: UInt64.self)))
  }
}
