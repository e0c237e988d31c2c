// ByteCount: a size in bytes as a command-line argument: 65536, 64K, 1M.

#if Tool
  import ArgumentParser

  struct ByteCount: ExpressibleByArgument, Equatable, Sendable {
    var bytes: UInt64

    init?(argument: String) {
      guard let bytes = Quantity.parseBytes(argument) else { return nil }
      self.bytes = bytes
    }
  }
#endif
