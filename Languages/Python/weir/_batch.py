"""The content of a batch segment, after the section Batch segment of FileFormat.md.

All of it is decompressed at once: LZ4 block by LZ4 block, found by the index, or by the sizes in front of the blocks,
or by how much content each block makes. Where an LZ4 block is damaged, its bytes up to the damage count, and zeros
stand for the rest: the checksums of the segment's own blocks decide what of it is right. The zeros take no memory, so
the content takes at most 255 times the size of the file: LZ4 makes no more of a byte.
"""
from __future__ import annotations

import struct
from typing import List, NamedTuple, Optional, Tuple

from . import _lz4
from ._blocks import MOST_OFFSETS
from ._checksums import crc32c, u32, u64, xxh32
from ._errors import Newer
from ._pieces import Pieces

_MAGIC = b'WEIRBTCH'
_INDEX = struct.Struct('<8s2H3I7Q2IQ')
_ENTRY_BYTES, _END_BYTES, _SKIPPABLE_BYTES = 24, 16, 12
_MOST_CONTENT_BYTES = 1 << 31
_LEAST_BLOCK_BYTES, _MOST_BLOCK_BYTES = 64 << 10, 4 << 20
_STORED = 1 << 31
_COLUMNS = 1
_AS_WEIR_WRITES = _lz4.FrameForm(is_right=False, header_bytes=15, block_bytes=1 << 20, is_linked=False,
                                 has_checksums=True, has_content_checksum=False, content_bytes=0)


class Index(NamedTuple):
  flags: int
  block_bytes: int
  salt: int
  opening: int
  base: int
  next: int
  content_bytes: int
  frame_bytes: int
  log_id: int
  positions: List[int]


class Span(NamedTuple):
  """An LZ4 block: from its size in the file to the end of its bytes, and how many it makes."""
  position: int
  end: int
  bytes: int


