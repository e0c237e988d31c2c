"""Definitions, records, columns and blocks, after those sections of FileFormat.md.

Each is made from its bytes and raises Damaged unless what the page says of a valid one holds.
"""
from __future__ import annotations

import re
import struct
from typing import Dict, List, NamedTuple, Optional, Tuple

from ._checksums import crc32c, eight, extend, is_zero, padded, u32, u64
from ._pieces import Data
from ._values import Damaged, Fields, Values, check_object, require

EVENTS, DEFINITIONS, NOTICES, SEAL = 1, 2, 3, 4
GAP, HOLE, DYNAMIC = 1, 2, 3
NO_LANE, MOST_LANES = 65535, 256
MOST_OFFSETS = 2**63
UNKNOWN_INDEX = 2**32 - 1
HEADER_BYTES, RECORD_BYTES = 160, 24
# Events that later ones overwrote: the one loss that is told of as a part of its lane.
OVERWRITTEN = 8
REASONS = ['', 'full', 'no_lane', 'too_large', 'closed', 'detached', 'storage', 'invalid', 'overwritten', 'expired',
           'displaced', 'sampled'] + [f'reason_{number}' for number in range(12, 16)]

Calibration = Tuple[int, int, int, int]


# ---- Definitions -----------------------------------------------------------------------------------------------------

_DEFINITION = struct.Struct('<5I2H2I')
_MOST_DEFINITION_BYTES = 32768
_SOMETHING = re.compile(b'[^\0]')


class Definition:
  """The entry at `at` in `data`: of a type, or of a context, whose bytes are its attributes."""

  def __init__(self, data: bytes, at: int, opening: int):
    require(at + 32 <= len(data), 'a definition is cut')
    (self.size, crc, self.number, flags, fields_bytes, name_bytes, field_count, attributes_bytes,
     reserved) = _DEFINITION.unpack_from(data, at)
    fields_at, attributes_at = 32 + name_bytes, 32 + name_bytes + fields_bytes
    end = attributes_at + attributes_bytes
    require(self.size == padded(end) and at + self.size <= len(data), 'a definition has a wrong length')
    require(self.number < 8192, 'a definition has an impossible number')
    entry = data[at:at + self.size]
    require(crc == crc32c(eight(opening), entry[8:]), 'a definition does not match its checksum')
    require(is_zero(entry[end:]) and reserved == 0, 'padding of a definition is not zero')
    self.name_bytes, self.bytes = entry[32:fields_at], entry[fields_at:attributes_at]
    self.attributes = entry[attributes_at:end]
    self.is_tagged, self.is_context = bool(flags & 1), bool(flags & 2)
    require(not self.is_context or attributes_at == 32, 'a context has a name or fields')
    values = Values(self.bytes)
    self.fields: Fields = values.described(field_count)
    values.finish()
    if self.attributes or self.is_context: check_object(self.attributes)


# Each segment has its definitions twice, and they are those of the segment before: they are looked at once.
_known: Dict[Tuple[int, bytes], Definition] = {}
_MOST_KNOWN = 512


def read_definition(data: bytes, at: int, opening: int) -> Definition:
  size = u32(data, at)
  require(_DEFINITION.size <= size <= _MOST_DEFINITION_BYTES, 'a definition has a wrong length')
  key = opening, data[at:at + size]
  known = _known.get(key)
  if not known:
    known = Definition(data, at, opening)
    if len(_known) >= _MOST_KNOWN: _known.clear()
    _known[key] = known
  return known


def definitions(data: bytes, opening: int) -> List[Definition]:
  """The definitions that fill `data`."""
  found, at = [], 0
  while at < len(data):
    found.append(read_definition(data, at, opening))
    at += found[-1].size
  return found


