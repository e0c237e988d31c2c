// The calls that are measured: the same small method without a join point, and with one.
//
// What @JoinPoint writes stands here by hand, as the macro's own expansion would cost the benchmarks a build of
// swift-syntax in release; WeirMacrosTests holds the macro to this text.

import Synchronization
import Weir
import WeirAspects

/// A class whose methods do next to nothing, so that the difference is the join point.
final class Page {
  var liked: UInt64 = 0

  // The name that the macro gives.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  static let weirJoinPoint_like_ = JoinPoint<Page, (item: UInt64, ()), UInt64>("Page.like(_:)")

  @inline(never)
  func bareLike(_ item: UInt64) -> UInt64 {
    liked &+= item
    return liked
  }

  @inline(never)
  func like(_ item: UInt64) -> UInt64 {
    var weirCall = Self.weirJoinPoint_like_.call()
    if weirCall.isObserved { weirCall.begin(self, (item: item, ()), in: Page.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    liked &+= item
    return weirCall.returned(liked)
  }
}
