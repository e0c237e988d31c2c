// RequestCutter: divides events into requests.

#if HTTP
  import WeirDelivery
  import Weir

  /// Divides the events of one call into requests within a vendor's limits.
  struct RequestCutter {
    /// The indices of each request's events, in order.
    private(set) var requests: [[Int]] = []
    /// The reasons why events can't be sent, by the event's index.
    private(set) var unfit: [Int: String] = [:]
    /// The encoded events; empty for events that can't be sent.
    private(set) var encoded: [[UInt8]] = []
    /// What the vendor is told of users, by the index of the event that it comes before.
    private(set) var identifications: [Int: [[UInt8]]] = [:]

    /// `most` is the maximum size of a body, unless a single event is larger; `nil` for the vendor's limit.
    init(_ events: [PreparedEvent], for preset: some HTTPPreset, most wanted: Int? = nil) {
      let limits = preset.limits
      let frame = preset.post(HTTPBatch(events: [], encoded: [])).body.count
      let mostEvents = max(limits.events, 1)
      let most = max(limits.bytes - frame, 1)
      let mostOfOne = min(limits.eventBytes ?? .max, most)
      let mostOfRequest = min(most, max((wanted ?? .max) - frame, 1))
      var request: [Int] = []
      var parts = 0
      var bytes = 0
      encoded.reserveCapacity(events.count)
      for (index, event) in events.enumerated() {
        do {
          let text = try preset.encode(event)
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
            told.count < mostEvents && told.allSatisfy { $0.count <= mostOfOne }
            && told.reduce(encoded[index].count) { $0 + $1.count + 1 } <= most
          if isSendable, !told.isEmpty { identifications[index] = told }
        }
        let told = identifications[index] ?? []
        // One more byte for the separator before each part.
        let size = told.reduce(encoded[index].count + 1) { $0 + $1.count + 1 }
        if parts + told.count + 1 > mostEvents || (!request.isEmpty && bytes + size > mostOfRequest) {
          if !request.isEmpty { requests.append(request) }
          request = []
          parts = 0
          bytes = 0
        }
        request.append(index)
        parts += told.count + 1
        bytes += request.count == 1 ? size - 1 : size
      }
      if !request.isEmpty { requests.append(request) }
    }
  }
#endif
