// Environment: environment variables of the process.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

package enum Environment {
  package static func value(of name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
