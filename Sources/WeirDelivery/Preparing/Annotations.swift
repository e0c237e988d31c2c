// Annotations: what a provider is told of an event beside the event's content. Every form of an event takes the
// annotations from here, so that they have the same names and the same limits everywhere.

package import Weir
import WeirContracts

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension DeliveryOptions {
  /// What a provider is told of an event beside the event's content: see ``DeliveryOptions/annotations``.
  public struct Annotations: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// `kind`: the event's ``PreparedEvent/kind``, such as `page_view`, if it has one.
    public static let kind = Annotations(rawValue: 1)
    /// `violations`: the rules of the contract that the event violates, each as field and rule, such as
    /// `price.amount: mandatory`. The values are left out.
    public static let violations = Annotations(rawValue: 2)
    /// `defaulted`: the fields that the contract's defaults filled in.
    public static let defaulted = Annotations(rawValue: 4)
    /// `duplicate_of`: the id of the event that this event is a duplicate of.
    public static let duplicateOf = Annotations(rawValue: 8)
    /// `monotonic` and `boot`: the time of the capture on the machine's monotonic clock, in nanoseconds, and the id of
    /// the machine's boot: `StoredEvent.monotonicNanoseconds` and `StoredEvent.bootID`. Nobody sets this clock, so the
    /// times of one boot tell how long it was from one event to another, also where the clock of `time` was set in
    /// between. The times of two boots can't be compared.
    public static let monotonic = Annotations(rawValue: 16)

    /// The annotations that a provider gets by default: all but ``monotonic``.
    public static let standard: Annotations = [.kind, .violations, .defaulted, .duplicateOf]

    /// All annotations.
    public static let all: Annotations = standard.union(.monotonic)

    /// The annotations with their names, in the order in which they are written.
    package static let names: [(name: String, annotation: Annotations)] = [
      ("kind", .kind), ("violations", .violations), ("defaulted", .defaulted), ("duplicate_of", .duplicateOf),
      ("monotonic", .monotonic),
    ]
  }
}

extension PreparedEvent {
  /// The maximum number of texts of one annotation. If there are more, the last text tells how many.
  package static let maximumAnnotationTexts = 20
  /// The maximum length of a text of an annotation, in bytes.
  package static let annotationBytes = 256

  /// The annotations that apply to the event and that the provider is told, as properties for vendors: `weir_kind`, a
  /// text, `weir_violations`, `weir_defaulted` and `weir_duplicate_of`, lists of texts, and `weir_monotonic` and
  /// `weir_boot`, texts, because vendors read large numbers as doubles.
  package var annotationProperties: FieldObject {
    var members = annotatedKind.map { [FieldObject.Member(name: "kind", value: .string($0.rawValue))] } ?? []
    members += flagTexts(annotations)
    if let clock = annotatedClock {
      members.append(.init(name: "monotonic", value: .string("\(clock.nanoseconds)")))
      members.append(.init(name: "boot", value: .string(clock.boot)))
    }
    return FieldObject(members.map { .init(name: EventType.propertyPrefix + $0.name, value: $0.value) })
  }

  /// The kind, if the provider is told the kind.
  package var annotatedKind: EventKind? { annotations.contains(.kind) ? kind : nil }

  /// The time on the monotonic clock and the boot, if the provider is told them and both are known.
  package var annotatedClock: (nanoseconds: Int64, boot: String)? {
    guard annotations.contains(.monotonic), let time = stored.monotonicNanoseconds, let boot = stored.bootID else {
      return nil
    }
    return (time, boot.uuidString)
  }

  /// The findings as lists of texts: `violations`, `defaulted` and `duplicate_of`, without those that are empty. The
  /// order does not depend on the order of the set of flags.
  package func flagTexts(_ wanted: DeliveryOptions.Annotations = .all) -> FieldObject {
    if flags.isEmpty && violations.isEmpty { return [:] }
    var defaulted: [String] = []
    var originals: [String] = []
    for flag in flags {
      switch flag {
      case .defaulted(let field): defaulted.append(field)
      case .duplicate(let id): originals.append(id.description)
      case .violating: continue
      }
    }
    let rules = violations.map { $0.field.isEmpty ? $0.rule : "\($0.field): \($0.rule)" }
    var members: [FieldObject.Member] = []
    for (name, texts) in [
      ("violations", wanted.contains(.violations) ? rules : []),
      ("defaulted", wanted.contains(.defaulted) ? defaulted.sorted() : []),
      ("duplicate_of", wanted.contains(.duplicateOf) ? originals.sorted() : []),
    ] where !texts.isEmpty {
      members.append(.init(name: name, value: .array(Self.limited(texts).map { .string($0) })))
    }
    return FieldObject(members)
  }

  private static func limited(_ texts: [String]) -> [String] {
    let cut = texts.prefix(maximumAnnotationTexts).map { $0.cut(to: annotationBytes) }
    guard texts.count > cut.count else { return cut }
    return cut.dropLast() + ["and \(texts.count - cut.count + 1) more"]
  }
}
