// page: Sources/Weir/Weir.docc/Guides/ContractCode.md
//
// Events that are composed of the protocols of a contract. The code of the contract is Composed/MessageEvents.swift,
// made by `weir contract swift`.

import Foundation
import Testing
import Weir
import WeirContracts
import WeirTesting

/// The contract of the page.
private enum Messages {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func contract() throws -> Contract {
    try Contract(json: Data(contentsOf: root.appending(path: "Tests/Contract/messages.json")))
  }
}

@Suite struct GeneratedEvents {
  @Test func `the generated code is that of the contract`() throws {
    let file = Messages.root.appending(path: "Tests/ExampleTests/Composed/MessageEvents.swift")
    let code = try Messages.contract().compiled().swiftCode(command: "weir contract swift")
    if ProcessInfo.processInfo.environment["WEIR_UPDATE_PAGES"] != nil {
      try Data(code.utf8).write(to: file)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == code)
  }

  @Test func `a generated structure is an event`() throws {
    let spy = try SpyTracker(contract: Messages.contract())
    let tracker = spy.tracker
    let view = UUID()
    // snippet
    tracker.track(
      MessageAnswered(
        uniqueViewId: view, replyTo: "ada@example.com", channel: .eMail,
        attachments: [AttachmentsElement(type: "image/png", bytes: 4096)]))
    // end
    tracker.track(MessageAnswered(uniqueViewId: view, replyTo: "ada@example.com"))
    #expect(spy.violations.isEmpty)
    #expect(spy.all.map { $0.declaration?.kind } == [.pageAction, .pageAction])
    #expect(spy.all.map { $0.redacted().fields["replyTo"] } == [.redacted, .redacted])
    #expect(spy.all.map { $0.fields["channel"] } == ["e-mail", "chat"])
    #expect(spy.all[0].fields["attachments"] == [["type": "image/png", "bytes": 4096]])
    #expect(spy.events(of: MessageAnswered.self).map(\.channel) == [.eMail, .chat])
  }
}

// snippet
typealias MessageCentreView = PageView & HasViewType & HasUniqueViewId & HasClientTimestamp & HasMessageQuantity
  & HasNewMessages & HasPromocode

struct MessageCentreExample: MessageCentreView {
  static let eventName = "message_centre.viewed"

  var viewType = ViewType.myNotificationsList
  let uniqueViewId: UUID
  let clientTimestamp: Date
  let messageQuantity: Int
  let hasNewMessages: Bool
  let promocode: String?
}
// end

@Suite struct ComposedEvents {
  @Test func `an event that is composed of protocols is as the contract says`() throws {
    let spy = try SpyTracker(contract: Messages.contract())
    let tracker = spy.tracker
    let view = UUID()
    // snippet
    tracker.track(
      MessageCentreExample(
        uniqueViewId: view, clientTimestamp: Date(), messageQuantity: 3, hasNewMessages: true, promocode: nil))
    // end
    #expect(spy.violations.isEmpty)
    #expect(spy.names == ["message_centre.viewed"])
    #expect(spy.all.map { $0.declaration?.kind } == [.pageView])
    #expect(spy.all[0].fields["viewType"] == "myNotificationsList")
    #expect(spy.events(of: MessageCentreExample.self).map(\.messageQuantity) == [3])
    // The generated structure reads the event too.
    #expect(spy.events(of: MessageCentreViewed.self).map(\.uniqueViewId) == [view])
  }

  /// The sensitive field is known from the protocol, whatever the event is called.
  private struct Note: PageAction & HasReplyTo {
    var replyTo: String
  }

  @Test func `a sensitive field is sensitive in every composition`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Note(replyTo: "ada@example.com"))
    #expect(spy.all.map { $0.redacted().fields } == [["replyTo": .redacted]])
    #expect(spy.all.map { $0.declaration?.kind } == [.pageAction])
  }
}
