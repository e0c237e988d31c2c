// Reading: a vendor's view of a body, without a server.

#if Collector
  import Foundation
  import Weir

  @testable import WeirCollector

  /// What a vendor makes of a body.
  enum Read {
    case batch(Batch)
    case refused(Refusal)

    init(_ vendor: any Vendor, _ body: String, path: String = "/", query: [String: String] = [:], type: String = "") {
      self.init(vendor, bytes: Array(body.utf8), path: path, query: query, type: type)
    }

    init(
      _ vendor: any Vendor, bytes: [UInt8], path: String = "/", query: [String: String] = [:], type: String = ""
    ) {
      do throws(Refusal) {
        self = .batch(try vendor.read(VendorRequest(path: path, query: query, contentType: type, body: bytes)))
      } catch {
        self = .refused(error)
      }
    }

    var events: [CollectedEvent] {
      if case .batch(let batch) = self { batch.events.map(\.event) } else { [] }
    }

    var failures: [Failure] {
      switch self {
      case .batch(let batch): batch.failures
      case .refused(let refusal): refusal.failures
      }
    }

    /// The status of a refusal; 0 if it was read.
    var status: Int {
      if case .refused(let refusal) = self { refusal.answer.status } else { 0 }
    }

    /// Each failure as `index field`.
    var faults: [String] { failures.map { "\($0.index) \($0.field)" } }

    /// The answer, if all that is good was stored.
    func answer(by vendor: any Vendor) -> (status: Int, json: [String: Any], text: String) {
      let answer: Answer
      switch self {
      case .batch(let batch):
        answer = vendor.answer(to: batch, taken: vendor.takesGoodOnes(of: batch) ? batch.events.count : 0)
      case .refused(let refusal): answer = refusal.answer
      }
      let json = (try? JSONSerialization.jsonObject(with: Data(answer.body))) as? [String: Any]
      return (answer.status, json ?? [:], String(decoding: answer.body, as: UTF8.self))
    }
  }

  /// A text of so many bytes.
  func text(_ bytes: Int) -> String { String(repeating: "x", count: bytes) }
#endif
