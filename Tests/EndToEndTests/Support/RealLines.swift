// RealLines.swift: real web requests, each numbered, so that what arrives anywhere can be held against what went in
// without any other record of it. A sample of 10,000, over and over.
import Foundation

struct RealLines: Sendable {
  private let sample: [String]

  init() throws {
    sample = try RequestLine.sampleLines()
  }

  /// Line `number`, from 1.
  func line(_ number: Int) -> String { "\(number) \(sample[(number - 1) % sample.count])" }

  /// Lines `range`, each ended by a newline.
  func lines(_ range: Range<Int>) -> Data {
    var data = Data()
    for number in range {
      data.append(contentsOf: line(number).utf8)
      data.append(UInt8(ascii: "\n"))
    }
    return data
  }

  /// The number that a line begins with; nil if the rest is not what that number asks for.
  func number(of text: String) -> Int? {
    guard let number = Int(text.prefix { $0 != " " }), number > 0, text == line(number) else { return nil }
    return number
  }
}
