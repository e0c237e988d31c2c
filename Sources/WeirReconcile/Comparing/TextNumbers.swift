// TextNumbers: numbers for texts of which there are few, such as the names of events.

import Synchronization

/// Numbers for texts, from 1 on. Beyond 65,534 texts all further ones share a number.
///
/// **Threads.** Any thread may call any member. A ``Reader`` of a thread of its own takes no lock for a known text.
final class TextNumbers: Sendable {
  private static let others = UInt16.max

  private struct State {
    var numbers: [String: UInt16] = [:]
    var texts: [String] = []
  }

  private let state = Mutex(State())

  /// The number of a text.
  func number(of text: String) -> UInt16 {
    state.withLock { state in
      if let number = state.numbers[text] { return number }
      guard state.texts.count < Int(Self.others) - 1 else { return Self.others }
      state.texts.append(text)
      state.numbers[text] = UInt16(state.texts.count)
      return UInt16(state.texts.count)
    }
  }

  /// The text of a number; `nil` for the number that further texts share, and for 0.
  func text(of number: UInt16) -> String? {
    state.withLock { number > 0 && Int(number) <= $0.texts.count ? $0.texts[Int(number) - 1] : nil }
  }

  /// The texts, in the order of their numbers.
  var texts: [String] {
    get { state.withLock { $0.texts } }
    set {
      state.withLock { state in
        state.texts = newValue
        state.numbers = Dictionary(newValue.enumerated().map { ($1, UInt16($0 + 1)) }) { first, _ in first }
      }
    }
  }

  /// One thread's way to the numbers.
  struct Reader {
    private let numbers: TextNumbers
    private var known: [String: UInt16] = [:]

    init(_ numbers: TextNumbers) { self.numbers = numbers }

    mutating func number(of text: String) -> UInt16 {
      if let number = known[text] { return number }
      let number = numbers.number(of: text)
      if known.count < Int(TextNumbers.others) { known[text] = number }
      return number
    }
  }
}
