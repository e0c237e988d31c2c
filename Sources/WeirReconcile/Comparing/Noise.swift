// Noise: how often a control's fields differ from those of a second control, without anybody's fault.

/// What a control and a second control, which got the same events, differ in.
struct Noise: Sendable {
  struct Key: Hashable, Sendable {
    var name: String
    var path: String
    var kind: FieldDifference.Kind
  }

  /// Pairs of the two controls, by name.
  var pairs: [String: UInt64] = [:]
  /// Of these, those in which a field differs.
  var fields: [Key: UInt64] = [:]

  init(_ tally: Tally, _ names: TextNumbers) {
    for (number, counts) in tally.byName {
      guard let name = names.text(of: UInt16(truncatingIfNeeded: number)) else { continue }
      pairs[name] = counts[.identical] + counts[.differing]
    }
    for (key, count) in tally.fields {
      guard let name = names.text(of: UInt16(truncatingIfNeeded: key.name)) else { continue }
      fields[Key(name: name, path: key.path, kind: key.kind)] = count
    }
  }

  /// The difference between how often a field differs from the control, and how often it does so within the control.
  func difference(_ key: Key, count: UInt64, of all: UInt64) -> ShareDifference {
    ShareDifference(count, of: all, fields[key] ?? 0, of: pairs[key.name] ?? 0)
  }
}

/// The difference of two shares, with the interval that has it in 99 of 100 cases.
///
/// The hybrid of the intervals of both shares: R. G. Newcombe, Interval estimation for the difference between
/// independent proportions, Statistics in Medicine 17 (1998), method 10. Those of a share are E. B. Wilson's (1927).
public struct ShareDifference: Hashable, Sendable {
  /// The share in the pairs of log and control.
  public let share: Double
  /// The share in the pairs of the two controls.
  public let noise: Double
  public let interval: ClosedRange<Double>
  private let isSilent: Bool

  /// `z` is a quantile of the normal distribution: that for 99 of 100 cases.
  init(
    _ count: UInt64, of all: UInt64, _ noiseCount: UInt64, of noiseAll: UInt64, z: Double = 2.575829303548901
  ) {
    let (one, other) = (Self.wilson(count, all, z), Self.wilson(noiseCount, noiseAll, z))
    share = one.share
    noise = other.share
    isSilent = noiseCount == 0
    func distance(_ a: Double, _ b: Double) -> Double { (a * a + b * b).squareRoot() }
    let difference = share - noise
    let low = difference - distance(share - one.low, other.high - noise)
    let high = difference + distance(one.high - share, noise - other.low)
    interval = min(low, high)...max(low, high)
  }

  /// Whether the field differs from the control more often than the control differs from itself. A field in which the
  /// control never differs from itself is always blamed.
  public var isBlamed: Bool { isSilent || interval.lowerBound > 0 }

  private static func wilson(_ count: UInt64, _ all: UInt64, _ z: Double) -> (share: Double, low: Double, high: Double)
  {
    guard all > 0 else { return (0, 0, 1) }
    let (n, p) = (Double(all), Double(count) / Double(all))
    let middle = p + z * z / (2 * n)
    let reach = z * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
    let scale = 1 + z * z / n
    return (p, max(0, (middle - reach) / scale), min(1, (middle + reach) / scale))
  }
}
