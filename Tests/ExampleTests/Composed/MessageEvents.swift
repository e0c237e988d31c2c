// Made by weir contract swift from the contract omnitracking 7.
// Changes in this file are lost.
// swift-format-ignore-file

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Weir

/// An event of no particular kind.
protocol TrackedEvent: Event, Codable {}

extension TrackedEvent {
  static var eventTypes: [EventType] {
    [EventType(codable: eventName, sensitive: sensitiveFields(of: Self.self))]
  }
}

/// A page, screen or view was shown.
protocol PageView: TrackedEvent {}

extension PageView {
  static var eventTypes: [EventType] {
    [EventType(codable: eventName, kind: .pageView, sensitive: sensitiveFields(of: Self.self))]
  }
}

/// A user did something in a page, screen or view.
protocol PageAction: TrackedEvent {}

extension PageAction {
  static var eventTypes: [EventType] {
    [EventType(codable: eventName, kind: .pageAction, sensitive: sensitiveFields(of: Self.self))]
  }
}

/// The system did something without a user.
protocol SystemAction: TrackedEvent {}

extension SystemAction {
  static var eventTypes: [EventType] {
    [EventType(codable: eventName, kind: .systemAction, sensitive: sensitiveFields(of: Self.self))]
  }
}

/// An event with the field `viewType`.
protocol HasViewType {
  var viewType: ViewType { get }
}

/// An event with the field `uniqueViewId`.
protocol HasUniqueViewId {
  var uniqueViewId: UUID { get }
}

/// An event with the field `clientTimestamp`.
protocol HasClientTimestamp {
  var clientTimestamp: Date { get }
}

/// An event with the field `exitInteraction`.
protocol HasExitInteraction {
  var exitInteraction: String? { get }
}

/// An event with the field `messageQuantity`.
protocol HasMessageQuantity {
  var messageQuantity: Int { get }
}

/// An event with the field `hasNewMessages`.
protocol HasNewMessages {
  var hasNewMessages: Bool { get }
}

/// An event with the field `promocode`.
protocol HasPromocode {
  var promocode: String? { get }
}

/// An event with the field `replyTo`.
protocol HasReplyTo {
  var replyTo: String { get }
}

/// An event with the field `channel`.
protocol HasChannel {
  var channel: Channel { get }
}

/// An event with the field `attachments`.
protocol HasAttachments {
  var attachments: [AttachmentsElement]? { get }
}

enum ViewType: String, CaseIterable, Codable, Hashable, Sendable {
  case myNotificationsList
  case wishlist
}

enum Channel: String, CaseIterable, Codable, Hashable, Sendable {
  case chat
  case eMail = "e-mail"
}

struct AttachmentsElement: Codable, Hashable, Sendable {
  var type: String
  var bytes: Int

  init(type: String, bytes: Int) {
    self.type = type
    self.bytes = bytes
  }
}

/// The list of messages was shown.
struct MessageCentreViewed:
  PageView,
  HasViewType,
  HasUniqueViewId,
  HasClientTimestamp,
  HasExitInteraction,
  HasMessageQuantity,
  HasNewMessages,
  HasPromocode,
  Hashable
{
  static let eventName = "message_centre.viewed"

  var viewType: ViewType
  var uniqueViewId: UUID
  var clientTimestamp: Date
  var exitInteraction: String?
  var messageQuantity: Int
  var hasNewMessages: Bool
  var promocode: String?

  init(
    viewType: ViewType,
    uniqueViewId: UUID,
    clientTimestamp: Date,
    exitInteraction: String? = nil,
    messageQuantity: Int,
    hasNewMessages: Bool,
    promocode: String? = nil
  ) {
    self.viewType = viewType
    self.uniqueViewId = uniqueViewId
    self.clientTimestamp = clientTimestamp
    self.exitInteraction = exitInteraction
    self.messageQuantity = messageQuantity
    self.hasNewMessages = hasNewMessages
    self.promocode = promocode
  }
}

/// A message was answered.
struct MessageAnswered: PageAction, HasUniqueViewId, HasReplyTo, HasChannel, HasAttachments, Hashable {
  static let eventName = "message.answered"

  var uniqueViewId: UUID
  var replyTo: String
  var channel: Channel
  var attachments: [AttachmentsElement]?

  init(uniqueViewId: UUID, replyTo: String, channel: Channel = .chat, attachments: [AttachmentsElement]? = nil) {
    self.uniqueViewId = uniqueViewId
    self.replyTo = replyTo
    self.channel = channel
    self.attachments = attachments
  }
}

/// The sensitive fields of a type, by the protocols that the type is composed of.
private func sensitiveFields(of type: any TrackedEvent.Type) -> [String] {
  var paths: [String] = []
  if type is any HasReplyTo.Type { paths += ["replyTo"] }
  return paths
}
