"""read_blocks.py: checksums, definitions, records, columns and blocks, after those sections of FileFormat.md.

Each is made from its bytes and raises Damaged unless what the page says of a valid one holds.
"""
import struct

from read_values import OBJECT, Damaged, Values, require, string

EVENTS, DEFINITIONS, NOTICES, SEAL = 1, 2, 3, 4
GAP, HOLE = 1, 2
NO_LANE = 65535


# ---- Checksums and numbers -------------------------------------------------------------------------------------------

def crc_table():
  for byte in range(256):
    for _ in range(8): byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
    yield byte


TABLE = list(crc_table())


def crc32c(*parts):
  crc = 0xffffffff
  for part in parts:
    for byte in part: crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
  return crc ^ 0xffffffff


assert crc32c(b'123456789') == 0xe3069283


def u32(data, at): return struct.unpack_from('<I', data, at)[0]
def u64(data, at): return struct.unpack_from('<Q', data, at)[0]
def eight(number): return struct.pack('<Q', number)
def is_zero(data): return not any(data)


def signed(number):
  """A number of 64 bits, the highest of them its sign; what is above is cut."""
  return (number + 2**63) % 2**64 - 2**63


def time_of(ticks, calibration):
  base_ticks, wall_ns, multiplier, _ = calibration
  return signed(wall_ns + (signed(ticks - base_ticks) * multiplier >> 32))


def monotonic_of(ticks, calibration):
  """None where no clock was read."""
  base_ticks, _, multiplier, monotonic_ns = calibration
  return signed(monotonic_ns + (signed(ticks - base_ticks) * multiplier >> 32)) if multiplier else None


# ---- Definitions -----------------------------------------------------------------------------------------------------

class Definition:
  """The entry at `at` in `data`: of a type, or of a context, whose bytes are its attributes."""

  def __init__(self, data, at, opening):
    require(at + 32 <= len(data), 'a definition is cut')
    self.size, crc, self.type, self.flags, fields_bytes = struct.unpack_from('<5I', data, at)
    name_bytes, field_count, attributes_bytes, reserved = struct.unpack_from('<2H2I', data, at + 20)
    fields_at, attributes_at = 32 + name_bytes, 32 + name_bytes + fields_bytes
    end = attributes_at + attributes_bytes
    require(self.size == (end + 7 & ~7) and at + self.size <= len(data), 'a definition has a wrong length')
    require(self.size <= 32768 and self.type < 8192, 'a definition is too large, or has an impossible number')
    entry = data[at:at + self.size]
    require(crc == crc32c(eight(opening), entry[8:]), 'a definition does not match its checksum')
    require(is_zero(entry[end:]) and reserved == 0, 'padding of a definition is not zero')
    self.name, self.bytes = string(entry[32:fields_at]), entry[fields_at:attributes_at]
    self.attributes, self.is_context = entry[attributes_at:end], bool(self.flags & 2)
    require(not self.is_context or attributes_at == 32, 'a context has a name or fields')
    values = Values(self.bytes)
    self.fields = values.fields(field_count)
    values.finish()
    if self.attributes or self.is_context: check_object(self.attributes)


def check_object(data):
  """That these are one tagged object, whose names are UTF-8."""
  values = Values(data)
  values.tagged(OBJECT, 0, has_names=True)
  values.finish()


def definitions(data, opening):
  """The definitions that fill `data`, by opening and type."""
  found, at = {}, 0
  while at < len(data):
    definition = Definition(data, at, opening)
    found[opening, definition.type] = definition
    at += definition.size
  return found


# ---- Records ---------------------------------------------------------------------------------------------------------

class Record:
  """The record at `at` in `data`, which is position `position` of `lane`. `check` holds the rest of its bytes up."""

  def __init__(self, data, at, opening, lane, position):
    require(at + 24 <= len(data), 'a record is cut')
    self.checksum, self.length, word, self.index, self.ticks = struct.unpack_from('<4IQ', data, at)
    self.type, self.context, self.is_scoped = word & 0xffff, word >> 16 & 0x7fff, bool(word >> 31)
    self.size = 24 + self.length + 7 & ~7
    require(at + self.size <= len(data), 'a record is cut')
    self.header, self.payload = data[at + 4:at + 24], data[at + 24:at + 24 + self.length]
    self.padding = data[at + 24 + self.length:at + self.size]
    self.origin = eight(opening), eight(lane), eight(position)
    self.opening, self.sequence = opening, lane << 48 | position // 8 & 2**48 - 1

  def check(self):
    require(is_zero(self.padding), 'padding of a record is not zero')
    require(self.checksum == crc32c(*self.origin, self.payload, self.header), 'a record does not match its checksum')
    return self


# ---- Columns ---------------------------------------------------------------------------------------------------------

