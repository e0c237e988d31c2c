// Numbered.swift: input whose every line names its own place, so that what is found in a log can be held against what
// went in without any other record of it.
import Foundation

enum Numbered {
  /// Line `number` (from 1): the number, and filler whose length follows from the number. Most lines are short, some
  /// are longer than a page, a few nearly as long as an event may be, so that lanes wrap and blocks fill in every way.
  static func line(_ number: Int) -> String {
    String(decoding: bytes(number), as: UTF8.self)
  }

  static func bytes(_ number: Int) -> [UInt8] {
    var bytes = Array("\(number) ".utf8)
    let start = number % 64
    bytes.append(contentsOf: filler[start..<start + fillerCount(number)])
    return bytes
  }

  /// Lines `range`, each ended by a newline.
  static func lines(_ range: ClosedRange<Int>) -> Data {
    var data = Data()
    for number in range {
      data.append(contentsOf: bytes(number))
      data.append(UInt8(ascii: "\n"))
    }
    return data
  }

  /// The number that a line begins with; nil if the rest is not what that number asks for.
  static func number(of text: String) -> Int? {
    guard let number = Int(text.prefix { $0 != " " }), number > 0, text == line(number) else { return nil }
    return number
  }

  private static func fillerCount(_ number: Int) -> Int {
    let mixed = Int((UInt64(number) &* 0x9e37_79b9_7f4a_7c15) >> 33)
    switch mixed % 1000 {
    case 0: return 60_000 + mixed % 5000
    case 1...5: return 4000 + mixed % 4000
    case 6...500: return mixed % 32
    default: return mixed % 160
    }
  }

  private static let filler: [UInt8] = (0..<66_000).map { UInt8(ascii: "!") + UInt8(($0 &* 31 + $0 / 94) % 94) }
}
