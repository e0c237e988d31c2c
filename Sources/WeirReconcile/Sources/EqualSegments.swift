// EqualSegments: what two copies of a log have in common, found without reading an event.

import Weir

/// The sealed segments that are the same in the directories of two copies of a log.
///
/// Two raw segments are the same if their headers, the headers of all their blocks and their seals are: a block's
/// header has the checksum of the block's payload. Two batch segments are the same if their indexes and the checksums
/// of all their LZ4 blocks are. So a segment takes two reads of 160 bytes a block, or of 4 bytes a MiB. A bit that
/// flipped in a payload after the writing is for `weir verify` to find.
struct EqualSegments: Sendable {
  /// The offsets in the segments, in order.
  private(set) var offsets: [Range<Offset>] = []
  /// The number of events, without notices.
  private(set) var events: UInt64 = 0
  private(set) var times: ClosedRange<Int64>?

  init() {}

  /// Compares the segments of two directories, with so many threads.
  init(_ one: String, _ other: String, threads: Int) throws(WeirError) {
    let calls = SystemCalls()
    let directories = (try calls.openDirectory(one), try calls.openDirectory(other))
    let names = Set(try calls.names(in: directories.0)).intersection(try calls.names(in: directories.1))
      .compactMap { SegmentName($0) }.sorted()
    let found = ConditionLock<[SegmentSummary]>([])
    try Workers.forEach(names.count, threads: threads) { number throws(WeirError) in
      let name = names[number]
      guard let summary = try SegmentFile.read(name.text, as: name, in: one),
        let second = try SegmentFile.read(name.text, as: name, in: other), summary.isSame(as: second),
        let file = try calls.open(name.text, in: directories.0, forWriting: false),
        let copy = try calls.open(name.text, in: directories.1, forWriting: false)
      else { return }
      let pair = try FilePair(file, copy, calls)
      if try name.isBatch ? pair.areEqualBatches() : pair.areEqualSegments() {
        found.change(wakes: false) { $0.append(summary) }
      }
    }
    for summary in found.read({ $0 }).sorted(by: { $0.offsets.lowerBound < $1.offsets.lowerBound }) {
      // A raw segment and its batch.
      if let last = offsets.last, summary.offsets.lowerBound < last.upperBound { continue }
      offsets.append(summary.offsets)
      events += summary.events
      if let span = summary.times {
        times = min(times?.lowerBound ?? .max, span.lowerBound)...max(times?.upperBound ?? .min, span.upperBound)
      }
    }
  }
}

/// Two files that are compared at the same positions.
private struct FilePair {
  private static let blockHeaderBytes = 160
  private static let sealKind: UInt32 = 4
  private static let indexHeadBytes = 96

  private let files: (Descriptor, Descriptor)
  private let calls: SystemCalls
  /// The size of both; `nil` if the sizes differ.
  private let byteCount: Int?

  init(_ one: Descriptor, _ other: Descriptor, _ calls: SystemCalls) throws(WeirError) {
    files = (one, other)
    self.calls = calls
    let size = try calls.byteCount(of: one)
    byteCount = try calls.byteCount(of: other) == size ? size : nil
  }

  func areEqualSegments() throws(WeirError) -> Bool {
    guard let byteCount, let head = try equalBytes(512, at: 0) else { return false }
    var position = 512 + 16 * Int(head.number(at: 104, as: UInt32.self))
    guard position <= byteCount, try equalBytes(position - 512, at: 512) != nil else { return false }
    while let header = try equalBytes(Self.blockHeaderBytes, at: position),
      header.withUnsafeBytes({ crc32c(UnsafeRawBufferPointer(rebasing: $0[8...])) })
        == header.number(at: 4, as: UInt32.self)
    {
      let payload = Int(header.number(at: 36, as: UInt32.self))
      position += Self.blockHeaderBytes
      guard header.number(at: 32, as: UInt32.self) == Self.sealKind else {
        position += payload
        continue
      }
      guard position + payload == byteCount else { return false }
      return try equalBytes(payload, at: position) != nil
    }
    return false
  }

  func areEqualBatches() throws(WeirError) -> Bool {
    // The frame has to have checksums of its blocks.
    guard let byteCount, let frame = try equalBytes(15, at: 0), frame[4] == 0x78,
      let tail = try equalBytes(16, at: byteCount - 16)
    else { return false }
    let indexBytes = tail.number(at: 0, as: UInt64.self)
    guard indexBytes >= Self.indexHeadBytes, indexBytes <= byteCount,
      let index = try equalBytes(Int(indexBytes), at: byteCount - Int(indexBytes))
    else { return false }
    let blocks = Int(index.number(at: 80, as: UInt32.self))
    guard Self.indexHeadBytes + 24 * blocks + 16 == index.count,
      index.withUnsafeBytes({ bytes in
        var checksum = CRC32C()
        checksum.add(UnsafeRawBufferPointer(rebasing: bytes[..<12]))
        checksum.add(UnsafeRawBufferPointer(rebasing: bytes[16...]))
        return checksum.value
      }) == index.number(at: 12, as: UInt32.self)
    else { return false }
    for block in 0..<blocks {
      let position = index.number(at: Self.indexHeadBytes + 24 * block, as: UInt64.self)
      guard position <= byteCount, let size = try equalBytes(4, at: Int(position)),
        // The highest bit says that the bytes are stored as they are.
        try equalBytes(4, at: Int(position) + 4 + Int(size.number(at: 0, as: UInt32.self) & 0x7fff_ffff)) != nil
      else { return false }
    }
    return true
  }

  /// The bytes at a position, if both files have all of them, and the same.
  private func equalBytes(_ count: Int, at position: Int) throws(WeirError) -> [UInt8]? {
    guard position >= 0 else { return nil }
    let bytes = try calls.read(files.0, count, at: position)
    guard bytes.count == count else { return nil }
    return try calls.read(files.1, count, at: position) == bytes ? bytes : nil
  }
}

extension [UInt8] {
  /// The little-endian number at a position.
  fileprivate func number<Number: FixedWidthInteger & BitwiseCopyable>(at position: Int, as type: Number.Type) -> Number
  {
    withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: type)) }
  }
}
