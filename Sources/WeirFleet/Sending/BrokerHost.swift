// BrokerHost: the name of this machine in messages.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The name of this machine in messages.
package enum BrokerHost {
  /// The machine's host name; `unknown` if it has none.
  package static var name: String {
    var bytes = [CChar](repeating: 0, count: 256)
    guard gethostname(&bytes, bytes.count - 1) == 0 else { return "unknown" }
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