def rows(columns, count):
  """The records whose columns these are, one after the other."""
  at = 0

  def unplane(number, size):
    """`number` pieces of `size` bytes, out of their planes."""
    nonlocal at
    planes = [columns[at + i * number:at + (i + 1) * number] for i in range(size)]
    at += number * size
    return [bytes(piece) for piece in zip(*planes)] if size else [b''] * number

  headers = unplane(count, 24)
  rests = [(u32(header, 4) + 7 & ~7) for header in headers]
  require(sum(rests) + 24 * count == len(columns), 'the sizes of columns do not add up')
  groups, others = {}, []
  for index, header in enumerate(headers):
    kind = u32(header, 8) & 0xffff
    alone = kind < 8192 and (kind in groups or len(groups) < 64)
    (groups.setdefault(kind, []) if alone else others).append(index)
  bodies = {}
  for group in [*groups.values(), others]:
    if group is not others and len({rests[index] for index in group}) == 1:
      bodies.update(zip(group, unplane(len(group), rests[group[0]])))
      continue
    for index in group:
      bodies[index] = columns[at:at + rests[index]]
      at += rests[index]
  return b''.join(header + bodies[index] for index, header in enumerate(headers))


# ---- Blocks ----------------------------------------------------------------------------------------------------------

class Block:
  """The block at `at` in `data`, of the segment with that log id, salt and opening (0: not known)."""

  def __init__(self, data, at, log_id, salt, opening, lane_count):
    require(data[at:at + 4] == b'WBLK' and at + 160 <= len(data), 'no block where one should be')
    header = data[at:at + 160]
    require(u32(header, 4) == crc32c(header[8:]), 'a block header does not match its checksum')
    (self.salt, position, self.opening, self.kind, size, payload_crc, self.count, self.base, self.lane, self.index,
     self.lane_from, self.lane_to) = struct.unpack_from('<3Q4IQ2I2Q', header, 8)
    self.calibration = struct.unpack_from('<QqQq', header, 96)
    self.log_id = u64(header, 128)
    self.at, self.end = at, at + 160 + size
    has_index = self.kind == NOTICES and self.lane != NO_LANE
    require(has_index or self.index == 0, 'reserved bytes of a block are not zero')
    require(position == at and self.salt == (salt or self.salt) != 0 and self.opening == (opening or self.opening) and
            self.log_id == (log_id or self.log_id), 'a block of another place')
    require(is_zero(header[136:]), 'a block has a layout or a key')
    require(size % 8 == 0 and size <= 2 << 20 and self.end <= len(data), 'a block has an impossible length')
    require(self.base + self.count < 2**64, 'a block has an impossible offset')
    self.check_lane(lane_count, size)
    self.payload = data[at + 160:self.end]
    if payload_crc != crc32c(self.payload):
      may_be_columns = self.kind == EVENTS and 24 * self.count <= size <= 128 * self.count
      if may_be_columns: self.payload = rows(self.payload, self.count)
      require(may_be_columns and payload_crc == crc32c(self.payload), 'a block does not match its checksum')
    self.records, self.definitions = [], {}
    if self.kind == DEFINITIONS: self.definitions = definitions(self.payload, self.opening)
    elif self.kind == SEAL: self.read_seal()
    else: self.read_records()

  def check_lane(self, lane_count, size):
    require(self.kind in (EVENTS, DEFINITIONS, NOTICES, SEAL), 'a block of an unknown kind')
    self.hands_over = self.lane < lane_count and self.kind in (EVENTS, NOTICES)
    if self.hands_over:
      length = self.lane_to - self.lane_from
      require(self.lane_from % 8 == 0 and length % 8 == 0, 'lane positions of a block are impossible')
      require(length == size if self.kind == EVENTS else length > 0, 'lane positions of a block do not fit its length')
    else:
      require(self.kind != EVENTS and self.lane == NO_LANE and self.lane_from == self.lane_to == 0,
              'a block of a lane that there is not')
    require(self.count == 0 or self.kind in (EVENTS, NOTICES), 'a count in a block that counts nothing')

  def read_seal(self):
    require(len(self.payload) >= 232 and is_zero(self.payload[192:224]), 'a seal is cut, or has a chain')
    size, count, reserved = struct.unpack_from('<3I', self.payload, 180)
    end = 224 + size + 16 * count
    require(size % 8 == 0 and reserved == 0 and len(self.payload) == end + 8 and u64(self.payload, end) == self.at,
            'a seal has a wrong length')
    self.definitions = definitions(self.payload[224:224 + size], self.opening)
    self.totals = [struct.unpack_from('<2IQ', self.payload, 224 + size + 16 * i) for i in range(count)]

  def read_records(self):
    at = 0
    for index in range(self.count):
      lane, position = (self.lane, self.lane_from + at) if self.kind == EVENTS else (NO_LANE, 8 * (self.base + index))
      self.records.append(Record(self.payload, at, self.opening, lane, position))
      at += self.records[-1].size
    require(at == len(self.payload), 'a block has not as many records as it says')
