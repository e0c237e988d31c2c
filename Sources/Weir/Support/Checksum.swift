// Checksum: CRC32C, the log's checksum, for the small files that Swift code writes.

import CCapture

/// Returns the CRC32C of the bytes (Castagnoli: reflected, initial value and final xor of all ones), as in every file
/// of a log.
///
/// Processes eight bytes in an instruction. Fast enough for some hundred bytes now and then, not for segments.
package func crc32c(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
  var crc: UInt64 = 0xffff_ffff
  var at = 0
  while bytes.count - at >= 8 {
    crc = weir_crc_u64(crc, UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
    at += 8
  }
  while at < bytes.count {
    crc = weir_crc_u8(crc, bytes[at])
    at += 1
  }
  return ~UInt32(truncatingIfNeeded: crc)
}
