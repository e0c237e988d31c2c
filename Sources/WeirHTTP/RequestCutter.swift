// RequestCutter: divides events into requests.

#if HTTP
  import WeirDelivery
  import Weir

  /// Divides the events of one call into requests within a vendor's limits.
  struct RequestCutter {
    /// The indices of each request's events, in order; the requests in the order of their first events.
    private(set) var requests: [[Int]] = []
    /// The reasons why events can't be sent, by the event's index.
    private(set) var unfit: [Int: String] = [:]
    /// The encoded events; empty for events that can't be sent.
    private(set) var encoded: [[UInt8]] = []
    /// What the vendor is told of users, by the index of the event that it comes before.
    private(set) var identifications: [Int: [[UInt8]]] = [:]
    /// The number of events whose identification is too large to be sent.
    private(set) var leftOut = 0

    /// `most` is the maximum size of a body, unless a single event is larger; `nil` for the vendor's limit.
    init(_ events: [PreparedEvent], for preset: some HTTPPreset, most wanted: Int? = nil) {
      let limits = preset.limits
      let frame = preset.post(HTTPBatch(events: [], encoded: [])).body.count
      let mostEvents = max(limits.events, 1)
      /// The request that takes the next event of each shared part, with the number and the bytes of its parts.
      var open: [[UInt8]: (request: Int, parts: Int, bytes: Int)] = [:]
      encoded.reserveCapacity(events.count)
      for (index, event) in events.enumerated() {
        let shared = preset.sharedPart(of: event)
        let most = max(limits.bytes - frame - shared.count, 1)
        do {
          let text = try preset.encode(event)
          let mostOfOne = min(limits.eventBytes ?? .max, most)
          guard text.count <= mostOfOne else {
            throw EventUnfit(
              "the event takes \(text.count) bytes; the endpoint's limit is \(mostOfOne)")
          }
          encoded.append(text)
        } catch {
          encoded.append([])
          unfit[index] = "\(error)"
          continue
        }
        if event.identifies, let user = event.context.user {
          // What is too large to be told is left out: every event names its user anyway.
          let told = preset.identification(of: user, before: event)
          let isSendable =
            told.count < mostEvents && told.allSatisfy { $0.count <= min(limits.eventBytes ?? .max, most) }
            && told.reduce(encoded[index].count) { $0 + $1.count + 1 } <= most
          if !isSendable { leftOut += 1 }
          if isSendable, !told.isEmpty { identifications[index] = told }
        }
        let told = identifications[index] ?? []
        let mostOfRequest = min(most, max((wanted ?? .max) - frame - shared.count, 1))
        // One more byte for the separator between two parts.
        let size = told.reduce(encoded[index].count) { $0 + $1.count + 1 }
        if let last = open[shared], last.parts + told.count < mostEvents, last.bytes + size + 1 <= mostOfRequest {
          requests[last.request].append(index)
          open[shared] = (last.request, last.parts + told.count + 1, last.bytes + size + 1)
        } else {
          open[shared] = (requests.count, told.count + 1, size)
          requests.append([index])
        }
      }
    }
  }
#endif
