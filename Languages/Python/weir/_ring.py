"""The lanes of a writer that died: what no segment has yet, after the sections Ring, Another boot and Reading a log of
FileFormat.md.

What the log says of the lanes is the `Word` of _word.py. Everything is read by pread into private memory, because
somebody may cut the file short at any moment.
"""
from __future__ import annotations

import os
import struct
from typing import Iterator, List, NamedTuple, Optional, Tuple

from ._blocks import (GAP, HOLE, MOST_LANES, MOST_OFFSETS, NO_LANE, OVERWRITTEN, RECORD, RECORD_BYTES, REASONS,
                      Calibration, Definition, Record, find_definitions)
from ._checksums import crc32c, eight, extend, is_zero, padded, u32, u64
from ._errors import Newer, WriterAtWork
from ._files import boot_id, is_live, open_plain, read_at
from ._values import require
from ._word import Word, add, number

_CONTROL_BYTES, _HEADER_BYTES = 4096, 4096
_FIXED_BYTES = 512  # of the header: they never change
_MOST_RECORD_BYTES = (1 << 20) + 32
_LAST_FIRST_OFFSET = MOST_OFFSETS - 2**48
_CANCELLED = 16
_MOST_LAPS = 256
LEFT_OUT = 2**32
_SEEK_DATA = getattr(os, 'SEEK_DATA', 3)


class Item(NamedTuple):
  """An event of a lane, or a notice: the record's bytes, its number and its place."""
  lane: int
  position: Optional[int]  # None: a notice, whose place is its offset
  data: bytes
  record: Record


