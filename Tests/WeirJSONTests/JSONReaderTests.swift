// JSONReaderTests: what the tool's tests of lines do not see: limits that its lines fix, and where a text is wrong.

import TestSupport
import Testing

@testable import Weir
@testable import WeirJSON

struct JSONReaderTests {
  private func read(_ text: String, _ limits: JSONReader.Limits = .init(depth: 4)) throws -> FieldValue {
    try JSONReader.read(Array(text.utf8).span, limits: limits)
  }

  @Test func `any value may stand alone`() throws {
    #expect(try read(" 7 ") == .int(7))
    #expect(try read("\"x\"") == "x")
    #expect(try read("null") == .null)
    #expect(try read("[]") == [])
  }

  @Test func `the depth counts what is around a value`() throws {
    #expect(try read("[[[[[7]]]]]") == [[[[[7]]]]])
    #expect(throws: JSONProblem(message: "values nest too deep", position: 6, line: 1)) { try read("[[[[[[7]]]]]]") }
    #expect(throws: JSONProblem.self) { try read("[[[[{\"a\":[]}]]]]") }
    #expect(throws: JSONProblem.self) { try read(String(repeating: "[", count: 1 << 20)) }
  }

  @Test func `equal names are kept where they are allowed`() throws {
    let text = #"{"a":1,"b":2,"a":3}"#
    #expect(throws: JSONProblem.self) { try read(text) }
    let value = try read(text, .init(depth: 4, allowsEqualNames: true))
    #expect(value == .object(FieldObject([("a", 1), ("b", 2), ("a", 3)])))
  }

  @Test func `names have a limit where one is set`() throws {
    #expect(throws: JSONProblem.self) { try read(#"{"abc":1}"#, .init(depth: 1, nameBytes: 2)) }
    #expect(try read(#"{"ab":1}"#, .init(depth: 1, nameBytes: 2)) == ["ab": 1])
  }

  @Test(arguments: [
    ("", 0), ("[1,", 3), ("[1 2]", 3), ("{\"a\" 1}", 5), ("\"abc", 4), ("tru", 3), ("[1]]", 3), ("01", 2),
    ("\"\\x\"", 3),
  ])
  func `a problem says where it is`(text: String, position: Int) {
    #expect {
      try read(text)
    } throws: { error in
      (error as? JSONProblem)?.position == position && !"\(error)".isEmpty
    }
  }
}
