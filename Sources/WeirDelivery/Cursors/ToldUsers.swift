// ToldUsers: what a provider was told of each user, beside the provider's cursor.
//
// A provider that is told of a user once for each change needs a memory that outlives the process. The memory is
// `cursors/NAME.users`: a header, and then records that are appended. Of several records of a user, the last counts.
// The file is written again under another name and renamed once most of its records are outdated.
//
//      header                                   record
//      0  8   magic "WEIRUSRS"                  0  8   hash of the user's id
//      8  4   version, 1                        8  8   hash of the id and the traits that the provider was told
//     12 16   0                                16  8   offset of the event that told
//     28  4   CRC32C of the bytes before       24  4   0
//                                              28  4   CRC32C of the bytes before
//
// The file is not synced. A record that is missing or damaged costs a repetition: the provider is told again.

import Weir

/// What one provider was told of its users. Belongs to the provider's worker.
struct ToldUsers {
  private struct Told {
    var content: UInt64
    var offset: Offset
  }

  private static let magic: [UInt8] = Array("WEIRUSRS".utf8)
  private static let version: UInt32 = 1
  private static let recordSize = 32
  /// The number of users for which a file is read even if fewer are remembered now.
  private static let mostUsers = 1_000_000

  private let name: String
  private let calls: SystemCalls
  private let directory: Descriptor
  private let limit: Int
  private var told: [UInt64: Told] = [:]
  /// The users of ``told`` that are not in the file yet.
  private var unwritten: Set<UInt64> = []
  private var file: Descriptor?
  /// The number of records in the file.
  private var recordCount = 0

  /// Reads the file, if there is one. A damaged record counts as missing. A file from a later state of the log, which
  /// was then restored from a copy, counts as missing too: the log ends at `end`.
  init(_ provider: String, of logDirectory: String, limit: Int, end: Offset, calls: SystemCalls) throws(WeirError) {
    name = provider + ".users"
    self.calls = calls
    self.limit = limit
    directory = try calls.openDirectory(Cursor.directoryName, in: try calls.openDirectory(logDirectory))
    guard limit > 0, let found = try calls.open(name, in: directory) else { return }
    let size = try calls.byteCount(of: found)
    guard size <= Self.recordSize * (Self.mostRecords(for: max(limit, Self.mostUsers)) + 1),
      try calls.read(found, Self.recordSize, at: 0) == Self.header
    else { return }
    let records = size / Self.recordSize - 1
    let bytes = try calls.read(found, records * Self.recordSize, at: Self.recordSize)
    for place in stride(from: 0, to: bytes.count, by: Self.recordSize) {
      guard let (user, record) = Self.parse(bytes[place..<place + Self.recordSize]) else { continue }
      guard record.offset < end else {
        told = [:]
        return
      }
      told[user] = record
    }
    forgetOldest()
    file = found
    recordCount = records
  }

  /// Whether the provider has yet to be told what is known about this user.
  ///
  /// An event that is delivered late, after a later event of its user told more, has nothing new to tell.
  func isNews(_ user: EventUser, at offset: Offset) -> Bool {
    guard limit > 0 else { return false }
    guard let known = told[Self.hash(of: user.id)] else { return true }
    return known.offset < offset && known.content != Self.hash(of: user)
  }

  /// Marks the events that tell the provider of their user: each event whose user has traits that the provider was not
  /// told, neither before nor by an earlier event of the batch.
  func mark(_ batch: inout [HeldEvent]) {
    guard limit > 0 else { return }
    var marked: [UInt64: UInt64] = [:]
    for index in batch.indices {
      batch[index].prepared.identifies = false
      guard batch[index].prepared.namesUserWithTraits, let user = batch[index].prepared.context.user else { continue }
      let (key, content) = (Self.hash(of: user.id), Self.hash(of: user))
      if let earlier = marked[key] {
        guard earlier != content else { continue }
      } else {
        guard isNews(user, at: batch[index].offset) else { continue }
      }
      marked[key] = content
      batch[index].prepared.identifies = true
    }
  }

