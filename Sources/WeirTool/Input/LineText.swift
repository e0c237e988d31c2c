// LineText: the exact bytes of an input line as the value of a field. A line that is not UTF-8 stays bytes and is not
// repaired, so that the line is not changed.

#if Tool
  import Weir

  extension [UInt8] {
    init(_ span: Span<UInt8>) {
      self = span.withUnsafeBufferPointer { Array($0) }
    }
  }

  enum LineText: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])

    init(_ line: Span<UInt8>) {
      if let text = String(utf8: line) {
        self = .text(text)
      } else {
        self = .bytes([UInt8](line))
      }
    }
  }
#endif
