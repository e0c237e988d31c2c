// RequestCutter: which events go into which request.

#if HTTP
  import WeirDelivery
  import Weir

  /// Cuts the events of one call into requests within a vendor's limits.
  struct RequestCutter {
    /// The places of each request's events among those given, in order.
    private(set) var requests: [[Int]] = []
    /// Events that no request may hold, by their place, with the reason.
    private(set) var unfit: [Int: String] = [:]
    /// Each event as it is encoded; empty for those that are unfit.
    private(set) var encoded: [[UInt8]] = []

    /// `most`: so many bytes of a body at most, unless a single event has more; nil for the vendor's limit.
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
              "the event takes \(text.count) bytes, and \(mostOfOne) are the most that the endpoint takes")
          }
          encoded.append(text)
        } catch {
          encoded.append([])
          unfit[index] = "\(error)"
          continue
        }
        // One more for what separates it from the event before.
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