class Ring:
  """The header of the ring `name` in a directory, and its control pages."""

  def __init__(self, directory: int, name: str):
    self.fd, self.name = open_plain(directory, name), name
    self.directory = os.dup(directory)
    try: self.take_header()
    except BaseException:
      self.close()
      raise

  def take_header(self) -> None:
    fd, size = self.fd, os.fstat(self.fd).st_size
    self.header = header = read_at(fd, _HEADER_BYTES, 0)
    require(len(header) == _HEADER_BYTES and header[:8] == b'WEIRRING', 'the ring is damaged')
    major, _, crc = struct.unpack_from('<2HI', header, 8)
    is_right = crc == crc32c(header[16:512])
    if major == 2 or major > 2 and not is_right: raise Newer('the ring was written by a newer version')
    require(is_right, 'the ring is damaged')
    self.types_at: int
    self.lanes_at: int
    self.stride: int
    self.base: int
    self.log_end: int
    (self.opening, file_bytes, self.lane_count, spare, self.lane_bytes, self.record_bytes, self.lanes_at, self.stride,
     self.types_at, self.types_bytes, self.base, incompatible) = struct.unpack_from('<2Q2I8Q', header, 16)
    if incompatible: raise Newer('the ring has a feature that this version does not know')
    overflow, self.log_id = u32(header, 132), u64(header, 136)
    self.check(file_bytes, size, spare, overflow)
    self.log_end, self.types_end, closed = struct.unpack_from('<3Q', header, 512)
    self.is_closed, self.boot_id = closed == 1, header[112:128]
    is_of_another_boot = self.boot_id != boot_id() or is_zero(self.boot_id)
    # Of another boot and not closed: no two pages need be of one moment. Closed: there is nothing to give.
    self.is_cut, self.is_empty = is_of_another_boot and not self.is_closed, is_of_another_boot and self.is_closed
    self.first_overflow = self.lane_count - overflow
    in_play, complement = struct.unpack_from('<2I', header, 544)
    is_known = in_play ^ complement == 0xffffffff and self.first_overflow <= in_play <= self.lane_count
    self.lanes = in_play if is_known and not self.is_cut else self.lane_count
    self.unlaned = bytes(512) if self.is_empty else header[640:896]
    self.controls = [self.read_control(lane) for lane in range(self.lanes)]

  def check(self, file_bytes: int, size: int, spare: int, overflow: int) -> None:
    record, lane = self.record_bytes, self.lane_bytes
    require(1 <= self.lane_count <= MOST_LANES and overflow <= spare <= self.lane_count and
            overflow < self.lane_count and RECORD_BYTES <= record <= _MOST_RECORD_BYTES and
            lane & lane - 1 == 0 and record <= lane <= 2**32 and
            self.stride >= _CONTROL_BYTES + lane + record + 8 and
            self.stride % 4096 == self.lanes_at % 4096 == self.types_at % 8 == 0 and
            min(self.lanes_at, self.types_at) >= _HEADER_BYTES and file_bytes <= size and
            self.lanes_at + self.lane_count * self.stride <= file_bytes and
            self.types_at + self.types_bytes <= file_bytes and self.types_bytes <= 64 << 20 and
            self.base <= MOST_OFFSETS, 'the ring is damaged')

  def close(self) -> None:
    os.close(self.fd)
    os.close(self.directory)

  def is_current(self, home: int) -> bool:
    """Whether no writer has opened the log in the directory `home`: then what was read before is the ring's. A writer
    may make a ring in the same file. Such a writer has the lock, or died and left the file under another name, or the
    header of another opening."""
    if is_live(home): return False
    try: there = os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
    except FileNotFoundError: return False
    own = os.fstat(self.fd)
    is_same = (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)
    return is_same and read_at(self.fd, _FIXED_BYTES, 0) == self.header[:_FIXED_BYTES]

  def place(self, lane: int) -> int: return self.lanes_at + lane * self.stride

  def read_control(self, lane: int) -> bytes:
    """A lane's control page: zeros if it is of an overflow lane, and never reached the disk."""
    if self.is_empty: return bytes(_CONTROL_BYTES)
    page = read_at(self.fd, _CONTROL_BYTES, self.place(lane))
    require(len(page) == _CONTROL_BYTES, 'the ring is damaged')
    is_lost = self.is_cut and lane >= self.first_overflow and u64(page, 312) != self.opening
    return bytes(_CONTROL_BYTES) if is_lost else page

  def definitions(self) -> List[Definition]:
    end = self.types_bytes if self.is_cut else min(self.types_end, self.types_bytes)
    return find_definitions(read_at(self.fd, end - end % 8, self.types_at), self.opening)

  @property
  def end(self) -> int:
    """The offset after the last one that the ring knows."""
    return self.log_end if self.base < self.log_end <= _LAST_FIRST_OFFSET else self.base

  @property
  def calibration(self) -> Optional[Calibration]:
    slots = []
    for at in (560, 600):
      *calibration, sequence, crc = struct.unpack_from('<QqQq2I', self.header, at)
      if sequence and crc == crc32c(self.header[at:at + 36]): slots.append((sequence, tuple(calibration)))
    if len(slots) == 2 and not 0 < slots[1][0] - slots[0][0] & 0xffffffff < 2**31: slots.pop()
    return slots[-1][1] if slots else None

  def read_lane(self, lane: int) -> bytes:
    """Its records and its overhang; nothing of a lane that was never used."""
    at, count = self.place(lane) + _CONTROL_BYTES, self.lane_bytes + self.record_bytes + 8
    try:
      if os.lseek(self.fd, at, _SEEK_DATA) >= at + count: return b''
    except OSError: pass  # a hole up to the file's end, or a file system that tells none: the bytes decide
    data = read_at(self.fd, count, at)
    require(len(data) == count, 'the ring is damaged')
    return data


