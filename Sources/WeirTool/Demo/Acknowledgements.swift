// Acknowledgements: the line numbers that a recording child has printed, read from its pipe.

#if Tool
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct Acknowledgements {
    /// The numbers, in the order of their arrival.
    private(set) var numbers: [UInt64] = []
    /// Digits whose newline has not arrived yet.
    private var unfinished: UInt64 = 0

    /// Adds bytes that were read from the pipe.
    mutating func take(_ bytes: some Sequence<UInt8>) {
      for byte in bytes {
        if byte == 0x0A {
          numbers.append(unfinished)
          unfinished = 0
        } else {
          unfinished = unfinished * 10 + UInt64(byte &- UInt8(ascii: "0"))
        }
      }
    }

    /// Reads until the pipe ends, the switch is thrown, or there are `count` numbers.
    mutating func read(from descriptor: Int32, until count: Int, unless stop: StopSwitch) {
      while numbers.count < count, !stop.isThrown {
        var waiting = [
          pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
          pollfd(fd: stop.wakeDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&waiting, 2, -1) > 0, waiting[0].revents != 0 else { continue }
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
          filled = max(0, systemRead(descriptor, buffer))
        }
        if bytes.isEmpty { return }
        take(bytes)
      }
    }
  }
#endif
