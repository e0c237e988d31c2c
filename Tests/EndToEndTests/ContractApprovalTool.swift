// ContractApprovalTool.swift: `weir contract diff --approvals` and `weir contract approve`: what fails, what is
// written, exit codes.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct ContractApprovalTool {
    private static func contract(_ scratch: Scratch, _ name: String, _ fields: String) throws -> String {
      try scratch.file(
        name, "{\"contract\": \"c\", \"version\": \"1\", \"events\": {\"e\": {\"fields\": {\(fields)}}}}")
    }

    @Test func `every change fails until the file says who approved it, breaking changes apart`() throws {
      let scratch = try Scratch()
      let old = try Self.contract(scratch, "old.json", #""a": {"type": "integer"}, "c": {}"#)
      let new = try Self.contract(scratch, "new.json", #""a": {"type": "number"}, "b": {}"#)
      let file = scratch("approvals.jsonl")
      let diff = ["contract", "diff", old, new, "--approvals", file]
      let approve = ["contract", "approve", old, new, "--approvals", file, "--by"]

      let none = try Tool.run(diff)
      #expect(none.code == 1, "\(none.errors)")
      #expect(
        none.text == """
          fine: e: a: type changed: it was integer and is number (not approved)
          breaking: e: c: field removed: it is flagged as unknown now (not approved)
          fine: e: b: field added: it may be missing (not approved)
          3 differences, 1 breaking, 3 not approved

          """)
      #expect(!FileManager.default.fileExists(atPath: file), "a comparison writes nothing")

      let some = try Tool.run(approve + ["Ada", "--reason", "asked for"])
      #expect(some.code == 0, "\(some.errors)")
      #expect(
        some.text == """
          fine: e: a: type changed: it was integer and is number
          fine: e: b: field added: it may be missing
          breaking: e: c: field removed: it is flagged as unknown now (not approved)
          2 approved, 1 not approved that are breaking; --breaking approves those

          """)
      let left = try Tool.run(diff + ["--format", "json"])
      #expect(left.code == 1)
      let report = try #require(try JSONSerialization.jsonObject(with: left.output) as? [String: Any])
      #expect(report["unapproved"] as? Int == 1)
      let changes = try #require(report["changes"] as? [[String: Any]])
      #expect(changes.map { $0["approved_by"] as? [String] } == [["Ada"], [], ["Ada"]])
      let help = try Tool.run("contract", "diff", "--help").text
      for key in Set(report.keys).union(changes.flatMap(\.keys)) { #expect(help.contains(key), "\(key)") }

      #expect(try Tool.run(approve + ["Bob", "--breaking"]).code == 0)
      let all = try Tool.run(diff)
      #expect(all.code == 0, "a breaking change that is approved does not fail: \(all.text)")
      #expect(all.text.contains("breaking: e: c: field removed: it is flagged as unknown now (approved by Bob)\n"))
      let bytes = try Files.read(file)
      #expect(bytes.split(separator: UInt8(ascii: "\n")).count == 3)
      #expect(try Tool.run(approve + ["Bob"]).text == "0 approved\n")
      #expect(try Files.read(file) == bytes, "what is approved already is not approved again")

      let other = try Self.contract(scratch, "other.json", #""a": {"type": "number"}, "b": {"type": "bool"}"#)
      let different = try Tool.run("contract", "diff", old, other, "--approvals", file)
      #expect(different.code == 1)
      #expect(different.text.contains("fine: e: b: field added: it may be missing (not approved)\n"))
      #expect(try Tool.run("contract", "diff", old, old, "--approvals", file).code == 0, "nothing changed")
    }

    @Test func `an approval of nothing fails, and says what is left and how it is approved`() throws {
      let scratch = try Scratch()
      let old = try Self.contract(scratch, "old.json", #""c": {}"#)
      let new = try Self.contract(scratch, "new.json", "")
      let file = scratch("approvals.jsonl")
      let approve = ["contract", "approve", old, new, "--approvals", file, "--by", "Ada"]
      let nothing = try Tool.run(approve)
      #expect(nothing.code == 1, "\(nothing.errors)")
      #expect(
        nothing.text == """
          breaking: e: c: field removed: it is flagged as unknown now (not approved)
          0 approved, 1 not approved that are breaking; --breaking approves those

          """)
      #expect(!FileManager.default.fileExists(atPath: file), "nothing is written")
      #expect(try Tool.run(approve + ["--breaking"]).code == 0)
      #expect(try Tool.run(approve).code == 0, "every difference has an approval")

      let fine = try Self.contract(scratch, "fine.json", #""c": {}, "d": {}"#)
      let other = try Tool.run(
        "contract", "approve", old, fine, "--approvals", scratch("others.jsonl"), "--by", "Ada", "--breaking")
      #expect(other.code == 1)
      #expect(other.text.contains("\n0 approved, 1 not approved that are not breaking; leave --breaking out"))
      #expect(try Tool.run("contract", "approve", "--help").text.contains("nothing is approved"))
    }

    @Test func `a damaged file and a file that can't be written are errors`() throws {
      let scratch = try Scratch()
      let old = try Self.contract(scratch, "old.json", "")
      let new = try Self.contract(scratch, "new.json", #""b": {}"#)
      let file = scratch("approvals.jsonl")
      #expect(try Tool.run("contract", "approve", old, new, "--approvals", file, "--by", "Ada").code == 0)
      let good = try Files.read(file)
      _ = try scratch.file("approvals.jsonl", good + Data("{\"contract\": \n".utf8))
      for command in [["diff"], ["approve", "--by", "Ada"]] {
        let outcome = try Tool.run(["contract", command[0], old, new, "--approvals", file] + command.dropFirst())
        #expect(outcome.code == 2)
        #expect(outcome.text.isEmpty)
        #expect(outcome.complaints.first?.hasPrefix("weir: \(file): line 2: the JSON can't be read") == true)
        #expect(outcome.complaints.last == "weir: \(file) is no file of approvals; correct the place above")
      }
      #expect(try Files.read(file) == good + Data("{\"contract\": \n".utf8), "a damaged file is not written over")
      let nowhere = try Tool.run("contract", "approve", old, new, "--approvals", scratch("none/a"), "--by", "Ada")
      #expect(nowhere.code == 2)
      #expect(nowhere.complaints.count == 1)
      let nobody = try Tool.run("contract", "approve", old, new, "--approvals", file, "--by", "")
      #expect(nobody.code == 2)
      #expect(nobody.errors.contains("--by is empty"))
    }
  }
}
