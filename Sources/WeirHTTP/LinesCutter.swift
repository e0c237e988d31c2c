// LinesCutter: divides events into requests whose bodies are written directly from the log.

#if HTTP
  import WeirDelivery
  import Weir

  /// Divides the events of one call into requests of a ``LinesPreset``, as ``RequestCutter`` does for any preset: with
  /// the same limits, and with the same bodies. Each body is written when its request is due. No event has an array of
  /// its own, and an event in bytes is not decoded.
  struct LinesCutter {
    /// The body of a request, and its events.
    struct Cut {
      var body: [UInt8]
      /// The indices of the events in the body.
      var taken: [Int] = []
      /// The indices that are left for later requests.
      var rest: ArraySlice<Int> = []
      /// The reasons why events can't be sent, by the event's index.
      var unfit: [Int: String] = [:]
    }

    private let preset: any LinesPreset
    private let lines = EventLines()
    private let limits: HTTPLimits
    /// The maximum size of a body without its frame, unless a single event is larger.
    private let most: Int
    /// The maximum size of an event.
    private let mostOfOne: Int
    /// The size of the last body: the next is about as large.
    private var size = 0

    /// `most` is the maximum size of a body, unless a single event is larger; `nil` for the vendor's limit.
    init(for preset: any LinesPreset, most wanted: Int?) {
      self.preset = preset
      limits = preset.limits
      let frame = preset.frame.open.utf8.count + preset.frame.close.utf8.count
      let mostOfBody = max(limits.bytes - frame, 1)
      most = min(mostOfBody, max((wanted ?? .max) - frame, 1))
      mostOfOne = min(limits.eventBytes ?? .max, mostOfBody)
    }

    /// Writes the body of one request for the first of these events.
    mutating func cut(_ events: [PreparedEvent], _ indices: ArraySlice<Int>) -> Cut {
      let frame = preset.frame
      var cut = Cut(body: [])
      cut.body.reserveCapacity(size + size / 16)
      cut.body += frame.open.utf8
      cut.taken.reserveCapacity(min(indices.count, limits.events))
      let start = cut.body.count
      var place = indices.startIndex
      while place < indices.endIndex {
        let before = cut.body.count
        if !cut.taken.isEmpty {
          if cut.taken.count >= max(limits.events, 1) { break }
          cut.body += frame.separator.utf8
        }
        let first = cut.body.count
        lines.append(events[indices[place]], to: &cut.body)
        let bytes = cut.body.count - first
        if bytes > mostOfOne {
          cut.unfit[indices[place]] = "the event takes \(bytes) bytes; the endpoint's limit is \(mostOfOne)"
          cut.body.removeSubrange(before...)
        } else if !cut.taken.isEmpty, cut.body.count - start > most {
          cut.body.removeSubrange(before...)
          break
        } else {
          cut.taken.append(indices[place])
        }
        place += 1
      }
      cut.body += frame.close.utf8
      cut.rest = indices[place...]
      size = cut.body.count
      return cut
    }
  }
#endif
