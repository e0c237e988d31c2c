// The requests of presets whose form is EventJSON: those of any preset, made in another way.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  struct LinesCutterTests {
    private struct Sent: Equatable {
      var indices: [Int]
      var body: String
      var key: String?
    }

    private func sent(_ post: HTTPPost, _ indices: [Int]) -> Sent {
      let key = post.headers.first { $0.name == "idempotency-key" }?.value.withValue { $0 }
      return Sent(indices: indices, body: String(decoding: post.body, as: UTF8.self), key: key)
    }

    /// Events of several sizes, some of them too large for small limits.
    private let events = (0..<12).map { number in
      sampleEvent(number, ["text": .string(String(repeating: "x", count: number * number % 7 * 40))])
    }

    @Test(arguments: [JSONPreset.Form.array, .lines])
    func `requests have the events, bodies and keys of a cut after encoding`(form: JSONPreset.Form) throws {
      for mostEvents in [1, 2, 5, 100] {
        for mostBytes in stride(from: 0, through: 2_400, by: 97) {
          for (eventBytes, wanted) in [(nil, nil), (330, nil), (nil, 700), (330, 0)] as [(Int?, Int?)] {
            let limits = HTTPLimits(events: mostEvents, bytes: mostBytes, eventBytes: eventBytes)
            let preset = JSONPreset(endpoint: "http://127.0.0.1:1", form: form, limits: limits)
            let cut = RequestCutter(events, for: preset, most: wanted)
            let expected = cut.requests.map { indices in
              let batch = HTTPBatch(events: indices.map { events[$0] }, encoded: indices.map { cut.encoded[$0] })
              return sent(preset.post(batch), indices)
            }
            var cutter = LinesCutter(for: preset, most: wanted)
            var (made, unfit): ([Sent], [Int: String]) = ([], [:])
            var rest = Array(events.indices)[...]
            while !rest.isEmpty {
              let cut = cutter.cut(events, rest)
              unfit.merge(cut.unfit) { first, _ in first }
              rest = cut.rest
              guard !cut.taken.isEmpty else { continue }
              let key = HTTPBatch(cut.taken.map { events[$0] }).idempotencyKey
              made.append(sent(preset.post(cut.body, key: key), cut.taken))
            }
            #expect(made == expected)
            #expect(unfit == cut.unfit)
          }
        }
      }
    }

    @Test func `a key is the same for the same events alone`() {
      let key = HTTPBatch(Array(events[0..<3])).idempotencyKey
      // FNV-1a of the ids, as written by hand.
      var hash: UInt64 = 0xcbf2_9ce4_8422_2325
      for event in events[0..<3] {
        for number in [event.stored.id.opening, event.stored.id.sequence] {
          withUnsafeBytes(of: number.littleEndian) { bytes in
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
          }
        }
      }
      #expect(key == "weir-\(sampleID(0))-0-2-3-\(String(hash, radix: 16))")
      #expect(HTTPBatch([events[0], events[2]]).idempotencyKey != key)
    }
  }
#endif