def find_definitions(data: bytes, opening: int) -> List[Definition]:
  """Those at any multiple of 8, also after damage, or after pages that never reached the disk."""
  found: List[Definition] = []
  something = _SOMETHING.search(data)
  while something:
    at = something.start() & ~7  # a definition begins with its length: where all is zero there is none
    try:
      found.append(read_definition(data, at, opening))
      at += found[-1].size
    except Damaged: at += 8
    something = _SOMETHING.search(data, at)
  return found


def entry(number: int, name: str, fields: bytes, count: int) -> Definition:
  """A definition that this library has itself, because every log has it."""
  text = name.encode() + fields
  body = struct.pack('<3I2H2I', number, 0, len(fields), len(name), count, 0, 0) + text
  body += bytes(padded(len(body)) - len(body))
  return Definition(struct.pack('<2I', len(body) + 8, crc32c(eight(0), body)) + body, 0, 0)


def _field(name: str, *kinds: int) -> bytes: return struct.pack('<H', len(name)) + name.encode() + bytes(kinds)


BUILT_IN = {each.number: each for each in (
    entry(GAP, 'weir.gap', _field('lane', 8) + _field('reason', 12) + _field('dropped', 9) + _field('total', 9), 4),
    entry(HOLE, 'weir.hole', _field('reason', 12) + _field('lane', 8) + _field('bytes', 9) + _field('events', 16, 9),
          4),
    entry(DYNAMIC, 'weir.dynamic', b'', 0))}


class DefinitionTable:
  """The definitions of one opening by their numbers. Where two have a number, the first counts."""

  def __init__(self) -> None:
    self.opening = 0
    self.found: Dict[int, Definition] = {}

  def take(self, opening: int, found: List[Definition]) -> None:
    if self.opening != opening: self.opening, self.found = opening, {}
    for each in found: self.found.setdefault(each.number, each)

  def find(self, opening: int, number: int) -> Optional[Definition]:
    return self.found.get(number) if self.opening == opening else None


# ---- Records ---------------------------------------------------------------------------------------------------------

RECORD = struct.Struct('<4IQ')


class Record:
  """A record, at `at` in the bytes that it was read from. `word` is its type, its context and its scope's bit."""

  __slots__ = ('checksum', 'length', 'word', 'index', 'ticks', 'at', 'size')

  def __init__(self, checksum: int, length: int, word: int, index: int, ticks: int, at: int, size: int):
    self.checksum, self.length, self.word, self.index, self.ticks = checksum, length, word, index, ticks
    self.at, self.size = at, size

  @property
  def type(self) -> int: return self.word & 0xffff

  @property
  def context(self) -> int: return self.word >> 16 & 0x7fff

  @property
  def is_scoped(self) -> bool: return bool(self.word >> 31)

  def payload(self, data: bytes) -> bytes: return data[self.at + RECORD_BYTES:self.at + RECORD_BYTES + self.length]


def read_record(data: bytes, at: int) -> Record:
  require(at + RECORD_BYTES <= len(data), 'a record is cut')
  checksum, length, word, index, ticks = RECORD.unpack_from(data, at)
  size = RECORD_BYTES + length + 7 & ~7
  require(at + size <= len(data), 'a record is cut')
  return Record(checksum, length, word, index, ticks, at, size)


def records_of(data: bytes, count: int) -> List[Record]:
  """The `count` records that fill `data`."""
  found, at = [], 0
  for _ in range(count):
    found.append(read_record(data, at))
    at += found[-1].size
  require(at == len(data), 'a block has not as many records as it says')
  return found


def sequence_of(lane: int, position: int) -> int: return lane << 48 | position // 8 & 2**48 - 1


# ---- Columns ---------------------------------------------------------------------------------------------------------

