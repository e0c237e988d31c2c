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

    /// `most` is the maximum size of a body, unless a single event is larger; `nil` for the vendor's limit.
    init(_ events: [PreparedEvent], for preset: some HTTPPreset, most wanted: Int? = nil) {
      let limits = preset.limits
      let frame = preset.post(HTTPBatch(events: [], encoded: [])).body.count
      let mostEvents = max(limits.events, 1)
      let most = max(limits.bytes - frame, 1)
      let mostOfOne = min(limits.eventBytes ?? .max, most)
      let mostOfRequest = min(most, max((wanted ?? .max) - frame, 1))
      var request: [Int] = []
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
        // One more byte for the separator before the event.
        let size = encoded[index].count + 1
        if request.count == mostEvents || (!request.isEmpty && bytes + size > mostOfRequest) {
          requests.append(request)
          request = []
          bytes = 0
        }
        request.append(index)
        bytes += request.count == 1 ? size - 1 : size
      }
      if !request.isEmpty { requests.append(request) }
    }
  }
#endif