class Batch:
  """`pieces` are the segment; `index` is None where the file has no index that counts."""

  def __init__(self, data: bytes):
    self.data = data
    self.form = _lz4.frame_form(data, _AS_WEIR_WRITES)
    self.index = self.find_index()
    if self.index:
      self.pieces, is_damaged = self.unpack(self.spans_by_index(self.index))
      if is_damaged: self.reconsider(self.index)
      return
    spans, frame_bytes = self.spans_by_sizes()
    if spans is None: self.pieces, frame_bytes = self.look_through()
    else: self.pieces, _ = self.unpack(spans)
    if frame_bytes: self.index = self.index_behind(frame_bytes, spans)

  @property
  def content(self) -> bytes:
    """All of the segment in memory: for tests, which make other frames of it."""
    return self.pieces[:]

  @property
  def columns_first(self) -> bool: return not self.index or bool(self.index.flags & _COLUMNS)

  # The index.

  def find_index(self) -> Optional[Index]:
    """By the file's last bytes."""
    data = self.data
    if len(data) < _END_BYTES or data[-8:] != _MAGIC: return None
    count = u64(data, len(data) - _END_BYTES)
    return self.read_index(len(data) - count, count) if count <= len(data) else None

  def index_behind(self, frame_bytes: int, spans: Optional[List[Span]]) -> Optional[Index]:
    """By the end of the frame, because bytes may follow it. Its blocks are where the frame has them, or it is none."""
    data = self.data
    if frame_bytes + 12 > len(data): return None
    legacy, skippable, count = struct.unpack_from('<3I', data, frame_bytes)
    if (legacy, skippable) != (_lz4.LEGACY_MAGIC, _lz4.SKIPPABLE_MAGIC): return None
    index = self.read_index(frame_bytes + 12, count)
    return index if index and spans and [span.position for span in spans] == index.positions else None

  def read_index(self, at: int, count: int) -> Optional[Index]:
    data = self.data[at:at + count] if at >= _SKIPPABLE_BYTES else b''
    if len(data) != count or count < _INDEX.size + _END_BYTES + _ENTRY_BYTES: return None
    (magic, major, _, crc, flags, block_bytes, salt, opening, base, after, content_bytes, frame_bytes, _, blocks, _,
     log_id) = _INDEX.unpack_from(data)
    if magic != _MAGIC or data[-8:] != _MAGIC or u64(data, count - _END_BYTES) != count or major != 1: return None
    if count != _INDEX.size + _END_BYTES + _ENTRY_BYTES * blocks or crc != crc32c(data[:12], data[16:]): return None
    if flags & ~_COLUMNS: raise Newer('a batch segment has a flag that this version does not know')
    positions = [u64(data, _INDEX.size + _ENTRY_BYTES * i) for i in range(blocks)]
    index = Index(flags, block_bytes, salt, opening, base, after, content_bytes, frame_bytes, log_id, positions)
    return index if self.is_possible(index, at - _SKIPPABLE_BYTES) else None

  def is_possible(self, index: Index, frame_bytes: int) -> bool:
    """Whether the numbers of an index whose checksum is right can be those of this file."""
    form, blocks = self.form, len(index.positions)
    if index.frame_bytes != frame_bytes or frame_bytes < 8 or index.content_bytes > _MOST_CONTENT_BYTES: return False
    if form.is_right and (index.block_bytes != form.block_bytes or form.is_linked or
                          form.content_bytes not in (0, index.content_bytes)): return False
    if not _LEAST_BLOCK_BYTES <= index.block_bytes <= _MOST_BLOCK_BYTES: return False
    if -(-index.content_bytes // index.block_bytes) != blocks or index.salt == 0: return False
    if not index.base <= index.next <= MOST_OFFSETS or index.positions[0] != form.header_bytes: return False
    for position, end in zip(index.positions, index.positions[1:] + [frame_bytes - form.end_bytes]):
      least = position + 5 + form.trailer_bytes
      if not least <= end <= frame_bytes or end - least >= index.block_bytes: return False
    return True

  # Where the LZ4 blocks are.

  def spans_by_index(self, index: Index) -> List[Span]:
    ends = index.positions[1:] + [index.frame_bytes - self.form.end_bytes]
    sizes = [min(index.block_bytes, index.content_bytes - i * index.block_bytes) for i in range(len(ends))]
    return [Span(*each) for each in zip(index.positions, ends, sizes)]

  def spans_by_sizes(self) -> Tuple[Optional[List[Span]], int]:
    """By the sizes in front of them, if all but the last are full; None if every block has to be decompressed. And the
    bytes of the frame, or 0 if its end is not there."""
    form, at, left = self.form, self.form.header_bytes, self.form.content_bytes
    spans: List[Span] = []
    if not form.is_right or form.is_linked or not 0 < left <= _MOST_CONTENT_BYTES: return None, 0
    while True:
      word = _lz4.block_size(self.data, at)
      if word is None: return spans, 0
      if word == 0: return (spans, at + form.end_bytes) if left == 0 else (None, 0)
      if left == 0: return None, 0
      size = word & ~_STORED
      if not 0 < size <= form.block_bytes: return spans, 0
      end, made = at + 4 + size + form.trailer_bytes, min(left, form.block_bytes)
      is_cut = end > len(self.data)
      spans.append(Span(at, len(self.data) + form.trailer_bytes if is_cut else end, made))
      if is_cut: return spans, 0
      at, left = end, left - made

  def reconsider(self, index: Index) -> None:
    """A block that is damaged where the index has it: the frame may have others, and then the index is not its own."""
    if not self.form.is_right: return
    spans, frame_bytes = self.spans_by_sizes()
    pieces = None
    if spans is None: pieces, frame_bytes = self.look_through()
    if not frame_bytes or spans == self.spans_by_index(index): return
    if spans: pieces, _ = self.unpack(spans)
    if pieces: self.pieces, self.index = pieces, None

  # What they make.

  def unpack(self, spans: List[Span]) -> Tuple[Pieces, bool]:
    """The content of blocks whose sizes are known, and whether one is damaged."""
    pieces, is_damaged = Pieces(), False
    for span in spans:
      part, is_right = self.unpack_span(span)
      is_damaged |= not is_right
      pieces.append(part, span.bytes)
    return pieces, is_damaged

  def unpack_span(self, span: Span) -> Tuple[bytes, bool]:
    """What a block makes, up to its damage if it is damaged, and whether it is right."""
    word = _lz4.block_size(self.data, span.position)
    if word is None or span.end - span.position < 4: return b'', False
    size = span.end - span.position - 4 - self.form.trailer_bytes
    most = self.index.block_bytes if self.index else self.form.block_bytes
    if not 0 < size <= most: return b'', False
    packed = self.data[span.position + 4:span.position + 4 + size]
    if len(packed) < size: return b'', False
    # The size may be what is damaged, which also says whether the block is stored as it is.
    for is_stored in (word >= _STORED, word < _STORED):
      made = (packed if size <= span.bytes else None) if is_stored else _lz4.decompress(packed, span.bytes)
      if made is not None and len(made) == span.bytes: return made, True
    return self.up_to_damage(packed, word >= _STORED, span.bytes), False

  def up_to_damage(self, packed: bytes, is_stored: bool, room: int, history: bytes = b'') -> bytes:
    made = bytearray(history)
    if not is_stored: _lz4.expand(packed, room, made)
    elif len(packed) <= room: made += packed
    return bytes(made[len(history):])

  def look_through(self) -> Tuple[Pieces, int]:
    """Decompresses one block after the other to learn how much each makes: the content, and the bytes of the frame, or
    0. A damaged block counts as a full one: if it was, the blocks after it are at their right positions."""
    form, at, pieces = self.form, self.form.header_bytes, Pieces()
    while True:
      word = _lz4.block_size(self.data, at)
      if word == 0: return pieces, at + form.end_bytes
      size = word & ~_STORED if word is not None else 0
      if word is None or not 0 < size <= form.block_bytes: return pieces, 0
      there, room = len(self.data) - at, form.block_bytes
      if size + 4 + form.trailer_bytes > there: size = there - 4
      if size <= 0: return pieces, 0
      packed = self.data[at + 4:at + 4 + size]
      history = pieces[max(0, len(pieces) - _lz4.HISTORY_BYTES):] if form.is_linked else b''
      if word >= _STORED: part = packed if size <= room else None
      else: part = _lz4.decompress(packed, room, history)
      count = len(part) if part is not None else room
      if part is None:
        left = form.content_bytes - len(pieces)
        if left > 0: count = min(left, room)
        part = self.up_to_damage(packed, word >= _STORED, count, history)
      if len(pieces) + count > _MOST_CONTENT_BYTES: return pieces, 0
      pieces.append(part, count)
      at += min(4 + size + form.trailer_bytes, there)

  @property
  def vouches(self) -> bool:
    """Whether the frame's header is right, and its first block by its checksum."""
    form, data = self.form, self.data
    word = _lz4.block_size(data, form.header_bytes)
    if word is None or not form.is_right: return False
    size = word & ~_STORED
    if not 0 < size <= form.block_bytes: return False
    start = form.header_bytes + 4
    packed = data[start:start + size]
    if len(data) < start + size + form.trailer_bytes: return False
    if form.has_checksums and u32(data, start + size) != xxh32(packed): return False
    return word >= _STORED or _lz4.decompress(packed, form.block_bytes) is not None
