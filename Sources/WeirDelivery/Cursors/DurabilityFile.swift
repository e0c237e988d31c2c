// DurabilityFile: stores what a destination says that its acknowledgements promise, beside the provider's cursor.
//
// The file is `cursors/NAME.durability`, a text. The file is written under another name and renamed, and never synced:
// after a power cut the file may be missing or old.

import Weir

/// A provider whose destination says what its acknowledgements promise: where events are once they are acknowledged.
package protocol DurabilityTelling: Sendable {
  /// In words, such as `written by 2 of 3 servers`; `nil` before `setup()`.
  var durability: String? { get }
}

enum DurabilityFile {
  private static let mostBytes = 1_024

  private static func name(_ provider: String) -> String { provider + ".durability" }

  /// Returns what the provider's destination said last.
  static func read(_ provider: String, of logDirectory: String) -> String? {
    let path = "\(logDirectory)/\(Cursor.directoryName)/\(name(provider))"
    guard let bytes = try? SystemCalls().contents(of: path, atMost: mostBytes) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Notes what the provider's destination says, if that is something new.
  static func note(_ provider: any Provider, of logDirectory: String, calls: SystemCalls) throws(WeirError) {
    let inner = (provider as? MappedProvider)?.provider ?? provider
    let telling = (inner as? BatchDelivery)?.segments as? any DurabilityTelling ?? inner as? any DurabilityTelling
    guard let text = telling?.durability?.inOneLine(of: mostBytes), text != read(provider.name, of: logDirectory) else {
      return
    }
    let directory = try calls.openDirectory(Cursor.directoryName, in: try calls.openDirectory(logDirectory))
    let new = name(provider.name) + ".new"
    try calls.unlink(new, in: directory)
    try calls.write(try calls.create(new, in: directory), Array(text.utf8), at: 0)
    try calls.rename(new, to: name(provider.name), in: directory)
  }
}
