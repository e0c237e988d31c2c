"""LZ4 blocks and the headers of LZ4 frames, as the LZ4 frame format 1.6 has them. No dictionaries.

Where the module `lz4` is there, it decompresses what is not damaged.
"""
from __future__ import annotations

from typing import NamedTuple, Optional

from ._checksums import u16, u32, u64, xxh32

try: from lz4 import block as _library  # type: ignore
except ImportError: _library = None

MAGIC, LEGACY_MAGIC, SKIPPABLE_MAGIC = 0x184d2204, 0x184c2102, 0x184d2a57
HISTORY_BYTES = 65536
_LAST_LITERALS, _MATCH_ROOM = 5, 12


class FrameForm(NamedTuple):
  """What a frame's header says. `is_right` is false for bytes that are no frame's header."""
  is_right: bool
  header_bytes: int
  block_bytes: int
  is_linked: bool
  has_checksums: bool
  has_content_checksum: bool
  content_bytes: int

  @property
  def end_bytes(self) -> int: return 8 if self.has_content_checksum else 4

  @property
  def trailer_bytes(self) -> int: return 4 if self.has_checksums else 0


def frame_form(data: bytes, otherwise: FrameForm) -> FrameForm:
  """The form of the frame that begins with these bytes, or `otherwise`."""
  if len(data) < 7 or u32(data, 0) != MAGIC: return otherwise
  flags, sizes = data[4], data[5]
  size = 7 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
  if len(data) < size or flags >> 6 != 1 or flags & 2 or sizes & 0x8f or sizes >> 4 < 4: return otherwise
  if data[size - 1] != xxh32(data[4:size - 1]) >> 8 & 255: return otherwise
  return FrameForm(is_right=True, header_bytes=size, block_bytes=1 << 8 + 2 * (sizes >> 4), is_linked=not flags & 32,
                   has_checksums=bool(flags & 16), has_content_checksum=bool(flags & 4),
                   content_bytes=u64(data, 6) if flags & 8 else 0)


def decompress(packed: bytes, room: int, history: bytes = b'') -> Optional[bytes]:
  """What the block makes, at most `room` bytes; None where it is damaged."""
  if _library and not history:
    try: return bytes(_library.decompress(packed, uncompressed_size=room))
    except (_library.LZ4BlockError, ValueError, MemoryError): return None
  made = bytearray(history)
  return bytes(made[len(history):]) if expand(packed, room, made) else None


def expand(packed: bytes, room: int, made: bytearray) -> bool:
  """Appends what the block makes, at most `room` bytes; what is in `made` before counts as history.

  False: the block is damaged, and what it makes up to there was appended. A block ends with literals: no match ends in
  its last five bytes, and only the last literals reach into its last twelve.
  """
  at, end, full = 0, len(packed), len(made) + room
  while True:
    if at >= end: return False
    token = packed[at]
    at += 1
    count = token >> 4
    if count == 15:
      while True:
        if at >= end: return False
        more = packed[at]
        at += 1
        count += more
        if more != 255: break
    stop = at + count
    if len(made) + count > full - _MATCH_ROOM or stop > end - 3 - _LAST_LITERALS:
      if stop != end or len(made) + count > full: return False
      made += packed[at:stop]
      return True
    made += packed[at:stop]
    distance = u16(packed, stop)
    at = stop + 2
    count = (token & 15) + 4
    if token & 15 == 15:
      while True:
        if at >= end: return False
        more = packed[at]
        at += 1
        count += more
        if more != 255: break
    start = len(made) - distance
    if start < 0 or len(made) + count > full - _LAST_LITERALS: return False
    if distance == 0: made += bytes(count)  # damage, behind which the rest may be whole, in its place
    elif distance >= count: made += made[start:start + count]
    else:
      piece = made[start:]
      made += (piece * (count // distance + 1))[:count]


def block_size(data: bytes, at: int) -> Optional[int]: return u32(data, at) if at + 4 <= len(data) else None
