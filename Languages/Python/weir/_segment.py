"""One segment, raw or a batch, from block to block, after the sections Segment and Reading a log of FileFormat.md."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Iterator, List, NamedTuple, Optional, Tuple, Union

from ._batch import Batch
from ._blocks import HEADER_BYTES, MOST_LANES, MOST_OFFSETS, SEAL, Block, Origin, read_block, repaired
from ._checksums import crc32c, is_zero, u16, u32, u64
from ._errors import Newer
from ._pieces import Data
from ._values import Damaged

_HEADER_BYTES = 512
_RECORD_BYTES = 24
_COLLECTED = 1
RECOVERED, AFTER_CUT = 1, 2


class SegmentName(NamedTuple):
  """The name of a segment's file. In order of these, a log's segments are in order."""
  base: int
  is_active: bool
  is_batch: bool
  name: str


def segment_name(name: str) -> Optional[SegmentName]:
  """None: the name is not a segment's."""
  digits, dot, suffix = name[:20], name[20:21], name[20:]
  if len(digits) < 20 or not (digits.isascii() and digits.isdigit()) or dot != '.' or int(digits) > MOST_OFFSETS:
    return None
  if suffix not in ('.weir', '.weir.active', '.weir.lz4'): return None
  return SegmentName(int(digits), suffix == '.weir.active', suffix == '.weir.lz4', name)


@dataclass(frozen=True)
class Damage:
  """Bytes that are no valid block, and the offsets that are missing for them."""
  position: int
  end: int
  first: int
  count: int
  reason: Optional[str]
  is_tail: bool


