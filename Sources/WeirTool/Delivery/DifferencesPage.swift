// DifferencesPage: the page of a monitor that holds the log against a control, compared again when it is old.

#if Tool && Monitor
  import Foundation
  import Synchronization
  import Weir
  import WeirReconcile

  /// Compares on a thread of its own when the page is asked for, and shows the last report meanwhile.
  final class DifferencesPage: Sendable {
    /// A report is shown so long before the next comparison begins, in nanoseconds.
    private static let age: UInt64 = 60_000_000_000

    private struct State {
      var result: Result<ReconciliationReport, WeirError>?
      /// When the last comparison ended; `nil` before.
      var ended: UInt64?
      var isComparing = false
    }

    private let compare: @Sendable () throws(WeirError) -> ReconciliationReport
    private let state = Mutex(State())

    /// `compare` takes as long as both sides are large.
    init(_ compare: @escaping @Sendable () throws(WeirError) -> ReconciliationReport) { self.compare = compare }

    /// The page now.
    var html: String {
      let (result, begins, isComparing) = state.withLock { state in
        let isOld = state.ended.map { MonotonicTime.now.nanoseconds - $0 > Self.age } ?? true
        let begins = isOld && !state.isComparing
        if begins { state.isComparing = true }
        return (state.result, begins, state.isComparing)
      }
      if begins { begin() }
      return ReportHTML.page(result, isComparing: isComparing)
    }

    private func begin() {
      do throws(WeirError) {
        try startThread("weir-reconcile") { [self] in
          do throws(WeirError) { end(.success(try compare())) } catch { end(.failure(error)) }
        }
      } catch {
        end(.failure(error))
      }
    }

    private func end(_ result: Result<ReconciliationReport, WeirError>) {
      state.withLock { $0 = State(result: result, ended: MonotonicTime.now.nanoseconds) }
    }
  }
#endif
