// JSONLineParser: reads a line of JSON into an event's name and fields. A line that can't be kept exactly is
// recorded as `malformed`: a line with equal names in one object, or JSON that Weir's JSON reader refuses.

#if Tool
  import Weir
  import WeirJSON

  enum JSONLineParser {
    /// The line's own object does not count in the depth, because the object is not stored.
    private static let limits = JSONReader.Limits(depth: maximumDepth, nameBytes: EventType.maximumNameBytes)

    /// Returns the event of a line `{"event":"name","fields":{…}}`, which must have exactly these two members in
    /// either order. Names that begin with "weir." are refused, because they are the log's own.
    static func event(in line: Span<UInt8>) -> (name: String, fields: FieldObject)? {
      guard case .object(let members)? = try? JSONReader.read(line, limits: limits), members.count == 2,
        case .string(let name)? = members["event"], case .object(let fields)? = members["fields"],
        !name.isEmpty, name.utf8.count <= EventType.maximumNameBytes, !name.hasPrefix(EventType.reservedPrefix)
      else { return nil }
      return (name, fields)
    }
  }
#endif
