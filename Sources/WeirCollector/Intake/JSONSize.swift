// JSONSize: how much a JSON text will take in memory, found before it is read.

#if Collector
  enum JSONSize {
    /// What a value takes in memory once it is read, roughly: a number of one digit is two bytes of text, and takes
    /// tens of bytes then.
    static let bytesOfValue = 64

    /// At least as many values as a text has that can be read as JSON, or as JSON on lines; a name is not counted
    /// beside its value. One pass, and no memory.
    static func values(in text: [UInt8]) -> Int {
      var count = 1
      var isInString = false
      var isEscaped = false
      text.withUnsafeBufferPointer { text in
        for byte in text {
          if isInString {
            if isEscaped {
              isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
              isEscaped = true
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n") {
              // No string goes on over a line's end: whoever reads it ends there, or with the line.
              isInString = false
              count += byte == UInt8(ascii: "\n") ? 1 : 0
            }
            continue
          }
          switch byte {
          case UInt8(ascii: "\""): isInString = true
          case UInt8(ascii: ","), UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\n"): count += 1
          default: break
          }
        }
      }
      return count
    }
  }
#endif
