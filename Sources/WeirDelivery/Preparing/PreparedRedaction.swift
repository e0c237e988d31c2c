// Redaction of prepared events: replaces the values that the declaration, the contract or the context marks as
// sensitive.

import Weir
import WeirContracts

/// The values that are replaced in events before the events leave the process.
struct Redaction: Sendable {
  /// The paths that the contract marks as sensitive, by event name.
  private let contractPaths: [String: [FieldPath]]

  init(_ contract: CompiledContract?) {
    var paths: [String: [FieldPath]] = [:]
    for event in contract?.contract.events ?? [] {
      let sensitive = contract?.sensitiveFields(of: event.name) ?? []
      if !sensitive.isEmpty { paths[event.name] = sensitive.compactMap { try? FieldPath.parse($0).get() } }
    }
    contractPaths = paths
  }

  /// Replaces sensitive values in fields, context and violations.
  func redact(_ event: inout PreparedEvent) {
    let stored = event.stored
    let paths = contractPaths[stored.name] ?? []
    event.stored = stored.redacted(besides: paths)
    event.fields = event.fields.redacted(besides: paths, as: stored)
    event.context = event.context.redacted()
    event.violations = event.violations.map { $0.redacted() }
  }
}

extension StoredEvent {
  /// Returns the event redacted, with the values at these paths of its fields replaced too.
  fileprivate func redacted(besides paths: [FieldPath]) -> StoredEvent {
    let event = redacted()
    guard !paths.isEmpty else { return event }
    return StoredEvent(
      offset: offset, id: id, time: time, name: name, fields: event.fields.redacted(at: paths),
      declaration: declaration, context: event.context, monotonicNanoseconds: monotonicNanoseconds, bootID: bootID,
      host: host)
  }
}

extension FieldObject {
  /// Returns the redacted fields of an event that was `stored`, and may have been changed since.
  fileprivate func redacted(besides paths: [FieldPath], as stored: StoredEvent) -> FieldObject {
    if stored.isUnread { return redacted(paths: [unreadField]) }
    return (stored.declaration.map { redacted(as: $0) } ?? self).redacted(at: paths)
  }

  fileprivate func redacted(at paths: [FieldPath]) -> FieldObject {
    guard !paths.isEmpty, case .object(let fields) = FieldValue.object(self).redacted(at: paths.map { $0.steps[...] })
    else { return self }
    return fields
  }
}

extension FieldValue {
  /// Returns the value with the values at the ends of these paths replaced. Arrays on a path are traversed, whether the
  /// path names them or not. A value whose structure differs from the path is replaced as a whole, because it may
  /// contain the sensitive value.
  fileprivate func redacted(at ways: [ArraySlice<FieldPath.Step>]) -> FieldValue {
    if ways.isEmpty || self == .null { return self }
    if ways.contains(where: \.isEmpty) { return .redacted }
    switch self {
    case .array(let values):
      let inner = ways.map { $0.first == .element ? $0.dropFirst() : $0 }
      return .array(values.map { $0.redacted(at: inner) })
    case .object(let object):
      if ways.contains(where: { $0.first == .element }) { return .redacted }
      return .object(
        FieldObject(
          object.map { member in
            let inner = ways.filter { $0.first == .member(member.name) }.map { $0.dropFirst() }
            return FieldObject.Member(name: member.name, value: member.value.redacted(at: inner))
          }))
    default: return .redacted
    }
  }
}
