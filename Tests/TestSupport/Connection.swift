// Connection: a bare socket, so that a test chooses every byte that it sends.

import Foundation
import Glibc

/// A connection to a server on this machine.
package final class Connection {
  private let socket: Int32
  private var buffer: [UInt8] = []
  package private(set) var isAtEnd = false

  package init(port: Int, to address: String = "127.0.0.1") throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = in_port_t(port).bigEndian
    inet_pton(AF_INET, address, &place.sin_addr)
    let result = withUnsafePointer(to: &place) { place in
      place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result != 0 {
      close(socket)
      throw POSIXError(.ECONNREFUSED)
    }
    // Reads return at once: a thread of those that all tests share must not stand still.
    _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
  }

  deinit { close(socket) }

  package func send(_ text: String) { _ = text.withCString { write(socket, $0, strlen($0)) } }

  /// Reads until `body` finds what it looks for in what came.
  package func read<Found>(_ find: ([UInt8]) -> Found?) async throws -> Found? {
    let deadline = ContinuousClock.now + patience
    while ContinuousClock.now < deadline {
      if let found = find(buffer) { return found }
      if receive() { continue }
      if isAtEnd { return find(buffer) }
      try await Task.sleep(for: .milliseconds(2))
    }
    return nil
  }

  /// Reads until the other side closes the connection.
  package func readToEnd() async throws -> [UInt8] {
    guard let bytes = try await read({ isAtEnd ? $0 : nil }) else { throw POSIXError(.ETIMEDOUT) }
    return bytes
  }

  /// Takes what has come. Returns whether something has.
  private func receive() -> Bool {
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    let count = Glibc.read(socket, &piece, piece.count)
    if count == 0 { isAtEnd = true }
    buffer += piece[..<max(0, count)]
    return count > 0
  }

  /// Whether something has come by now.
  package var hasBytes: Bool { receive() || !buffer.isEmpty }

  /// Forgets what was read up to here.
  package func drop(_ count: Int) { buffer.removeFirst(count) }
}
