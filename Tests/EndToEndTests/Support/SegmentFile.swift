// SegmentFile.swift: the parts of a segment, found by FileFormat.md alone, so that a test knows which byte it damages
// and which events may be lost for it.
import Foundation

struct SegmentFile {
  enum Part: Equatable {
    case header
    case blockHeader(kind: UInt32)
    case payload(kind: UInt32)
  }

  struct Block {
    var range: Range<Int>
    var kind: UInt32
    /// The offsets that it holds.
    var offsets: Range<UInt64>
  }

  /// The low byte of the format's major version, in the segment's header.
  static let majorVersion = 8
  static let blockHeaderBytes = 160
  static let events: UInt32 = 1
  static let definitions: UInt32 = 2
  static let notices: UInt32 = 3
  static let seal: UInt32 = 4

  let headerBytes: Int
  let blocks: [Block]
  /// Where the last block ends: a sealed segment ends there, an active one goes on with zeros.
  var end: Int { blocks.last?.range.upperBound ?? headerBytes }

  init(_ bytes: Data) throws {
    guard bytes.prefix(8) == Data("WEIRSEGM".utf8) else { throw ChildProblem(description: "no segment") }
    headerBytes = Int(bytes.number(at: 12, UInt32.self))
    var at = headerBytes
    var blocks: [Block] = []
    while at + Self.blockHeaderBytes <= bytes.count, bytes[at..<at + 4] == Data("WBLK".utf8) {
      let end = at + Self.blockHeaderBytes + Int(bytes.number(at: at + 36, UInt32.self))
      let base = bytes.number(at: at + 48, UInt64.self)
      let count = UInt64(bytes.number(at: at + 44, UInt32.self))
      blocks.append(Block(range: at..<end, kind: bytes.number(at: at + 32, UInt32.self), offsets: base..<base + count))
      at = end
    }
    self.blocks = blocks
  }

  /// What a byte of the file belongs to, and the offsets that are lost if it is damaged. Definitions are in the seal
  /// (or in a dead process's ring) once more, so that no event is lost with their block.
  func part(at position: Int) -> (part: Part, lost: Range<UInt64>) {
    guard position >= headerBytes, let block = blocks.first(where: { $0.range.contains(position) }) else {
      return (.header, 0..<0)
    }
    let inHeader = position < block.range.lowerBound + Self.blockHeaderBytes
    return (inHeader ? .blockHeader(kind: block.kind) : .payload(kind: block.kind), block.offsets)
  }
}

extension Data {
  /// A little-endian number. For data that starts at index 0.
  func number<Number: FixedWidthInteger>(at position: Int, _ type: Number.Type) -> Number {
    var value: Number = 0
    for index in 0..<MemoryLayout<Number>.size {
      value |= Number(truncatingIfNeeded: self[position + index]) << (8 * index)
    }
    return value
  }
}