class Segment:
  """The bytes of a segment's file, and what its header says. Without a valid header that is what the seal or the first
  valid block says of it; with the salt 0 the file is no segment."""

  def __init__(self, name: SegmentName, data: bytes):
    self.name, self.file_bytes = name, len(data)
    self.batch = Batch(data) if name.is_batch else None
    self.data: Data = self.batch.pieces if self.batch else data
    self.index = self.batch.index if self.batch else None
    self.is_valid, self.is_collected, self.host = False, False, None  # type: bool, bool, Optional[str]
    self.flags, self.previous_salt, self.boot_id = 0, 0, bytes(16)
    self.drained: List[Tuple[int, int]] = []
    self.damage: Optional[Damage] = None
    self.is_blank = False
    self.origin, self.base, self.start = Origin(0, 0, 0, MOST_LANES), name.base, 0
    if not self.take_header(): self.take_first_block()
    self.salt, self.opening, self.log_id, _ = self.origin

  # The header.

  def take_header(self) -> bool:
    data = self.data[:_HEADER_BYTES + 16 * MOST_LANES]
    lane_count = u32(data, 104) if len(data) >= _HEADER_BYTES else MOST_LANES + 1
    size = _HEADER_BYTES + 16 * lane_count
    if lane_count > MOST_LANES or len(data) < size: return False
    salt, opening, base = struct.unpack_from('<3Q', data, 24)
    if salt == 0 or base > MOST_OFFSETS or u32(data, 16) != crc32c(data[20:size]): return False
    incompatible = u64(data, 80)
    if incompatible & ~_COLLECTED: raise Newer(f'{self.name.name} has a feature that this version does not know')
    self.origin, self.base, self.start = Origin(salt, opening, u64(data, 144), lane_count), base, size
    index = self.index
    if index and (index.log_id, index.salt, index.opening, index.base) != (u64(data, 144), salt, opening, base):
      self.index = None  # another segment's
    if data[:8] == b'WEIRSEGM' and self.is_newer(u16(data, 8)):
      raise Newer(f'{self.name.name} was written by a newer version')
    self.is_valid, self.flags, self.previous_salt, self.boot_id = True, u32(data, 20), u64(data, 56), data[124:140]
    self.drained = [struct.unpack_from('<2Q', data, at) for at in range(_HEADER_BYTES, size, 16)]
    self.is_collected = bool(incompatible & _COLLECTED)
    if self.is_collected: self.host = data[184:248].partition(b'\0')[0].decode(errors='replace')
    return True

  def is_newer(self, major: int) -> bool:
    """Whether a higher version is believed: no checksum covers it. A valid block behind the header, or none at all,
    contradicts it, but for that of the next version, which no single flipped bit makes of this one."""
    if major <= 1 or self.index or self.batch and not self.batch.vouches: return False
    if major == 2: return True
    header = self.data[self.start:self.start + HEADER_BYTES]
    if len(header) < HEADER_BYTES or is_zero(header): return False
    try: self.block(self.start)
    except Damaged: return True
    return False

  def take_first_block(self) -> None:
    self.take_identity_of_seal()
    first = self.find_block(_HEADER_BYTES)
    # The name of a file that is being written is right: blocks of lower offsets are old bytes of the disk.
    while first and self.name.is_active and first.base < self.name.base: first = self.find_block(first.at + 8)
    reason, missing = 'segment header checksum does not match', 0
    self.start = len(self.data)
    if first:
      self.origin = Origin(first.salt, first.opening, first.log_id, MOST_LANES)
      self.base, self.start = first.base, first.at
      missing = max(0, first.base - self.name.base)
    elif self.index and self.index.base == self.name.base:
      index = self.index
      self.origin = Origin(index.salt, index.opening, index.log_id, MOST_LANES)
      self.start = min(_HEADER_BYTES, len(self.data))
    else:
      reason, self.origin = 'no segment: neither its header nor any block is right', Origin(0, 0, 0, MOST_LANES)
      self.is_blank = is_zero(self.data) and (not self.batch or self.file_bytes == 0)
    self.damage = Damage(0, self.start, self.name.base, missing, reason, False)

  def take_identity_of_seal(self) -> None:
    """What lies before the blocks of a raw segment may be old bytes of the disk, valid blocks of a removed segment."""
    if self.name.is_active or self.batch: return
    seal = self.seal_at_end()
    if seal: self.origin = Origin(seal.salt, seal.opening, seal.log_id, MOST_LANES)

  # Its blocks.

  @property
  def columns_first(self) -> bool: return self.batch is not None and self.batch.columns_first

  def block(self, at: int) -> Block: return read_block(self.data, at, self.origin, self.columns_first)

  def find_block(self, at: int) -> Optional[Block]:
    """The first valid block from `at` on, at a multiple of 8."""
    while True:
      at = self.data.find(b'WBLK', at)
      if at < 0: return None
      try:
        if at % 8 == 0: return self.block(at)
      except Damaged: pass
      at += 1

  def seal_at_end(self) -> Optional[Block]:
    """The seal, found from the end of the file."""
    data = self.data
    if len(data) % 8 or len(data) < self.start + HEADER_BYTES + 232: return None
    at = u64(data, len(data) - 8)
    if at % 8 or not self.start <= at <= len(data): return None
    try: seal = self.block(at)
    except Damaged: return None
    return seal if seal.kind == SEAL and seal.end == len(data) else None

  def steps(self, resync: bool = True, passed: int = 0) -> Iterator[Union[Block, Damage]]:
    """Its valid blocks in their order, and the damage between them; at last the seal, or the tail's damage, whose
    reason is None for a tail that a kill leaves. Without `resync` the steps end at the first bad block, and tell no
    damage. Blocks of lower offsets than `passed` are given without their payloads."""
    at, following = self.start, self.base
    while True:
      header, problem = None, None
      try:
        header = Block(self.data, at, self.origin)
        if header.next <= passed and header.count > 0 and following < passed: header.pass_payload()
        else: header.take_payload(self.data, self.columns_first)
      except Damaged as damaged: problem = str(damaged)
      if problem is None and header:
        following = max(following, header.next)
        yield header
        if header.kind == SEAL: return
        at = header.end
        continue
      if not resync: return
      found = self.find_block(at)
      if not found:
        yield self.tail(at, following, header, problem)
        return
      yield Damage(at, found.at, following, max(0, found.base - following), problem, False)
      at, following = found.at, max(following, found.base)

  def tail(self, at: int, following: int, bad: Optional[Block], problem: Optional[str]) -> Damage:
    """What is behind the last block. A header that is valid, or that one changed byte explains, is no torn one."""
    whole = bad or repaired(self.data, at, self.origin)
    reason = problem if whole else None
    missing = max(0, whole.next - following) if whole else 0
    end = len(self.data)
    if self.batch and at < end:
      reason, most = problem, (end - at) // _RECORD_BYTES
      if self.index and 0 < self.index.next - following <= most: missing = self.index.next - following
    return Damage(at, end, following, missing, reason, True)
