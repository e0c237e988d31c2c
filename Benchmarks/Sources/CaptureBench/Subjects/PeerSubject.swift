// PeerSubject.swift: another library as a subject, loaded from libpeer-NAME.so; peer.h says what such a library offers.
import CaptureSubjects
import Foundation

/// A peer. One that fails is left out from then on, with the reason: the others are measured all the same.
/// Sendable because its table says which of its functions are called from several threads.
final class PeerSubject: Subject, @unchecked Sendable {
  private let table: peer_table
  private let peer: UnsafeMutableRawPointer
  private let texts: [[CChar]]

  init(_ name: String, _ setup: Setup) throws {
    table = try Self.load(name)
    guard setup.isCheckout || table.any_size != 0 else { throw Skipped(reason: "takes the standard event alone") }
    var message = [CChar](repeating: 0, count: Int(PEER_MESSAGE_BYTES))
    guard let peer = table.open(setup.directory, UInt32(setup.threads), UInt32(setup.textBytes), &message) else {
      throw Skipped(reason: String(cBytes: message))
    }
    self.peer = peer
    texts = setup.cTexts
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    Int(table.burst(peer, UInt32(thread), first, UInt64(count), texts[thread]))
  }

  func settle() throws {
    guard table.settle(peer) == 0 else { throw Skipped(reason: "settling failed") }
  }

  func finish() throws -> Delivery {
    var delivery = peer_delivery()
    var message = [CChar](repeating: 0, count: Int(PEER_MESSAGE_BYTES))
    guard table.finish(peer, &delivery, &message) == 0 else {
      throw Skipped(reason: String(cBytes: message))
    }
    return Delivery(discarded: Int(clamping: delivery.dropped), delivered: Int(clamping: delivery.delivered))
  }

  /// The library's table. Loading it again answers the one that is loaded.
  private static func load(_ name: String) throws -> peer_table {
    let path = folder + "/libpeer-\(name).so"
    guard FileManager.default.fileExists(atPath: path) else {
      throw Skipped(reason: "not built, its headers are missing (make bench-deps installs them)")
    }
    guard let library = dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
      throw Skipped(reason: String(cString: dlerror()))
    }
    guard let symbol = dlsym(library, "peer_subject") else { throw Skipped(reason: "\(path) has no peer_subject") }
    let table = symbol.assumingMemoryBound(to: peer_table.self).pointee
    guard table.version == PEER_VERSION else { throw Skipped(reason: "\(path) is of another version") }
    return table
  }

  /// Where the peers' libraries are. Set once, before anything is measured.
  nonisolated(unsafe) static var folder = ""
}
