// AssociationFile: stores the user that a provider was told of last, beside the provider's cursor.
//
// The event that tells of the user may be removed once it is delivered, and a restart must tell the provider again. The
// file is `cursors/NAME.user`. It is written under another name and renamed, so it is either complete or absent:
//
//      0  8   magic "WEIRUSER"
//      8  4   version, 1
//     12  4   CRC32C of the rest of the file
//     16  4   number of changes, at most 2: the cursor on disk names one of them
//     then for each change
//         8   offset of the change
//         4   number of bytes that follow; 0 if there was no user from there on
//         …   a tagged object with the id `user` and the `traits`, with sensitive values replaced

import Weir

/// The last changes of the default user that one provider was told of. Belongs to the provider's worker.
struct AssociationFile {
  private static let magic: [UInt8] = Array("WEIRUSER".utf8)
  private static let version: UInt32 = 1
  private static let maximumBytes = 16 << 20

  private let name: String
  private let calls: SystemCalls
  private let directory: Descriptor
  private let logDirectory: String
  /// The changes in the file, in order.
  private var written: [HeldAssociation] = []
  /// The changes told since, in order.
  private var told: [HeldAssociation] = []

  /// Reads the file, if there is one. A damaged file counts as missing; then the log is read.
  init(_ provider: String, of logDirectory: String, calls: SystemCalls) throws(WeirError) {
    name = provider + ".user"
    self.calls = calls
    self.logDirectory = logDirectory
    directory = try calls.openDirectory(Cursor.directoryName, in: try calls.openDirectory(logDirectory))
    guard let file = try calls.open(name, in: directory, forWriting: false) else { return }
    written = Self.parse(try calls.read(file, Self.maximumBytes, at: 0)) ?? []
  }

  /// Returns the change at this offset, to be told again. Returns `nil` if neither the file nor the log has the change.
  func find(_ offset: Offset?) -> HeldAssociation? {
    guard let offset else { return nil }
    var found = written.first { $0.offset == offset }
    if found == nil, let event = try? EventReader(directory: logDirectory, from: offset).next(),
      event.offset == offset
    {
      found = HeldAssociation(event, bytes: 0)
    }
    found?.isRepeated = true
    return found
  }

  /// Returns the offset of the last change below `position`, given the change that the cursor names now, and writes that
  /// change, because the cursor is about to name it. Returns `nil` if neither the log, from `first` on, nor the file has
  /// one.
  mutating func back(from named: Offset?, before position: Offset, first: Offset) throws(WeirError) -> Offset? {
    guard let known = named, known >= position else { return named }
    // Where the log has events, the log decides: the file may be of an earlier log.
    let older = (written + told).filter { $0.offset < min(first, position) }.max { $0.offset < $1.offset }
    guard let last = try search(first, position) ?? older else { return nil }
    add(last)
    try write(upTo: last.offset, named: known)
    return last.offset
  }

  /// Reads the log backwards, from `end` to `first`, up to a change of the default user.
  private func search(_ first: Offset, _ end: Offset) throws(WeirError) -> HeldAssociation? {
    var end = end
    var size: Offset = 1 << 12
    while end > first {
      let start = end - min(size, end - first)
      let reader = try EventReader(directory: logDirectory, from: start)
      var found: HeldAssociation?
      while let event = try reader.next(), event.offset < end {
        if event.association != nil { found = HeldAssociation(event, bytes: 0) }
      }
      if let found { return found }
      end = start
      size = min(size * 2, 1 << 20)
    }
    return nil
  }

  /// Notes that the provider was told of this change.
  mutating func add(_ change: HeldAssociation) {
    told.append(change)
    // The cursor names the last settled change, and changes are settled one after the other.
    if told.count > 2 { told.removeFirst(told.count - 2) }
  }

  /// Writes the change that the cursor is about to name, and the change that the cursor names now.
  mutating func write(upTo offset: Offset?, named: Offset?) throws(WeirError) {
    guard let offset, !written.contains(where: { $0.offset == offset }),
      let next = told.last(where: { $0.offset == offset })
    else { return }
    let all = written.filter { $0.offset == named } + [next]
    let newName = name + ".new"
    try calls.unlink(newName, in: directory)
    let file = try calls.create(newName, in: directory)
    try calls.write(file, Self.bytes(of: all), at: 0)
    try calls.syncData(file)
    try calls.rename(newName, to: name, in: directory)
    try calls.syncDirectory(directory)
    written = all
    told.removeAll { $0.offset <= offset }
  }

  // MARK: Bytes

  private static func bytes(of changes: [HeldAssociation]) -> [UInt8] {
    var body: [UInt8] = []
    func put<Number: FixedWidthInteger>(_ number: Number) {
      withUnsafeBytes(of: number.littleEndian) { body += $0 }
    }
    put(UInt32(changes.count))
    for change in changes {
      let object = change.user.map { user in
        let whole: FieldObject = ["user": .string(user.id), "traits": .object(user.traits)]
        // If the traits are nested too deeply for a reader, the id is stored alone.
        let name: FieldObject = ["user": .string(user.id)]
        return whole.taggedBytes() ?? name.taggedBytes() ?? []
      }
      put(change.offset)
      put(UInt32(object?.count ?? 0))
      body += object ?? []
    }
    var bytes = magic
    withUnsafeBytes(of: version.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: body.withUnsafeBytes { crc32c($0) }.littleEndian) { bytes += $0 }
    return bytes + body
  }

  private static func parse(_ bytes: [UInt8]) -> [HeldAssociation]? {
    var place = 0
    func get<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
      let size = MemoryLayout<Number>.size
      guard bytes.count - place >= size else { return nil }
      defer { place += size }
      return bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: type)) }
    }
    guard bytes.starts(with: magic) else { return nil }
    place = magic.count
    guard get(UInt32.self) == version, let checksum = get(UInt32.self),
      checksum == bytes[place...].withUnsafeBytes({ crc32c($0) }), let count = get(UInt32.self), count <= 2
    else { return nil }
    var changes: [HeldAssociation] = []
    for _ in 0..<count {
      guard let offset = get(Offset.self), let size = get(UInt32.self), bytes.count - place >= size else { return nil }
      let object = bytes[place..<place + Int(size)].withUnsafeBytes { FieldObject(taggedBytes: $0) }
      place += Int(size)
      var change = HeldAssociation(offset: offset, bytes: 0, user: nil)
      if size > 0 {
        guard case .string(let id)? = object?["user"] else { return nil }
        var traits = FieldObject()
        if case .object(let known)? = object?["traits"] { traits = known }
        change.user = EventUser(id: id, traits: traits)
      }
      changes.append(change)
    }
    return changes
  }
}

extension HeldAssociation {
  /// Reads the change from an event, with sensitive traits replaced. Returns `nil` for other events.
  init?(_ event: StoredEvent, bytes: Int) {
    switch event.redacted().association {
    case nil: return nil
    case .associated(let user): self.init(offset: event.offset, bytes: bytes, user: user)
    case .disassociated: self.init(offset: event.offset, bytes: bytes, user: nil)
    }
  }
}