class Replay:
  """What is left in a ring, in order: each record and notice that the next opening will write, with its offset. Raises
  WriterAtWork where a writer has opened the log in the directory `home`: what is in the file may be another ring's."""

  def __init__(self, ring: Ring, word: Word, home: int):
    self.ring, self.word, self.home = ring, word, home
    self.is_cut = ring.is_cut
    self.calibration: Calibration = ring.calibration or word.calibration
    self.start = self.known_end = max(word.log_end, ring.end)
    if self.is_cut and not word.is_after_cut: self.start += LEFT_OUT
    self.next = self.start

  def items(self) -> Iterator[Item]:
    if self.is_cut and not self.word.is_after_cut:
      yield self.notice(HOLE, _text('unknown tail') + struct.pack('<IQ?', NO_LANE, 0, False))
    ring = self.ring
    for lane, control in enumerate(ring.controls): yield from Lane(self, lane, control).items()
    self.check()
    for lane, control in enumerate(ring.controls): yield from self.gaps(lane, control[8:], control[192:])
    yield from self.gaps(NO_LANE, ring.unlaned[8:], ring.header[768 + 8:])

  def check(self) -> None:
    if not self.ring.is_current(self.home): raise WriterAtWork

  def gaps(self, lane: int, dropped: bytes, reported: bytes) -> Iterator[Item]:
    for reason in range(1, 16):
      if reason == OVERWRITTEN and lane != NO_LANE: continue  # no refusal: the lane's own notices tell of it
      total, at = u64(dropped, 8 * (reason - 1)), 8 * (reason - 1)
      told = self.word.reported_of(lane, reason, u64(reported, at))
      if total > told: yield self.gap(lane, reason, total, told)

  def gap(self, lane: int, reason: int, total: int, told: int) -> Item:
    return self.notice(GAP, struct.pack('<I', lane) + _text(REASONS[reason]) + struct.pack('<QQ', total - told, total))

  def hole(self, lane: int, count: int, events: Optional[int]) -> Item:
    return self.notice(HOLE, _text('lost in a power cut' if self.is_cut else 'damaged in the ring') +
                       struct.pack('<IQ', lane, count) + (b'\0' if events is None else struct.pack('<BQ', 1, events)))

  def notice(self, kind: int, payload: bytes) -> Item:
    record = Record(0, len(payload), kind, 0, self.calibration[0], 0, padded(RECORD_BYTES + len(payload)))
    return Item(NO_LANE, None, bytes(RECORD_BYTES) + payload, record)