def rows(columns: bytes, count: int) -> bytes:
  """The records whose columns these are, one after the other."""
  require(24 * count <= len(columns), 'the sizes of columns do not add up')
  at = 0

  def unplane(number: int, size: int) -> List[bytes]:
    """`number` pieces of `size` bytes, out of their planes."""
    nonlocal at
    planes = [columns[at + i * number:at + (i + 1) * number] for i in range(size)]
    at += number * size
    return [bytes(piece) for piece in zip(*planes)] if size else [b''] * number

  headers = unplane(count, 24)
  rests = [padded(u32(header, 4)) for header in headers]
  require(sum(rests) + 24 * count == len(columns), 'the sizes of columns do not add up')
  groups: Dict[int, List[int]] = {}
  others: List[int] = []
  for index, header in enumerate(headers):
    kind = u32(header, 8) & 0xffff
    alone = kind < 8192 and (kind in groups or len(groups) < 64)
    (groups.setdefault(kind, []) if alone else others).append(index)
  bodies: Dict[int, bytes] = {}
  for group in [*groups.values(), others]:
    if group is not others and len({rests[index] for index in group}) == 1:
      bodies.update(zip(group, unplane(len(group), rests[group[0]])))
      continue
    for index in group:
      bodies[index] = columns[at:at + rests[index]]
      at += rests[index]
  return b''.join(header + bodies[index] for index, header in enumerate(headers))


# ---- Blocks ----------------------------------------------------------------------------------------------------------

_BLOCK = struct.Struct('<2I3Q4IQ2I4QQqQqQ2I16s')
_MAGIC = 0x4b4c4257
_MOST_PAYLOAD_BYTES = 2 << 20


class Origin(NamedTuple):
  """What a segment's blocks have in common. With the salt 0 nothing of it is known yet."""
  salt: int
  opening: int
  log_id: int
  lane_count: int


class Block:
  """The header of the block at `at` in `data`; `take_payload` reads the rest."""

  def __init__(self, data: Data, at: int, origin: Origin):
    require(0 <= at <= len(data) - HEADER_BYTES, 'the file ends where a block should be')
    header = data[at:at + HEADER_BYTES]
    magic, crc = struct.unpack_from('<2I', header)
    require(magic == _MAGIC, 'no block where one should be')
    require(crc == crc32c(header[8:]), 'block header checksum does not match')
    self.take_header(header, at, len(data), origin)

  def take_header(self, header: bytes, at: int, file_bytes: int, origin: Origin) -> None:
    (_, _, self.salt, position, self.opening, self.kind, self.size, self.payload_crc, self.count, self.base, self.lane,
     self.index, self.lane_from, self.lane_to, _, _, *calibration, self.log_id, layout, key,
     tag) = _BLOCK.unpack(header)
    self.calibration: Calibration = tuple(calibration)
    self.at, self.end, self.next = at, at + HEADER_BYTES + self.size, self.base + self.count
    require(self.salt != 0 and position == at and
            (origin.salt == 0 or (self.salt, self.opening, self.log_id) == origin[:3]), 'block of another place')
    require(layout == 0 and key == 0 and is_zero(tag), 'block has a layout or a key, which this version does not know')
    require(self.index == 0 or self.kind == NOTICES and self.lane != NO_LANE, 'reserved bytes of a block are not zero')
    require(self.size % 8 == 0 and self.size <= _MOST_PAYLOAD_BYTES, 'block has an impossible length')
    require(self.end <= file_bytes, "block runs past the file's end")
    require(self.next <= MOST_OFFSETS, 'block has an impossible offset')
    self.check_lane(origin.lane_count)

  def check_lane(self, lane_count: int) -> None:
    require(self.kind in (EVENTS, DEFINITIONS, NOTICES, SEAL), 'block of an unknown kind')
    self.has_lane = self.lane < lane_count and self.kind in (EVENTS, NOTICES)
    if self.has_lane:
      length = self.lane_to - self.lane_from
      aligned = self.lane_from % 8 == 0 and self.lane_to % 8 == 0
      require(aligned and (length == self.size if self.kind == EVENTS else length > 0),
              "block's lane positions are impossible")
    else:
      require(self.kind != EVENTS and self.lane == NO_LANE and self.lane_from == self.lane_to == 0,
              'block of a lane that there is not')
    require(self.count == 0 or self.kind in (EVENTS, NOTICES), 'block has a count that its kind does not have')

  def take_payload(self, data: Data, columns_first: bool) -> 'Block':
    """Reads the payload, in rows or in columns, whichever fits its checksum."""
    stored = data[self.at + HEADER_BYTES:self.end]
    may_be_columns = self.kind == EVENTS and 24 * self.count <= self.size <= 128 * self.count
    problem = None
    for in_columns in (True, False) if columns_first and may_be_columns else (False, True):
      if in_columns and not may_be_columns: continue
      try:
        self.payload = rows(stored, self.count) if in_columns else stored
        require(self.payload_crc == crc32c(self.payload), 'block checksum does not match')
        self.read_payload()
        return self
      except Damaged as damaged:
        if not in_columns: problem = damaged
    raise problem or Damaged('block checksum does not match')

  def pass_payload(self) -> None:
    """Nobody asks for what is in it."""
    self.records: List[Record] = []
    self.definitions: List[Definition] = []

  def read_payload(self) -> None:
    self.pass_payload()
    if self.kind == DEFINITIONS: self.definitions = definitions(self.payload, self.opening)
    elif self.kind == SEAL: self.read_seal()
    else: self.records = records_of(self.payload, self.count)

  def read_seal(self) -> None:
    require(len(self.payload) >= 232 and is_zero(self.payload[192:224]), 'a seal is cut, or has a chain')
    self.events = u64(self.payload, 8)
    size, count, reserved = struct.unpack_from('<3I', self.payload, 180)
    end = 224 + size + 16 * count
    require(size % 8 == 0 and reserved == 0 and len(self.payload) == end + 8 and u64(self.payload, end) == self.at,
            'a seal has a wrong length')
    self.definitions = definitions(self.payload[224:224 + size], self.opening)
    self.totals = [struct.unpack_from('<2IQ', self.payload, 224 + size + 16 * i) for i in range(count)]


