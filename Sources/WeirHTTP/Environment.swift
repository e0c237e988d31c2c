// Environment: environment variables of the process.

#if HTTP
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  enum Environment {
    static func value(of name: String) -> String? {
      getenv(name).map { String(cString: $0) }
    }
  }
#endif
