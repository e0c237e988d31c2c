// SessionFile: the sessions of a log's users, so that a session survives the process: `sessions/users`.
//
// The file is a header and then records that are appended. Of several records of a user, the last counts. The file is
// written again under another name and renamed once most of its records are outdated, or once it would be larger than
// its limit. It is not synced: it survives a kill, and after a power cut a session may begin anew.
//
//      header                                   record
//      0  8   magic "WEIRSESS"                  0  4   bytes of the user's id, which follow the record's head
//      8  4   version, 1                        4  4   CRC32C of the rest of the record
//     12  4   0                                 8  8   number of the session, counted for each user from 1
//                                              16  8   beginning, in nanoseconds since 1970
//                                              24  8   last activity, in nanoseconds since 1970
//                                              32  8   id of the session
//                                              40  8   1 if the session is open, 0 if it has ended
//                                              48  …   the user's id, in UTF-8

import Weir

/// The file of sessions. Belongs to whoever holds the lock of the sessions.
struct SessionFile {
  static let directoryName = "sessions"
  private static let name = "users"
  private static let magic: [UInt8] = Array("WEIRSESS".utf8)
  private static let version: UInt32 = 1
  private static let headSize = 48

  private let byteLimit: Int
  private let calls: SystemCalls
  private let directory: Descriptor
  private var file: Descriptor?
  private var end = 0
  private var recordCount = 0
  /// The reason why the sessions in the file are not known; `nil` if they are.
  private(set) var error: WeirError?

  /// Opens the file and returns the sessions in it, or none if it is missing or no file of sessions. A damaged record
  /// ends the reading. A file that is larger than the limit is not read: see ``error``.
  static func open(
    in logDirectory: String, byteLimit: Int, calls: SystemCalls
  ) throws(WeirError) -> (file: SessionFile, sessions: [Session]) {
    let log = try calls.openDirectory(logDirectory)
    try calls.makeDirectory(directoryName, in: log)
    var opened = SessionFile(
      byteLimit: byteLimit, calls: calls, directory: try calls.openDirectory(directoryName, in: log))
    let sessions = try opened.read()
    return (opened, sessions)
  }

  private init(byteLimit: Int, calls: SystemCalls, directory: Descriptor) {
    self.byteLimit = byteLimit
    self.calls = calls
    self.directory = directory
  }

  private mutating func read() throws(WeirError) -> [Session] {
    guard let found = try calls.open(Self.name, in: directory) else { return [] }
    let size = try calls.byteCount(of: found)
    guard size <= byteLimit else {
      error = tooLarge(size)
      return []
    }
    let bytes = try calls.read(found, size, at: 0)
    guard bytes.starts(with: Self.header) else { return [] }
    var sessions: [String: Session] = [:]
    var place = Self.header.count
    while let (session, next) = Self.parse(bytes, at: place) {
      sessions[session.user] = session
      recordCount += 1
      place = next
    }
    file = found
    end = place
    return Array(sessions.values)
  }

  /// Has the file written anew by the next write.
  mutating func outdate() { file = nil }

  /// Appends these sessions of so many known. Returns `false`, and writes nothing, if the file has to be written anew:
  /// most of its records would be outdated, or it would be too large.
  mutating func append(_ changed: [Session], of known: Int) throws(WeirError) -> Bool {
    guard let file, recordCount + changed.count <= 4 * known + 1_024 else { return false }
    guard end + Self.size(of: changed) <= byteLimit else { return false }
    let bytes = changed.flatMap(Self.bytes)
    try calls.write(file, bytes, at: end)
    end += bytes.count
    recordCount += changed.count
    return true
  }

  private func tooLarge(_ size: Int) -> WeirError {
    WeirError(
      .limit,
      "\(directory.path)/\(Self.name) with \(size) bytes is above the limit of \(byteLimit) bytes; set a lower limit of "
        + "users, or use shorter ids", path: directory.path)
  }

  private static func size(of sessions: some Collection<Session>) -> Int {
    sessions.reduce(0) { $0 + headSize + $1.user.utf8.count }
  }

  /// Writes the file anew, with these sessions alone.
  mutating func rewrite(_ sessions: [Session]) throws(WeirError) {
    let size = Self.header.count + Self.size(of: sessions)
    guard size <= byteLimit else {
      // No later process would read a larger file, and the present one has sessions that have ended since.
      try calls.unlink(Self.name, in: directory)
      file = nil
      throw tooLarge(size)
    }
    let newName = Self.name + ".new"
    try calls.unlink(newName, in: directory)
    let new = try calls.create(newName, in: directory)
    let bytes = Self.header + sessions.flatMap(Self.bytes)
    try calls.write(new, bytes, at: 0)
    try calls.rename(newName, to: Self.name, in: directory)
    file = new
    end = bytes.count
    recordCount = sessions.count
  }

  // MARK: Bytes

  private static var header: [UInt8] {
    magic + bytes(of: version) + [0, 0, 0, 0]
  }

  private static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private static func bytes(_ session: Session) -> [UInt8] {
    let user = Array(session.user.utf8)
    let rest =
      bytes(of: session.number) + bytes(of: session.began.nanosecondsSince1970)
      + bytes(of: session.lastActive.nanosecondsSince1970) + bytes(of: session.number64)
      + bytes(of: session.isOpen ? UInt64(1) : 0) + user
    return bytes(of: UInt32(user.count)) + bytes(of: rest.withUnsafeBytes { crc32c($0) }) + rest
  }

  private static func parse(_ bytes: [UInt8], at place: Int) -> (Session, next: Int)? {
    guard bytes.count - place >= headSize else { return nil }
    func number<Number: FixedWidthInteger>(_ type: Number.Type, _ offset: Int) -> Number {
      bytes.withUnsafeBytes {
        Number(littleEndian: $0.loadUnaligned(fromByteOffset: place + offset, as: type))
      }
    }
    let next = place + headSize + Int(number(UInt32.self, 0))
    guard next <= bytes.count, bytes[(place + 8)..<next].withUnsafeBytes({ crc32c($0) }) == number(UInt32.self, 4)
    else { return nil }
    var session = Session(
      id64: number(UInt64.self, 32), number: number(UInt64.self, 8),
      user: String(decoding: bytes[(place + headSize)..<next], as: UTF8.self),
      began: Timestamp(nanosecondsSince1970: number(Int64.self, 16)))
    session.lastActive = Timestamp(nanosecondsSince1970: number(Int64.self, 24))
    session.isOpen = number(UInt64.self, 40) == 1
    return (session, next)
  }
}
