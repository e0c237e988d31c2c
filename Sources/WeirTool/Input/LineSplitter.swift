// LineSplitter.swift: cuts a stream of bytes into lines, however the reads fall. A line ends at a newline, which is not
// part of it; a carriage return before it is. The last line counts without a newline too, and so do empty lines.

#if Tool
  import Glibc

  /// Whole lines, one after the other, as they were read together.
  struct LineChunk: Sendable {
    let bytes: [UInt8]
    /// Where each line lies in `bytes`.
    let lines: [Range<Int>]
  }

  struct LineSplitter {
    /// Of a longer line only this much is kept. It is more than any event may have (1 MiB), so that the log refuses and
    /// counts such a line as it does every one above its own limit, and memory stays bounded whatever the input is.
    static let lineLimit = 2 << 20

    private let limit: Int
    /// The beginning of a line whose end has not been read yet.
    private var unfinished: [UInt8] = []
    /// The unfinished line has reached the limit: the rest of it is passed over.
    private var isCut = false

    init(limit: Int = LineSplitter.lineLimit) { self.limit = limit }

    /// Takes in what was read and answers the lines that it completes; nil if it completes none.
    mutating func split(_ read: [UInt8]) -> LineChunk? {
      guard let end = read.lastIndex(of: 0x0A) else {
        keep(read[...])
        return nil
      }
      var bytes = unfinished
      bytes.reserveCapacity(unfinished.count + end + 1)
      var rest = read[...end]
      if isCut, let newline = rest.firstIndex(of: 0x0A) { rest = rest[newline...] }
      bytes.append(contentsOf: rest)
      unfinished = []
      isCut = false
      keep(read[(end + 1)...])
      return LineChunk(bytes: bytes, lines: lineRanges(in: bytes))
    }

    /// The line at the end of the input that has no newline, if there is one.
    mutating func finish() -> LineChunk? {
      guard !unfinished.isEmpty else { return nil }
      let bytes = unfinished
      unfinished = []
      isCut = false
      return LineChunk(bytes: bytes, lines: [0..<bytes.count])
    }

    private mutating func keep(_ part: ArraySlice<UInt8>) {
      unfinished.append(contentsOf: part.prefix(limit - unfinished.count))
      isCut = unfinished.count == limit
    }

    /// memchr instead of a loop: this runs over every byte of the input, in one thread for all the others.
    private func lineRanges(in bytes: [UInt8]) -> [Range<Int>] {
      var lines: [Range<Int>] = []
      lines.reserveCapacity(bytes.count / 128 + 1)
      bytes.withUnsafeBytes { buffer in
        guard let start = buffer.baseAddress else { return }
        var from = 0
        while from < buffer.count, let found = memchr(start + from, 0x0A, buffer.count - from) {
          let end = UnsafeRawPointer(found) - start
          lines.append(from..<end)
          from = end + 1
        }
      }
      return lines
    }
  }
#endif
