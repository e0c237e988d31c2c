// EventLines: writes many events as JSON, from their bytes in the log where nothing has changed them.

package import Weir
import WeirJSON

/// A provider that takes events as their bytes in the log: it reads of most events only `PreparedEvent.offset` and
/// `id`, and writes them with ``EventLines``. To such a provider the events are given without being decoded, if no step
/// of their preparation changes them.
package protocol EncodedEventProvider: Provider {
  /// Whether this provider does so.
  var takesEncodedEvents: Bool { get }
}

extension Provider {
  /// Whether the provider, or the provider within, takes events as their bytes.
  var takesBytes: Bool {
    let inner: any Provider = (self as? MappedProvider)?.provider ?? self
    return (inner as? any EncodedEventProvider)?.takesEncodedEvents ?? false
  }
}

/// Writes events in the form of ``EventJSON``, with the same bytes. Writes an event from its bytes in the log, without
/// decoding it, if nothing has changed it. Belongs to one thread at a time.
package final class EventLines {
  private let json: EventJSON
  private let encoded: EncodedJSON

  package init(_ json: EventJSON = EventJSON()) {
    self.json = json
    encoded = EncodedJSON(json.form, .provider) { context, bytes in
      json.appendTail(context, to: &bytes)
    }
  }

  /// Appends an event, without a line break.
  package func append(_ event: PreparedEvent, to bytes: inout [UInt8]) {
    if let plain = event.encoded, event.annotations.contains(.kind), !event.annotations.contains(.monotonic),
      encoded.append(plain, to: &bytes)
    {
      return
    }
    json.append(event, to: &bytes)
  }

  /// Appends an event as it is in the log, without a line break, with sensitive values replaced if `redacts` is true.
  package func append(_ event: EncodedEvent, redacts: Bool, to bytes: inout [UInt8]) {
    if !redacts || event.isPlain, encoded.append(event, to: &bytes) { return }
    json.append(redacts ? event.stored.redacted() : event.stored, to: &bytes)
  }
}
