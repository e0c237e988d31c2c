// Checksum: CRC32C, the log's own checksum, for the small files that Swift writes itself.

import CCapture

/// CRC32C (Castagnoli: reflected, initial value and final xor of all ones), as every file of a log has it.
///
/// Eight bytes an instruction: for some hundred bytes now and then, not for segments.
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
