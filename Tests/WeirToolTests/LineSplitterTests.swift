// LineSplitterTests: the lines are the same, however the reads fall.

#if Tool
  import Testing

  @testable import WeirTool

  private func split(_ reads: [[UInt8]], limit: Int = LineSplitter.lineLimit) -> [[UInt8]] {
    var splitter = LineSplitter(limit: limit)
    var lines: [[UInt8]] = []
    func take(_ chunk: LineChunk?) {
      guard let chunk else { return }
      #expect(!chunk.lines.isEmpty)
      lines += chunk.lines.map { Array(chunk.bytes[$0]) }
    }
    for read in reads { take(splitter.split(read)) }
    take(splitter.finish())
    return lines
  }

  private func split(_ text: String) -> [String] {
    split([Array(text.utf8)]).map { String(decoding: $0, as: UTF8.self) }
  }

  struct LineSplitterTests {
    @Test func `a text is split at its line feeds`() {
      #expect(split("") == [])
      #expect(split("\n") == [""])
      #expect(split("a") == ["a"])
      #expect(split("a\n") == ["a"])
      #expect(split("a\nb") == ["a", "b"])
      #expect(split("\n\na\n\n") == ["", "", "a", ""])
      #expect(split("a\r\nb\r\n") == ["a\r", "b\r"])
      #expect(split("\0\n\u{85}\n") == ["\0", "\u{85}"])
    }

    /// All ways to cut a short input into three reads.
    @Test func `the lines are the same however the reads are cut`() {
      let input = Array("one\n\ntwo\r\nthree".utf8)
      let expected = split([input])
      for first in 0...input.count {
        for second in first...input.count {
          let reads = [Array(input[..<first]), Array(input[first..<second]), Array(input[second...])]
          #expect(split(reads.filter { !$0.isEmpty }) == expected)
        }
      }
    }

    /// A line at and over the limit, read byte by byte and at once: cut at the limit, and the lines around it whole.
    @Test(arguments: [1, 3, 100]) func `a line over the limit is cut at it`(readSize: Int) {
      let input = Array("ab\n12345\n123456\n1234567890\ncd\n123456789".utf8)
      let reads = stride(from: 0, to: input.count, by: readSize).map {
        Array(input[$0..<min($0 + readSize, input.count)])
      }
      let lines = split(reads, limit: 6).map { String(decoding: $0, as: UTF8.self) }
      // A line that was read as a whole is not cut: the limit bounds what is kept between reads.
      let uncut = readSize == 100
      #expect(lines == ["ab", "12345", "123456", uncut ? "1234567890" : "123456", "cd", "123456"])
    }
  }
#endif
