// Scenario: what a region is like, and what happens to it.

/// A region: hosts, a broker of three servers, a collector.
struct Scenario {
  var name: String
  var hosts = 10_000
  /// Virtual seconds.
  var duration = 1_200.0
  /// The mean of all hosts.
  var eventsPerSecond = 10.0
  /// How long an event waits until its part leaves.
  var interval = 10.0
  /// Starts of a host's process; every second one follows a kill.
  var startsPerDay = 24.0

  /// When the broker is away.
  var outage: Range<Double>?
  /// How often one of the broker's servers is killed, and how long the stream then has no leader.
  var failovers = (every: 300.0, length: 5.0)
  /// The share of the answers that are lost.
  var lostAnswers = 0.001
  /// When the collector is killed.
  var collectorKills: [Double] = [900]
  /// How long the broker knows the ids of messages.
  var window = 120.0

  /// The longest pause after failures.
  var longestPause = 300.0
  /// What a host sends in a second: the pause between its calls, and the most of a call.
  var bytesPerSecond: Double?
  /// Whether a call that fails is followed by one with half its bytes, and one that succeeds by one with twice as many.
  var halvesCalls = true
  /// Whether so much is sent that not all of it may have arrived by the end: more than the collector takes, or so much at
  /// once that no answer comes in time, and all of it is sent again.
  var mayFallBehind = false
  /// The bytes of a host's call.
  var callBytes = 16.0 * 1_048_576
}

/// What a broker takes for a message, as measured: see ``BrokerCost/measured``.
struct BrokerCost {
  var message: Double
  var byte: Double

  /// Three `nats-server` 2.15.1 and a client, on two shared processors: 35,000 messages of 1 KiB a second, or 159 MB/s
  /// of 256 KiB each, with three replicas.
  static let measured = BrokerCost(bytes: (1_024, 262_144), seconds: (1 / 35_000.0, 262_144 / 159e6))

  init(bytes: (Double, Double), seconds: (Double, Double)) {
    byte = (seconds.1 - seconds.0) / (bytes.1 - bytes.0)
    message = seconds.0 - byte * bytes.0
  }

  func seconds(_ bytes: Double) -> Double { message + byte * bytes }
}
