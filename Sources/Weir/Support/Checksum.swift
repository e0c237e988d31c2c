// Checksum: CRC32C, the log's checksum, for the small files that Swift code writes.

import CCapture

/// Returns the CRC32C of the bytes (Castagnoli: reflected, initial value and final xor of all ones), as in every file
/// of a log.
package func crc32c(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
  var checksum = CRC32C()
  checksum.add(bytes)
  return checksum.value
}

/// The CRC32C of bytes that come in pieces.
///
/// Processes eight bytes in an instruction. Fast enough for some hundred bytes now and then, and for a file that is
/// compressed; not for segments.
package struct CRC32C: Sendable {
  private var state: UInt64 = 0xffff_ffff

  package init() {}

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var crc = state
    var at = 0
    while bytes.count - at >= 8 {
      crc = weir_crc_u64(crc, UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
      at += 8
    }
    while at < bytes.count {
      crc = weir_crc_u8(crc, bytes[at])
      at += 1
    }
    state = crc
  }

  package var value: UInt32 { ~UInt32(truncatingIfNeeded: state) }
}
