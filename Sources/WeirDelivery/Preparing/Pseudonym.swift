// Pseudonym: what a provider gets in place of a user's id.

import Weir

/// Replaces the ids of users for one provider: the provider can tell users apart, and can't tell who they are.
///
/// The module WeirHTTP makes the usual pseudonym, a keyed hash, from a key. The same id always has the same pseudonym,
/// so a provider sees one user as one. Providers with different keys can't compare their users.
public struct Pseudonym: Sendable {
  /// A text that differs if the pseudonyms differ, and tells nothing about them. Dispatchers and the tool keep the text
  /// beside the provider's cursor, so that the tool does not deliver the true ids, or other pseudonyms, in the
  /// provider's name.
  public let fingerprint: String

  private let replacement: @Sendable (String) -> String

  /// Creates a pseudonym from a function. The function must always return the same text for the same id.
  public init(fingerprint: String, _ replacement: @escaping @Sendable (String) -> String) {
    self.fingerprint = fingerprint
    self.replacement = replacement
  }

  /// Returns the pseudonym of an id; the empty id has none.
  public func callAsFunction(_ id: String) -> String { id.isEmpty ? id : replacement(id) }
}

/// A provider of a plan whose users have pseudonyms.
package protocol PseudonymousProvider: Provider {
  var pseudonym: Pseudonym? { get }
}

/// The true id of a user whom the provider knows by a pseudonym. `EventMapper.sampling` decides by the true id. The id
/// is hidden when an event is printed.
struct SampledUser: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  let id: String

  var description: String { "hidden" }
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension PreparedEvent {
  /// Replaces the user's id, also in ``stored``.
  mutating func replaceUser(by pseudonym: Pseudonym) {
    if let user = context.user {
      sampled = SampledUser(id: user.id)
      context.user?.id = pseudonym(user.id)
    }
    if let user = stored.context.user { stored.context.user?.id = pseudonym(user.id) }
  }
}
