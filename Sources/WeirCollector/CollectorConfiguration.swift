// Collector.Configuration: where a collector keeps what it takes, where it listens, and its limits.

#if Collector
  package import WeirContracts
  import Foundation
  package import Logging
  import Weir

  extension Collector {
    /// What an event survives, once its request is answered as taken.
    package enum Durability: String, CaseIterable, Hashable, Sendable {
      /// The death of the process, `kill -9` included.
      case processCrash = "process-crash"
      /// A power cut too: each request waits for the disk.
      case powerLoss = "power-loss"
    }

    /// How a collector works. The defaults suit tests and a developer's machine.
    package struct Configuration: Sendable {
      /// The log's directory. It is made if it is missing; what was not taken goes to the log in its directory
      /// `rejected`, and what is against ``contract`` to the one in `violations`.
      package var directory: String

      /// The address to listen on: 127.0.0.1. Others than this machine's own are refused without ``allowsRemote``.
      package var host = "127.0.0.1"

      /// The port to listen on; 0 for any that is free. 0.
      package var port = 0

      /// Others may send to it, unprotected: there is no key that it would refuse, and no encryption. False.
      package var allowsRemote = false

      /// What an event survives once it is acknowledged. ``Durability/processCrash``.
      package var durability = Durability.processCrash

      /// What the events are to look like; nil for no matter. Its fields are those of the events as they were captured.
      package var contract: Contract?

      /// The ways in which it fails. None.
      package var faults = Faults.none

      /// The largest body, unpacked, that any endpoint takes, whatever its vendor would. 32 MiB; 64 KiB to 1 GiB.
      package var maximumBodyBytes = 32 << 20

      /// What all bodies being read may take in memory together, and again what is read from them, at 64 bytes a value;
      /// further requests are told to come again. 256 MiB; at least ``maximumBodyBytes``.
      package var maximumBufferedBytes = 256 << 20

      /// The largest file of a batch segment. 1,088 MiB, for the largest segment that a log can have; 4 KiB or more.
      package var maximumSegmentBytes = 1088 << 20

      /// The largest event that its log takes, in encoded bytes; larger ones are rejected. 256 KiB; 4 KiB to 1 MiB.
      package var maximumEventBytes = 256 << 10

      /// How long a request may take to come in. 30 s; above 0.
      package var requestTime = Duration.seconds(30)

      /// How long a connection may be without a request. 60 s; above 0.
      package var idleTime = Duration.seconds(60)

      /// The most connections at a time; further ones wait. 256; at least 1.
      package var maximumConnections = 256

      /// How long a stop waits for requests in progress. 5 s.
      package var stopTime = Duration.seconds(5)

      /// What the log may take on the disk: then requests are answered with 503. Nil for no limit.
      package var byteLimit: Int?

      /// The shape of the log; tests make it small, for they have many.
      var laneCount = max(16, ProcessInfo.processInfo.activeProcessorCount + 4)
      var laneBytes = 1 << 20
      var segmentBytes = 8 << 20

      /// Where the server and its logs report; nil for nowhere. Nil.
      package var logger: Logger?

      /// The defaults, with the log in `directory`.
      package init(directory: String) {
        self.directory = directory
      }

      /// Whether ``host`` is an address of this machine's own, which no other machine reaches.
      package var isLoopback: Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
      }

      func check() throws {
        guard isLoopback || allowsRemote else {
          throw CollectorError(
            "\(host) can be reached from other machines, and the collector refuses nobody; "
              + "listen on 127.0.0.1, or allow it (allowsRemote, --allow-remote)")
        }
        try Self.check("port", port, in: 0...65_535)
        try Self.check("maximumBodyBytes", maximumBodyBytes, in: 64 << 10...1 << 30)
        try Self.check("maximumBufferedBytes", maximumBufferedBytes, in: maximumBodyBytes...Int.max)
        try Self.check("maximumSegmentBytes", maximumSegmentBytes, in: 4 << 10...Int.max)
        try Self.check("maximumEventBytes", maximumEventBytes, in: 4 << 10...1 << 20)
        try Self.check("maximumConnections", maximumConnections, in: 1...1 << 16)
        guard requestTime > .zero, idleTime > .zero else {
          throw CollectorError("requestTime is \(requestTime) and idleTime \(idleTime); both must be above 0")
        }
      }

      /// Longer than that is for ever.
      static let longest = Duration.seconds(1 << 30)

      private static func check(_ name: String, _ value: Int, in range: ClosedRange<Int>) throws {
        guard range.contains(value) else {
          throw CollectorError("\(name) is \(value); it must be \(range.lowerBound) to \(range.upperBound)")
        }
      }
    }
  }

  /// What is wrong with a configuration of a collector or with its faults, in one line.
  package struct CollectorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, and what to do.
    package var message: String

    init(_ message: String) {
      self.message = message
    }

    package var description: String { message }
  }
#endif
