// LineSplitter: splits a stream of bytes into lines, independent of the sizes of the reads. A line ends at a
// newline. The newline is not part of the line; a carriage return before the newline is. Empty lines count, and so does
// a last line without a newline.

#if Tool
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// Whole lines that were read together.
  struct LineChunk: Sendable {
    let bytes: [UInt8]
    /// The range of each line in `bytes`.
    let lines: [Range<Int>]
  }

  struct LineSplitter {
    /// The number of bytes that are kept of a longer line. The number is larger than the limit of an event (1 MiB), so
    /// the log refuses and counts such a line like every oversized event, and memory stays bounded for any input.
    static let lineLimit = 2 << 20

    private let limit: Int
    /// The beginning of a line whose end has not been read yet.
    private var unfinished: [UInt8] = []
    /// Whether the unfinished line has reached the limit. The rest of the line is skipped.
    private var isCut = false

    init(limit: Int = LineSplitter.lineLimit) { self.limit = limit }

    /// Adds bytes that were read. Returns the lines that the bytes complete, or `nil` if there are none.
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

    /// Returns the last line of the input if the line has no newline.
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

    /// Returns the ranges of the lines. Uses memchr instead of a loop, because one thread searches every byte of the
    /// input for all other threads.
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
