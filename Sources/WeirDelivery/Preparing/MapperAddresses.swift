// MapperAddresses: shortens internet addresses.

import Weir
import WeirJSON

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

extension EventMapper {
  /// Shortens the internet addresses in fields of these names, wherever they are: in the event, in the bound and global
  /// fields, and among the user's traits, also in objects and arrays within these. An IPv4 address loses its last byte
  /// (`203.0.113.7` becomes `203.0.113.0`), an IPv6 address its last ten (`2001:db8:1:2::7` becomes `2001:db8:1::`). A
  /// text that is no address is redacted. If the field is an array, each of its texts is an address.
  public static func shorteningAddresses(in names: String...) -> EventMapper { shorteningAddresses(in: names) }

  static func shorteningAddresses(in names: [String]) -> EventMapper {
    let form = MapperForm.step("shortening_addresses", [("in", .texts(names))])
    let wanted = Set(names)
    return EventMapper(form) { event, _ in
      event.fields.shortenAddresses(wanted)
      event.context.fields.shortenAddresses(wanted)
      event.context.globals.shortenAddresses(wanted)
      event.context.user?.traits.shortenAddresses(wanted)
      return true
    }
  }
}

extension FieldObject {
  fileprivate mutating func shortenAddresses(_ names: Set<String>) {
    guard contains(where: { names.contains($0.name) || $0.value.isContainer }) else { return }
    self = FieldObject(
      map { Member(name: $0.name, value: $0.value.shorteningAddresses(names, isAddress: names.contains($0.name))) })
  }
}

extension FieldValue {
  fileprivate var isContainer: Bool {
    switch self {
    case .object, .array: true
    default: false
    }
  }

  /// Returns the value with shortened addresses. `isAddress`: a text is an address, and not only the texts of the named
  /// fields within the value.
  fileprivate func shorteningAddresses(_ names: Set<String>, isAddress: Bool) -> FieldValue {
    switch self {
    case .string(let text): return isAddress ? shortened(text).map { .string($0) } ?? .redacted : self
    case .array(let values): return .array(values.map { $0.shorteningAddresses(names, isAddress: isAddress) })
    case .object(var object):
      object.shortenAddresses(names)
      return .object(object)
    default: return self
    }
  }
}

/// Returns the network of an address; `nil` for a text that is no address.
private func shortened(_ text: String) -> String? {
  var four = in_addr()
  if inet_pton(AF_INET, text, &four) == 1 {
    four.s_addr &= in_addr_t(0xFFFF_FF00).bigEndian
    return written(AF_INET, &four)
  }
  var six = in6_addr()
  guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
  withUnsafeMutableBytes(of: &six) { bytes in
    // An IPv4 address in IPv6 form loses its last byte.
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    for index in (isMapped ? 15 : 6)..<16 { bytes[index] = 0 }
  }
  return written(AF_INET6, &six)
}

private func written(_ family: Int32, _ address: UnsafeRawPointer) -> String? {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
    inet_ntop(family, address, buffer.baseAddress, socklen_t(buffer.count)).map { String(cString: $0) }
  }
}