class Lane:
  """One lane of a replay, from its drained position on."""

  def __init__(self, replay: Replay, lane: int, control: bytes):
    self.replay, self.ring, self.word, self.lane = replay, replay.ring, replay.word, lane
    self.is_cut, self.lane_bytes = replay.is_cut, replay.ring.lane_bytes
    self.tail, self.head = u64(control, 0), u64(control, 128) & ~7
    self.evicted, self.total = _evicted(control)
    self.told = self.word.reported_of(lane, OVERWRITTEN, u64(control, 192 + 8 * (OVERWRITTEN - 1)))
    self.seed = extend(extend(0xffffffff, eight(self.ring.opening)), eight(lane))
    self.data = b''
    self.count = self.word.records_of(lane)
    self.is_plausible = self.tail % 8 == 0 and self.head <= self.tail <= self.head + self.lane_bytes
    self.position, self.end = self.bounds()
    replay.check()

  def bounds(self) -> Tuple[int, int]:
    """Where the lane starts and ends. Reads its bytes, unless it has none."""
    word = self.word.drained.get(self.lane)
    if self.is_cut: return self.survivors(word or 0)
    if self.is_plausible:
      start = self.head
      if word is not None and (self.word.is_unsealed or word > self.head): start = word
      start = min(max(start, self.tail - self.lane_bytes), self.tail)
      if self.has_unknown_eviction() and self.evicted <= self.head: start = max(start, self.evicted)
      if start < self.tail: self.data = self.ring.read_lane(self.lane) or self.zeros()
      return start, self.tail
    self.data = self.ring.read_lane(self.lane) or self.zeros()
    start = self.head if word is None else word
    evicted = self.evicted
    if self.has_unknown_eviction() and evicted > start and self.record(evicted, evicted + self.lane_bytes):
      start = evicted
    if self.tail % 8 == 0 and start <= self.tail <= start + self.lane_bytes: return start, self.tail
    end = start
    while end < start + self.lane_bytes < 2**64:
      record = self.record(end, start + self.lane_bytes)
      if not record: break
      end += record.size
    return start, end

  def zeros(self) -> bytes: return bytes(self.lane_bytes + self.ring.record_bytes + 8)

  def has_unknown_eviction(self) -> bool: return self.evicted > 0 and self.evicted % 8 == 0 and self.total > self.told

  def survivors(self, start: int) -> Tuple[int, int]:
    """After a power cut head and tail are hints; the records' checksums and indices decide."""
    self.data = self.ring.read_lane(self.lane)
    if not self.data or is_zero(self.data): return start, start
    end = self.last_record(start, self.tail)
    return start, self.last_record(start, self.head) if end == start else end

  def items(self) -> Iterator[Item]:
    replay, total, told = self.replay, self.total, self.told
    if total > told and not self.is_cut:
      yield replay.gap(self.lane, OVERWRITTEN, total, told)
      self.count = add(self.count, total - told)
    while self.position < self.end:
      record = self.next_record(self.position, self.end)
      if record:
        yield Item(self.lane, self.position, *self.alone(record))
        self.count = number(self.count, record.index) + 1
        self.position += record.size
        continue
      stop, events = self.resync()
      skipped, overwritten = events, 0
      if self.is_cut and events is not None and self.position < self.evicted <= stop and total > told:
        overwritten = min(total - told, events)
        yield replay.gap(self.lane, OVERWRITTEN, told + overwritten, told)
        events -= overwritten
      if events != 0 or not overwritten: yield replay.hole(self.lane, stop - self.position, events)
      self.count, self.position = add(self.count, skipped), stop

  # Records.

  def alone(self, record: Record) -> Tuple[bytes, Record]:
    """A record and its own bytes, so that who keeps an event does not keep the lane."""
    at, record.at = record.at, 0
    return self.data[at:at + record.size], record

  def record(self, position: int, end: int) -> Optional[Record]:
    """The record at `position`, if it is valid and ends by `end`."""
    at = position & self.lane_bytes - 1
    if not 0 <= position <= end - RECORD_BYTES: return None
    checksum, length, word, index, ticks = RECORD.unpack_from(self.data, at)
    used = RECORD_BYTES + length
    size = padded(used)
    if used > self.ring.record_bytes or position + size > end: return None
    if not checksum and not length and not word and not ticks: return None  # zeros: no checksum of such a record is 0
    if size > used and any(self.data[at + used:at + size]): return None
    payload, header = self.data[at + RECORD_BYTES:at + used], self.data[at + 4:at + RECORD_BYTES]
    state = extend(self.seed, eight(position) + payload + header)
    return Record(checksum, length, word, index, ticks, at, size) if state ^ 0xffffffff == checksum else None

  def next_record(self, position: int, end: int) -> Optional[Record]:
    """The record at `position`, if it is there and, after a power cut, its index follows on."""
    record = self.record(position, end)
    if record and self.is_cut and self.count is not None and \
        number(self.count, record.index) - self.count > _CANCELLED: return None
    return record

  def find(self, start: int, stop: int, end: int, position: int) -> Tuple[Optional[int], Optional[int]]:
    """The first record to be believed in [start, stop), and how many come between `position` and it."""
    for at in range(start, stop, 8):
      record = self.record(at, end)
      if not record: continue
      if self.count is None: return at, None
      between, size = number(self.count, record.index) - self.count, at - position
      least = size // padded(self.ring.record_bytes)
      if between > 0 and least <= between <= size // RECORD_BYTES: return at, between
      if not self.is_cut: return at, None
    return None, None

  def resync(self) -> Tuple[int, Optional[int]]:
    """Where the hole at `position` ends, and for how many records it stands."""
    position, end = self.position, self.end
    near = min(end, position + self.lane_bytes)
    at, skipped = self.find(position + 8, near, end, position)
    if at is None and near < end: at, skipped = self.find(max(near, end - self.lane_bytes), end, end, position)
    return (end, None) if at is None else (at, skipped)

  def last_record(self, position: int, hint: int) -> int:
    """The end of the last record to be found from `position` on; `position` if there is none."""
    if position >= 2**63: return position
    saved, lap, searched = self.count, self.lane_bytes, 0
    while True:
      record = self.next_record(position, position + 2 * lap)
      if record:
        position, self.count = position + record.size, number(self.count, record.index) + 1
        continue
      at = skipped = None
      for begin in (position + 8, hint - lap):
        if begin != position + 8:
          if hint % 8 or not position + lap < hint < 2**63: continue
          hint = 0
        if searched >= _MOST_LAPS * lap: continue
        at, skipped = self.find(begin, begin + lap, begin + 2 * lap, position)
        searched += lap if at is None else at - begin
        if at is not None: break
      if at is None: break
      position, self.count = at, add(self.count, skipped)
    self.count = saved
    return position


def _evicted(control: bytes) -> Tuple[int, int]:
  """Up to where, and how many events, later ones overwrote."""
  head = u64(control, 128)
  evicting_to, evicting_total, evicted_to, evicted_total = struct.unpack_from('<4Q', control, 320)
  return (evicting_to, evicting_total) if head & 2 and evicting_to == head & ~7 else (evicted_to, evicted_total)


def _text(words: str) -> bytes: return struct.pack('<I', len(words)) + words.encode()
