// ContractCodeTool.swift: `weir contract swift` and `weir contract schema`: what is printed and written, and what the
// compiler says of the code.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct ContractCodeTool {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()

    /// The contract of the guide.
    private static let messages = root.appendingPathComponent("Tests/Contract/messages.json").path

    /// Compiles the files into a module, with warnings as errors.
    private func typecheck(_ files: [String]) throws -> Outcome {
      let products = URL(fileURLWithPath: Tool.path).deletingLastPathComponent().path
      return try Child(
        "/usr/bin/env",
        ["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-warnings-as-errors"]
          + ["-package-name", "p", "-I", products + "/Modules", "-I", Self.root.path + "/include"]
          + ["-I", Self.root.path + "/Sources/CLZ4"] + files
      ).wait()
    }

    @Test(arguments: ["internal", "package", "public"])
    func `the code compiles without warnings, beside code that is composed`(_ access: String) throws {
      let scratch = try Scratch()
      let file = scratch("MessageEvents.swift")
      let made = try Tool.run("contract", "swift", Self.messages, "--access", access, "--output", file)
      #expect(made.code == 0, "\(made.errors)")
      #expect(made.text.isEmpty)
      let code = try Files.read(file)
      #expect(try Tool.run("contract", "swift", Self.messages, "--access", access).output == code)
      let composed = try scratch.file(
        "Composed.swift",
        """
        import Weir

        struct Short: PageView & HasMessageQuantity & HasPromocode {
          static let eventName = "message_centre.viewed"
          var messageQuantity: Int
          var promocode: String?
        }

        func track(_ tracker: Tracker) {
          tracker.track(Short(messageQuantity: 1, promocode: nil))
        }
        """)
      let compiled = try typecheck([file, composed])
      #expect(compiled.code == 0 && compiled.errors.isEmpty, "\(compiled.errors)")
      let wrong = try scratch.file(
        "Composed.swift", "struct Short: PageView & HasMessageQuantity & HasPromocode { var promocode: String? }")
      let refused = try typecheck([file, wrong])
      #expect(refused.code == 1)
      #expect(refused.errors.contains("does not conform to protocol 'HasMessageQuantity'"), "\(refused.errors)")
    }

    @Test func `a schema is printed, and written to a file`() throws {
      let scratch = try Scratch()
      let printed = try Tool.run("contract", "schema", Self.messages)
      #expect(printed.code == 0, "\(printed.errors)")
      let schema = try #require(try JSONSerialization.jsonObject(with: printed.output) as? [String: Any])
      #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
      #expect((schema["$defs"] as? [String: Any])?.keys.sorted() == ["message.answered", "message_centre.viewed"])
      #expect(try Tool.run("contract", "schema", Self.messages, "--output", scratch("a.json")).text.isEmpty)
      #expect(try Files.read(scratch("a.json")) == printed.output)
    }

    @Test func `what is no contract makes no file`() throws {
      let scratch = try Scratch()
      let wrong = try scratch.file("wrong.json", "{\"contract\": \"c\",\n\"version\": \"1\",\n\"evnts\": {}}")
      for command in ["swift", "schema"] {
        let outcome = try Tool.run("contract", command, wrong, "--output", scratch("out"))
        #expect(outcome.code == 2)
        #expect(outcome.errors.contains("\(wrong): line 3: "), "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch("out")))
        let nowhere = try Tool.run("contract", command, Self.messages, "--output", scratch("none/out"))
        #expect(nowhere.code == 2)
      }
      #expect(try Tool.run("contract", "swift", Self.messages, "--access", "open").code == 2)
    }
  }
}