  /// Notes that the provider was told of this user.
  mutating func add(_ user: EventUser, at offset: Offset) {
    guard limit > 0 else { return }
    let key = Self.hash(of: user.id)
    if let known = told[key], known.offset > offset { return }
    told[key] = Told(content: Self.hash(of: user), offset: offset)
    unwritten.insert(key)
    forgetOldest()
  }

  /// Forgets what events at this offset or after it told: they are given again.
  mutating func forget(from offset: Offset) {
    let kept = told.filter { $0.value.offset < offset }
    guard kept.count < told.count else { return }
    told = kept
    unwritten.formIntersection(kept.keys)
    // The next write is of a new file.
    file = nil
  }

  /// Writes what was told since the last call. After an error, the next call tries again.
  mutating func write() throws(WeirError) {
    guard !unwritten.isEmpty else { return }
    if file == nil || recordCount + unwritten.count > Self.mostRecords(for: told.count) { return try writeAll() }
    let records = unwritten.sorted().flatMap { user in told[user].map { Self.bytes(user, $0) } ?? [] }
    if let file {
      try calls.write(file, records, at: (recordCount + 1) * Self.recordSize)
      recordCount += records.count / Self.recordSize
    }
    unwritten = []
  }

  private mutating func writeAll() throws(WeirError) {
    let newName = name + ".new"
    try calls.unlink(newName, in: directory)
    let new = try calls.create(newName, in: directory)
    let records = told.sorted { $0.key < $1.key }.flatMap { Self.bytes($0.key, $0.value) }
    try calls.write(new, Self.header + records, at: 0)
    try calls.rename(newName, to: name, in: directory)
    file = new
    recordCount = told.count
    unwritten = []
  }

  /// The number of records at which the file is written again.
  private static func mostRecords(for users: Int) -> Int { 4 * users + 1_024 }

  /// Forgets the half of the users that the provider was told of first, once there are too many. They are told again.
  private mutating func forgetOldest() {
    guard told.count > limit else { return }
    let middle = told.values.map(\.offset).sorted()[told.count - limit / 2 - 1]
    told = told.filter { $0.value.offset > middle }
    unwritten.formIntersection(told.keys)
  }

  // MARK: Bytes

  private static func hash(of id: String) -> UInt64 { FNV1a.hash64(id.utf8) }

  /// The order of the traits does not matter.
  private static func hash(of user: EventUser) -> UInt64 {
    let content: FieldObject = ["user": .string(user.id), "traits": .object(user.traits.inOrder)]
    return FNV1a.hash64(content.taggedBytes() ?? Array(user.id.utf8))
  }

  private static var header: [UInt8] {
    var bytes = magic
    withUnsafeBytes(of: version.littleEndian) { bytes += $0 }
    return sealed(bytes + [UInt8](repeating: 0, count: 16))
  }

  private static func bytes(_ user: UInt64, _ record: Told) -> [UInt8] {
    var bytes: [UInt8] = []
    for number in [user, record.content, record.offset] { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
    return sealed(bytes + [0, 0, 0, 0])
  }

  private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
    bytes + withUnsafeBytes(of: bytes.withUnsafeBytes { crc32c($0) }.littleEndian) { Array($0) }
  }

  private static func parse(_ bytes: ArraySlice<UInt8>) -> (user: UInt64, told: Told)? {
    guard Array(bytes) == sealed(Array(bytes.dropLast(4))) else { return nil }
    let numbers = bytes.withUnsafeBytes { raw in
      (0..<3).map { UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
    }
    return (numbers[0], Told(content: numbers[1], offset: numbers[2]))
  }
}

extension FieldObject {
  /// The same fields, sorted by name, nested fields included.
  fileprivate var inOrder: FieldObject {
    FieldObject(map { Member(name: $0.name, value: $0.value.inOrder) }.sorted { $0.name < $1.name })
  }
}

extension FieldValue {
  fileprivate var inOrder: FieldValue {
    switch self {
    case .object(let object): .object(object.inOrder)
    case .array(let values): .array(values.map(\.inOrder))
    default: self
    }
  }
}
