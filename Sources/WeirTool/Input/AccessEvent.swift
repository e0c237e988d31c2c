// AccessEvent: a line of an Apache access log as an event. The fields hold the text as the server wrote it, including
// the escapes (\" \\ \xhh). "-" means that the server had no such value: the field is `nil`. `time` is the instant; the
// time zone of the line is not kept.

#if Tool
  import Foundation
  import Weir

  enum AccessEvent: Event, Equatable {
    case request(
      host: String, ident: String?, user: String?, time: Date, method: String, path: String, protocol: String,
      status: UInt16, bytes: UInt64?, referrer: String?, agent: String?)
    case malformed(LineText)

    static let eventTypes = [
      EventType(
        "request",
        [
          Field("host", .string),
          Field("ident", .optional(.string)),
          Field("user", .optional(.string)),
          Field("time", .date),
          Field("method", .string),
          Field("path", .string),
          Field("protocol", .string),
          Field("status", .uint16),
          Field("bytes", .optional(.uint64)),
          Field("referrer", .optional(.string)),
          Field("agent", .optional(.string)),
        ]),
      EventType("malformed", [Field("text", .string)]),
      EventType("malformed", [Field("bytes", .bytes)]),
    ]

    func encode(into encoder: inout EventEncoder) {
      switch self {
      case .request(
        let host, let ident, let user, let time, let method, let path, let `protocol`, let status, let bytes,
        let referrer, let agent):
        encoder.begin(0)
        encoder.put(host)
        encoder.put(ident)
        encoder.put(user)
        encoder.put(time)
        encoder.put(method)
        encoder.put(path)
        encoder.put(`protocol`)
        encoder.put(status)
        encoder.put(bytes)
        encoder.put(referrer)
        encoder.put(agent)
      case .malformed(.text(let text)):
        encoder.begin(1)
        encoder.put(text)
      case .malformed(.bytes(let bytes)):
        encoder.begin(2)
        encoder.put(bytes)
      }
    }

    init?(_ stored: StoredEvent) throws {
      switch stored.name {
      case "request":
        self = .request(
          host: try stored["host"], ident: try stored["ident"], user: try stored["user"], time: try stored["time"],
          method: try stored["method"], path: try stored["path"], protocol: try stored["protocol"],
          status: try stored["status"], bytes: try stored["bytes"], referrer: try stored["referrer"],
          agent: try stored["agent"])
      case "malformed": self = .malformed(try LineText(stored))
      default: return nil
      }
    }
  }
#endif
