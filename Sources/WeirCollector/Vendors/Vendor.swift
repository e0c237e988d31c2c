// Vendor: what tells one vendor's endpoint from another's: the form of its batches, its limits, its answers.

#if Collector
  import WeirJSON
  import Weir

  /// A request as vendors see it, its body read and unpacked.
  struct VendorRequest: Sendable {
    var path: String
    var query: [String: String]
    var contentType: String
    var body: [UInt8]
  }

  /// An event of a batch that is as the vendor wants it.
  struct Incoming: Sendable {
    /// Its place in the batch.
    var index: Int
    var event: CollectedEvent
  }

  /// An event of a batch that is not.
  struct Failure: Sendable {
    enum Kind: Sendable {
      case missing
      case invalid
    }

    var index: Int
    var id: String?
    var field: String
    var kind: Kind
    var reason: String
    /// The event as it came.
    var value: FieldValue
  }

  /// What a body holds.
  struct Batch: Sendable {
    var events: [Incoming] = []
    var failures: [Failure] = []
    /// How many bytes it came in.
    var bytes = 0
    /// The vendor was asked to tell failures (Mixpanel's `strict`).
    var isStrict = true

    var count: Int { events.count + failures.count }
  }

  /// A body that is refused as a whole.
  struct Refusal: Error {
    var answer: Answer
    /// Why, for the log of what was rejected.
    var reason: String
    /// The events at fault, if it is theirs.
    var failures: [Failure] = []
  }

  protocol Vendor: Sendable {
    /// What ``CollectedEvent/vendor`` says.
    var name: String { get }

    /// Reads a body; throws if it is refused as a whole, before anything of it is stored.
    func read(_ request: VendorRequest) throws(Refusal) -> Batch

    /// Whether its answer can say which events of a batch it refuses, or how many.
    var namesFailures: Bool { get }

    /// Whether the good events of a batch with failures are taken: else nothing of it is.
    func takesGoodOnes(of batch: Batch) -> Bool

    /// The answer to a batch, of which the events (`taken`) were stored.
    func answer(to batch: Batch, taken: Int) -> Answer

    /// The answer that says no more than a status: to a body that is too large, to a fault, to a log without room.
    func answer(_ status: Int, _ message: String) -> Answer
  }

  extension Vendor {
    func takesGoodOnes(of batch: Batch) -> Bool { true }

    /// Reads a JSON text; refuses one that is none, or nested too deep.
    func json(_ bytes: [UInt8]) throws(Refusal) -> FieldValue {
      do throws(JSONProblem) {
        return try JSONReader.read(bytes.span, limits: VendorLimits.json)
      } catch {
        let reason = "the body is no JSON: \(error)"
        throw Refusal(answer: answer(400, reason), reason: reason)
      }
    }

    /// Refuses the body as a whole.
    func refusal(_ status: Int, _ reason: String, _ failures: [Failure] = []) -> Refusal {
      Refusal(answer: answer(status, reason), reason: reason, failures: failures)
    }

    /// Refuses a body of more events than the collector takes at a time.
    func checkCount(_ count: Int) throws(Refusal) {
      guard count > VendorLimits.events else { return }
      throw refusal(413, "request has more than \(VendorLimits.events) events; send fewer at a time")
    }

    /// Refuses a body above the vendor's limit.
    func checkSize(_ request: VendorRequest, _ limit: Int, status: Int = 413) throws(Refusal) {
      guard request.body.count > limit else { return }
      throw refusal(status, "request exceeds max limit of \(limit) bytes")
    }
  }

  enum VendorLimits {
    /// How many events a request may have where its vendor knows no limit, and how many values in all: a request that
    /// unpacks to millions of them would take gigabytes, and minutes.
    static let events = 100_000
    static let values = 4_000_000

    /// Deeper than any event that a log takes in any vendor's envelope; less than what a thread's stack bears.
    static let json = JSONReader.Limits(depth: 48, allowsEqualNames: true)
  }
#endif
