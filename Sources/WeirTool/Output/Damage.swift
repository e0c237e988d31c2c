// Damage: describes a damaged place of a log in one line, in the same way in every command.

#if Tool
  import Weir

  enum Damage {
    /// Returns a line such as
    /// "00000000000000000000.weir: block checksum does not match: 4,096 bytes at 8,192; events 17 to 40 are missing".
    static func describe(
      file: String, problem: String, position: UInt64, bytes: UInt64, firstOffset: UInt64, count: UInt64
    ) -> String {
      // The numbers may come from damaged bytes: their sum must not trap.
      var text = file.isEmpty ? problem : "\(file): \(problem)"
      if bytes > 0 { text += ": \(Quantity.count(bytes)) bytes at \(Quantity.count(position))" }
      switch count {
      case 0: return text
      case 1: return text + "; event \(firstOffset) is missing"
      default: return text + "; events \(firstOffset) to \(firstOffset &+ count &- 1) are missing"
      }
    }

    /// Returns a line for a place that a reader skipped.
    static func describe(_ skip: EventReader.Skip) -> String {
      if skip.isRemoval {
        return "\(skip.reason): events \(skip.firstOffset) to \(skip.firstOffset &+ skip.count &- 1)"
      }
      return describe(
        file: skip.file, problem: skip.reason, position: skip.position, bytes: skip.bytes,
        firstOffset: skip.firstOffset,
        count: skip.count)
    }
  }
#endif