def read_block(data: Data, at: int, origin: Origin, columns_first: bool) -> Block:
  return Block(data, at, origin).take_payload(data, columns_first)


# ---- One changed byte ------------------------------------------------------------------------------------------------

_changes: Dict[int, List[Tuple[int, int]]] = {}


def _changes_by_syndrome() -> Dict[int, List[Tuple[int, int]]]:
  """For each change of one byte that the header's checksum covers: what it changes of the checksum."""
  if not _changes:
    for bit in range(1, 256):
      syndrome = crc32c(bytes([bit])) ^ crc32c(b'\0')
      for at in range(HEADER_BYTES - 1, 7, -1):
        _changes.setdefault(syndrome, []).append((at, bit))
        syndrome = extend(syndrome, b'\0')
  return _changes


def repaired(data: Data, at: int, origin: Origin) -> Optional[Block]:
  """The header at `at` with one byte changed, if that makes it valid: a kill does not leave such bytes."""
  header = data[at:at + HEADER_BYTES]
  if len(header) < HEADER_BYTES or is_zero(header): return None
  magic, stored = struct.unpack_from('<2I', header)
  syndrome = stored ^ crc32c(header[8:])
  changes: List[Tuple[int, int]] = []
  if magic != _MAGIC:
    if syndrome == 0: changes = [(i, magic >> 8 * i & 255 ^ _MAGIC >> 8 * i & 255) for i in range(4)]
  else:
    changes = [(4 + i, syndrome >> 8 * i & 255) for i in range(4)] + _changes_by_syndrome().get(syndrome, [])
  for position, bits in sorted(changes):
    changed = header[:position] + bytes([header[position] ^ bits]) + header[position + 1:]
    found = Block.__new__(Block)
    if bits == 0 or changed[:4] != b'WBLK' or u32(changed, 4) != crc32c(changed[8:]): continue
    try:
      found.take_header(changed, at, len(data), origin)
      return found
    except Damaged: continue
  return None
