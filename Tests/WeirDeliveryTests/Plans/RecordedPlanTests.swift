// Recorded plans: who may deliver in a provider's name, and what the provider is not to get again.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct RecordedPlanTests {
  private func recorded(
    _ entry: DeliveryPlan.Entry, by author: RecordedPlan.Author = .program, _ body: (String) throws -> Void
  ) throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try deliver(entry, by: author, in: directory)
      try body(directory)
      try tracker.close()
    }
  }

  /// Adds the provider, and returns what was logged about it.
  @discardableResult
  private func deliver(
    _ entry: DeliveryPlan.Entry, by author: RecordedPlan.Author = .program, in directory: String
  ) throws -> [String] {
    let logged = LoggedLines()
    var configuration = Dispatcher.Configuration()
    configuration.planAuthor = author
    configuration.logger = logged.logger
    let dispatcher = try Dispatcher(directory: directory, configuration: configuration)
    try dispatcher.add(DeliveryPlan([entry])) { entry in ClosureProvider(entry.name) { _ in [] } }
    return logged.lines.withLock { $0.map(\.text) }
  }

  private func isRefused(_ entry: DeliveryPlan.Entry, in directory: String) -> Bool {
    do { try entry.checkRecorded(in: directory) } catch { return true }
    return false
  }

  @Test func `only an entry that does the same to events passes`() throws {
    var options = DeliveryOptions()
    options.contract = try Contract("c", version: "1", events: [EventRule("e", fields: [])]).compiled()
    let entry = DeliveryPlan.Entry("p", options: options, mapper: .snakeCase())
    try recorded(entry) { directory in
      #expect(!isRefused(entry, in: directory))
      #expect(!isRefused(.init("q"), in: directory))
      var other = entry
      other.options.flush.interval = .seconds(9)
      other.destination = .init("elsewhere")
      #expect(!isRefused(other, in: directory))
      other.mapper = .camelCase()
      #expect(isRefused(other, in: directory))
      other = entry
      other.options.redactsSensitive = false
      #expect(isRefused(other, in: directory))
      other = entry
      other.options.contract = try Contract("c", version: "1", events: [EventRule("f", fields: [])]).compiled()
      #expect(isRefused(other, in: directory))
      #expect(isRefused(.init("p"), in: directory))
    }
  }

  @Test func `a provider without a plan leaves its name to everybody`() throws {
    try recorded(.init("p")) { directory in
      #expect(!isRefused(.init("p"), in: directory))
      #expect(isRefused(.init("p", mapper: .snakeCase()), in: directory))
    }
  }

  @Test func `closures are told`() throws {
    let entry = DeliveryPlan.Entry("p", mapper: .adding("a") { _ in 1 })
    try recorded(entry) { directory in
      let error = try #require(throws: WeirError.self) { try DeliveryPlan.Entry("p").checkRecorded(in: directory) }
      #expect(error.message.contains("adding(a, _:)"), "\(error.message)")
    }
  }

  /// An entry that keeps something from the provider in each way that there is.
  private func careful() throws -> DeliveryPlan.Entry {
    var options = DeliveryOptions()
    options.pseudonym = Pseudonym(fingerprint: "f1") { "p-\($0)" }
    options.contract = try Contract("c", version: "1", events: [EventRule("e", fields: [])]).compiled()
    options.omitsUnknownFields = true
    let mapper = EventMapper(
      .without(fields: "email"), .only(fields: "id", "ip"), .shorteningAddresses(in: "ip"), .snakeCase())
    return DeliveryPlan.Entry("p", options: options, mapper: mapper)
  }

  @Test func `after the tool nobody gives the provider more, unless it is meant`() throws {
    try recorded(careful(), by: .tool) { directory in
      #expect(try !isRefused(careful(), in: directory))
      #expect(!isRefused(.init("q"), in: directory))
      // What keeps nothing back may change: there is no program whose plan it would have to be.
      var other = try careful()
      other.mapper = other.mapper.then(.titleCase())
      other.options.contract = try Contract("c", version: "2", events: [EventRule("f", fields: [])]).compiled()
      other.options.sendsGaps = false
      #expect(!isRefused(other, in: directory))

      let weaker: [(String, (inout DeliveryPlan.Entry) -> Void)] = [
        ("pseudonym f1", { $0.options.pseudonym = nil }),
        ("pseudonym f1", { $0.options.pseudonym = Pseudonym(fingerprint: "f2") { $0 } }),
        ("redacts_sensitive", { $0.options.redactsSensitive = false }),
        ("contract", { $0.options.contract = nil }),
        ("omits_unknown_fields", { $0.options.omitsUnknownFields = false }),
        ("email", { $0.mapper = EventMapper(.only(fields: "id", "ip"), .shorteningAddresses(in: "ip")) }),
        ("only", { $0.mapper = EventMapper(.without(fields: "email"), .shorteningAddresses(in: "ip")) }),
        ("shortening", { $0.mapper = EventMapper(.without(fields: "email"), .only(fields: "id", "ip")) }),
      ]
      for (word, change) in weaker {
        var entry = try careful()
        change(&entry)
        let error = try #require(throws: WeirError.self) { try entry.checkRecorded(in: directory) }
        #expect(error.code == .invalid)
        #expect(error.message.contains(word), "\(error.message)")
      }
    }
  }

  @Test func `a plain delivery of the tool leaves the name to every plan but true values`() throws {
    try recorded(.init("p"), by: .tool) { directory in
      #expect(!isRefused(.init("p"), in: directory))
      let strict = try careful()
      #expect(!isRefused(strict, in: directory))
      var bare = DeliveryPlan.Entry("p")
      bare.options.redactsSensitive = false
      #expect(isRefused(bare, in: directory))
    }
  }

  @Test func `the tool's plan takes the place of its own, and never of a program's`() throws {
    try recorded(careful(), by: .tool) { directory in
      try deliver(.init("p"), by: .tool, in: directory)
      #expect(!isRefused(.init("p"), in: directory))
      try deliver(careful(), in: directory)
      try deliver(.init("p"), by: .tool, in: directory)
      #expect(isRefused(.init("p"), in: directory))
      #expect(try !isRefused(careful(), in: directory))
    }
  }

  @Test func `a program that gives the provider more says so, once`() throws {
    try recorded(careful(), by: .tool) { directory in
      for (entry, expected) in [(try careful(), 0), (.init("p"), 1), (.init("p"), 0)] {
        let warned = try deliver(entry, in: directory).filter { $0.contains("gets more") }
        #expect(warned.count == expected, "\(warned)")
        #expect(warned.allSatisfy { $0.contains("pseudonym f1") })
      }
    }
  }

  @Test(arguments: ["", "{", "[]", "\u{0}\u{0}"])
  func `a damaged record is refused as damaged, and replaced by whoever delivers`(_ damage: String) throws {
    for author in [RecordedPlan.Author.program, .tool] {
      try recorded(careful(), by: .tool) { directory in
        try Data(damage.utf8).write(to: URL(filePath: directory + "/cursors/p.plan"))
        let error = try #require(throws: WeirError.self) { try careful().checkRecorded(in: directory) }
        #expect(error.message.contains("cursors/p.plan is damaged"), "\(error.message)")
        #expect(try deliver(careful(), by: author, in: directory).allSatisfy { !$0.contains("gets more") })
        #expect(try !isRefused(careful(), in: directory))
        var bare = DeliveryPlan.Entry("p")
        bare.options.redactsSensitive = false
        #expect(isRefused(bare, in: directory))
      }
    }
  }

  @Test func `what is removed is forgotten`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.add(DeliveryPlan([.init("p", mapper: .snakeCase())])) { _ in ClosureProvider("p") { _ in [] } }
      #expect(isRefused(.init("p"), in: directory))
      try await dispatcher.remove("p")
      #expect(!isRefused(.init("p"), in: directory))
      try tracker.close()
    }
  }
}
