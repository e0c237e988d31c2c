// BatchDelivery: a batch provider among the dispatcher's providers, and which options it can have.

public import Weir

extension DeliveryOptions {
  /// The options of a ``BatchProvider``: events are delivered as they were captured, sensitive values included.
  ///
  /// ``redactsSensitive`` is off. A segment that is not full is sealed and delivered after a minute
  /// (``FlushPolicy/interval``), so that a slow log does not become thousands of small files. A call may take 5 minutes
  /// (``attemptTimeout``).
  public static var asCaptured: DeliveryOptions {
    var options = DeliveryOptions()
    options.redactsSensitive = false
    options.flush.interval = .seconds(60)
    options.attemptTimeout = .seconds(300)
    return options
  }

  /// The options of a batch provider that is a broker, and takes parts of the log, sealed or not: those of ``asCaptured``,
  /// but what waits leaves after a second.
  public static var asParts: DeliveryOptions {
    var options = asCaptured
    options.flush.interval = .seconds(1)
    return options
  }

  /// Throws `invalid` for what nobody can do to a segment that leaves as a file.
  func validateForBatches(_ name: String, _ mapper: EventMapper) throws(WeirError) {
    let usual = DeliveryOptions()
    let asked: [(String, Bool)] = [
      ("a mapper or a route", !mapper.nodes.isEmpty), ("pseudonyms (pseudonym)", pseudonym != nil),
      ("a contract (contract)", contract != nil), ("omitsUnknownFields", omitsUnknownFields),
      ("rate caps (rateCaps)", !rateCaps.isEmpty), ("a flush rule (flushRule)", flushRule != nil),
      ("events without notices (sendsGaps)", !sendsGaps), ("annotations", annotations != usual.annotations),
    ]
    if let first = asked.first(where: \.1)?.0 {
      throw WeirError(
        .invalid,
        "\(name) takes batch segments as they were captured, and gets no \(first): that needs each event by itself; "
          + "leave it out, or deliver to a provider of events")
    }
    guard !redactsSensitive else {
      throw WeirError(
        .invalid,
        "\(name) takes batch segments as they were captured, with sensitive values in them, and its options redact "
          + "sensitive values (redactsSensitive); deliver with the options .asCaptured if \(name) may have these values, "
          + "or to a provider of events")
    }
  }
}

extension Dispatcher {
  /// Adds a provider that takes batch segments whole: see ``BatchProvider``.
  ///
  /// ```swift
  /// try dispatcher.add(batchesTo: BatchDirectoryProvider("/mnt/archive"), options: .asCaptured)
  /// ```
  ///
  /// A segment is delivered once it is sealed. Of a log that this process writes, the dispatcher has the segment that
  /// is being filled sealed at the signals of ``FlushPolicy/triggers``, after ``FlushPolicy/interval``, and with
  /// ``FlushPolicy/Triggers/idle`` after ``FlushPolicy/idleAfter``; limits of counts and bytes have no meaning, and the
  /// size of a full segment is `Tracker.Configuration.segmentBytes`. Beside another process, segments leave once that
  /// process has sealed them.
  ///
  /// A raw segment is compressed on its way, in a file beside the cursor, unless the log has done so
  /// (`Tracker.Configuration.batchThreads`). A segment with a damaged byte, and one for whose compression the disk has
  /// no room, is delivered raw.
  ///
  /// A provider that starts in the middle of a segment gets the whole segment. ``settlements(limit:)`` does not tell of
  /// events in segments.
  ///
  /// Throws what ``add(_:options:)`` throws, and `invalid` for options that need each event by itself:
  /// redaction (see ``DeliveryOptions/asCaptured``), pseudonyms, a contract, rate caps, a flush rule, annotations.
  public func add(batchesTo provider: any BatchProvider, options: DeliveryOptions) throws(WeirError) {
    try add([(BatchDelivery(provider), options)])
  }
}

/// A batch provider in the place of a provider. Its loop calls it with segments, and never with events.
package struct BatchDelivery: Provider {
  package let segments: any BatchProvider

  package init(_ provider: any BatchProvider) {
    segments = provider
  }

  package var name: String { segments.name }
  package func setup() async throws { try await segments.setup() }
  package func shutdown() async { await segments.shutdown() }

  package func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    throw DeliveryStopped("\(name) takes batch segments, and no events one by one; add it to a dispatcher by itself")
  }
}

extension Provider {
  /// The provider as one that takes segments, with or without a mapper; `nil` for providers of events.
  var asBatchDelivery: BatchDelivery? {
    self as? BatchDelivery ?? (self as? MappedProvider)?.provider as? BatchDelivery
  }
}
