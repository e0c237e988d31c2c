// LZ4Frames: standard LZ4 frames, made by liblz4, for files of delivered events. The core makes the log's own batch
// segments.

import CLZ4
import Weir

enum LZ4Frames {
  /// The frames are not valid.
  struct Damaged: Error, Hashable, Sendable {
    var reason: String
  }

  /// Returns a frame of these bytes: independent blocks of at most 1 MiB, each with a checksum, and the size and
  /// checksum of the content. A file may consist of several frames, one after another.
  static func frame(_ content: [UInt8]) -> [UInt8] {
    var preferences = LZ4F_preferences_t()
    preferences.frameInfo.blockSizeID = LZ4F_max1MB
    preferences.frameInfo.blockMode = LZ4F_blockIndependent
    preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled
    // Both checksums are needed: if a frame has only block checksums, the lz4 tool (1.9.4) takes the next frame for
    // garbage.
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled
    preferences.frameInfo.contentSize = UInt64(content.count)
    let bound = LZ4F_compressFrameBound(content.count, &preferences)
    return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      count = LZ4F_compressFrame(buffer.baseAddress, bound, content, content.count, &preferences)
      // Fails only if the destination is too small, an argument is invalid, or memory is exhausted.
      precondition(LZ4F_isError(count) == 0, "liblz4 can't make a frame of \(content.count) bytes")
    }
  }
}

/// Reads frames piece by piece, and returns their content. Returns at most ``pieceBytes`` at once, whatever size a
/// frame claims.
final class LZ4Reader {
  static let pieceBytes = 256 << 10

  private let context: OpaquePointer

  init() throws(LZ4Frames.Damaged) {
    var context: OpaquePointer?
    let status = LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))
    guard LZ4F_isError(status) == 0, let context else { throw LZ4Frames.Damaged(reason: Self.reason(status)) }
    self.context = context
  }

  deinit {
    LZ4F_freeDecompressionContext(context)
  }

  /// Decompresses these bytes, and passes the content to `take`, in pieces.
  func read(_ bytes: [UInt8], _ take: (ArraySlice<UInt8>) -> Void) throws(LZ4Frames.Damaged) {
    var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
    var done = 0
    while true {
      var given = bytes.count - done
      var made = piece.count
      let from = done
      let status = bytes.withUnsafeBytes { source in
        piece.withUnsafeMutableBytes { piece in
          LZ4F_decompress(context, piece.baseAddress, &made, source.baseAddress?.advanced(by: from), &given, nil)
        }
      }
      guard LZ4F_isError(status) == 0 else { throw LZ4Frames.Damaged(reason: Self.reason(status)) }
      done += given
      take(piece[..<made])
      // After a full piece there may be more content, although all bytes are consumed.
      if done == bytes.count, made < piece.count { return }
    }
  }

  private static func reason(_ status: Int) -> String { String(cString: LZ4F_getErrorName(status)) }
}
