// Faults: which requests of a collector fail, and how: by chance, but the same with the same seed.

#if Collector
  import Synchronization

  /// The ways in which a collector fails, and the seed of the chance that picks them.
  ///
  /// ```swift
  /// configuration.faults = try Faults("status=503:0.1,drop-answer:0.05,slow=2s:0.01", seed: 7)
  /// ```
  ///
  /// At most one fault happens to a request. The *n*-th request to a vendor's endpoint gets the *n*-th number of the
  /// seed, so equal seeds give equal faults in the order in which the requests come.
  package struct Faults: Hashable, Sendable {
    /// No faults.
    package static let none = Faults()

    /// The faults; their probabilities come to 1 at most.
    package var list: [Fault]

    /// What the chance begins with.
    package var seed: UInt64

    private init() {
      list = []
      seed = 0
    }

    /// These faults. Throws a ``CollectorError`` if their probabilities come to more than 1.
    package init(_ list: [Fault], seed: UInt64 = 0) throws {
      let sum = list.reduce(0) { $0 + $1.probability }
      // Tenths have no exact sum: ten of them must be 1.
      guard sum <= 1 + 1e-9 else {
        throw CollectorError("the faults' probabilities come to \(sum); at most one happens to a request, so at most 1")
      }
      self.list = list
      self.seed = seed
    }

    /// Faults as they are written, with commas between: `status=500:0.1,cut:0.05`. An empty text has none.
    ///
    /// Throws a ``CollectorError`` that says what is wrong.
    package init(_ text: String, seed: UInt64 = 0) throws {
      let words = text.split(separator: ",").map { $0.trimmingPrefix { $0 == " " } }
      try self.init(try words.map { try Fault(String($0)) }, seed: seed)
    }
  }

  /// What happens to one request.
  struct DrawnFault: Sendable {
    var kind: Fault.Kind
    /// Picks the events that a partial answer refuses.
    var seed: UInt64
  }

  /// Draws the faults of requests as they come.
  final class FaultDraw: Sendable {
    private struct State {
      var faults: Faults
      var chance: Chance
      var happened: [Int]
      var counts: [String: UInt64] = [:]
    }

    private let state: Mutex<State>

    init(_ faults: Faults) {
      state = Mutex(Self.beginning(faults))
    }

    private static func beginning(_ faults: Faults) -> State {
      State(faults: faults, chance: Chance(seed: faults.seed), happened: faults.list.map { _ in 0 })
    }

    var faults: Faults { state.withLock { $0.faults } }

    /// How often each kind of fault happened, with those that a request asked for.
    var counts: [String: UInt64] { state.withLock { $0.counts } }

    func set(_ faults: Faults) {
      state.withLock { state in
        let counts = state.counts
        state = Self.beginning(faults)
        state.counts = counts
      }
    }

    /// The fault of the next request; nil for none. One that the request asks for takes no number.
    func next(asked: Fault?) -> DrawnFault? {
      state.withLock { state in
        let drawn: DrawnFault?
        if let asked {
          drawn = DrawnFault(kind: asked.kind, seed: state.faults.seed)
        } else {
          // Two numbers a request, whatever comes of them: what one request gets does not depend on another's.
          let number = state.chance.unit()
          let seed = state.chance.next()
          drawn = Self.pick(number, from: &state).map { DrawnFault(kind: $0, seed: seed) }
        }
        if let drawn { state.counts[drawn.kind.name, default: 0] += 1 }
        return drawn
      }
    }

    private static func pick(_ number: Double, from state: inout State) -> Fault.Kind? {
      var bound = 0.0
      for (index, fault) in state.faults.list.enumerated() {
        bound += fault.probability
        guard number < bound else { continue }
        guard state.happened[index] < fault.times ?? .max else { return nil }
        state.happened[index] += 1
        return fault.kind
      }
      return nil
    }
  }

  /// Numbers that a seed decides: SplitMix64 (Steele, Lea and Flood, 2014).
  struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
      state = seed
    }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      return mixed ^ mixed >> 31
    }

    /// A number from 0 up to but not 1.
    mutating func unit() -> Double {
      Double(next() >> 11) * 0x1p-53
    }
  }
#endif
