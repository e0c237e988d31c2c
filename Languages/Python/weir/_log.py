"""A log, read from its first offset to its last, after the section Reading a log of FileFormat.md.

Two stages: the segments, in order of offset; then, if no writer is alive, what is left in a dead writer's ring. A
writer may be at work meanwhile: if names came or went, or a writer turns up, the reader goes back to the segments. What
is given of a ring was read before a writer turned up. The next offset is enough to give each event once.
"""
from __future__ import annotations

import errno
import os
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

from ._blocks import BUILT_IN, NOTICES, SEAL, Block, Definition, DefinitionTable, Record, sequence_of
from ._checksums import monotonic_of, time_of
from ._errors import Error, Newer, WriterAtWork
from ._event import Event, EventID, Skip
from ._files import Start, exists, is_live, lock_id, open_directory, read_file, read_start
from ._place import RingPlace, find_ring
from ._owner import is_anothers
from ._ring import Item, Replay, Ring
from ._segment import AFTER_CUT, RECOVERED, Damage, Segment, SegmentName, segment_name
from ._values import Damaged
from ._word import Word

_TRIES = 1000
_KEPT_SEGMENTS = 3
_MOST_SEGMENT_BYTES = 1 << 31
_VANISHED = 'the ring is not where it was: events that no segment had yet are lost, and how many is not known'
_ANOTHERS = ('the ring is of another opening, or another log: events that no segment had yet are lost, unless the '
             "log's own ring is put back before it is opened")
_MISSING = 'the ring is missing: events that no segment had yet are lost'
_LOST_OFFSETS = 'these offsets had been given, but no block holds their events'


class Directory:
  """The files of a log, read when they are needed."""

  def __init__(self, path: str):
    self.path = path
    try: self.fd = open_directory(path)
    except FileNotFoundError: raise Error('missing', f'there is no directory {path}; check the path') from None
    except OSError as error:
      if error.errno not in (errno.ENOTDIR, errno.ELOOP): raise
      raise Error('directory',
                  f"{path} is not a directory, or a symbolic link; give the log's directory itself") from None
    self.kept: Dict[str, Segment] = {}
    if not exists(self.fd, 'lock') and not exists(self.fd, 'ring') and not self.list():
      os.close(self.fd)
      raise Error('missing', f'{path} holds no log; check the path')

  def close(self) -> None: os.close(self.fd)

  def list(self) -> List[SegmentName]:
    """The segments in order; of one that is there raw and as a batch the raw one."""
    found = sorted(name for name in map(segment_name, os.listdir(self.fd)) if name)
    raw = {name.base for name in found if not name.is_active and not name.is_batch}
    return [name for name in found if not name.is_batch or name.base not in raw]

  def settled_list(self) -> List[SegmentName]:
    """Two equal listings: one alone may miss a file that is renamed meanwhile."""
    names = self.list()
    for _ in range(_TRIES):
      before, names = names, self.list()
      if names == before: break
    return names

  def segment(self, name: SegmentName) -> Segment:
    """Raises Damaged where the name is of no plain file, WriterAtWork where it is gone."""
    if name.name in self.kept: return self.kept[name.name]
    while len(self.kept) >= _KEPT_SEGMENTS: del self.kept[next(iter(self.kept))]
    segment = Segment(*self.read(name))
    self.kept[name.name] = segment
    return segment

  def read(self, name: SegmentName) -> Tuple[SegmentName, bytes]:
    """A sealed segment may become a batch between the listing and this call."""
    try: return name, read_file(self.fd, name.name, _MOST_SEGMENT_BYTES)
    except FileNotFoundError:
      other = segment_name(f'{name.base:020}.weir' + ('' if name.is_batch else '.lz4'))
      if name.is_active or not other: raise WriterAtWork from None
    try: return other, read_file(self.fd, other.name, _MOST_SEGMENT_BYTES)
    except FileNotFoundError: raise WriterAtWork from None

  def id(self) -> int:
    """Which log this is: the first id that two of its files have, or else the first that one of them has."""
    found: List[int] = []
    names = self.list()
    asked: List[Callable[[], int]] = [lambda: lock_id(self.fd), self.id_of_ring, self.id_of_locator, self.id_of_start]
    if names: asked.append(lambda: self.segment(names[-1]).log_id)
    if len(names) > 1: asked.append(lambda: self.segment(names[0]).log_id)
    for ask in asked:
      try: said = ask()
      except (Damaged, Newer, FileNotFoundError, NotADirectoryError, PermissionError): continue
      if said and said in found: return said
      if said: found.append(said)
    return found[0] if found else 0

  def id_of_ring(self) -> int:
    """Of the one in the log's directory, if the locator can't be read."""
    try: place = find_ring(self.fd)
    except (Damaged, Newer): place = RingPlace(self.fd, 'ring')
    with place:
      if not place.name: return 0
      ring = Ring(place.directory, place.name)
      ring.close()
      return ring.log_id

  def id_of_locator(self) -> int:
    with find_ring(self.fd) as place: return place.locator.log_id if place.locator else 0

  def id_of_start(self) -> int:
    start = read_start(self.fd)
    return start.log_id if start else 0


class Reader:
  """One walk through a log."""

  def __init__(self, directory: Directory, next_offset: int):
    self.directory, self.next = directory, next_offset
    self.table = DefinitionTable()
    self.has_asked_ring = False
    self.current: Optional[Segment] = None
    self.told: Set[Any] = set()
    self.skips: List[Skip] = []
    self.is_live, self.has_segments = False, False
    self.newest: Optional[int] = None

  def items(self) -> Iterator[Union[Event, Skip]]:
    tries = _TRIES
    while tries > 0:
      tries, before = tries - 1, self.next
      self.directory.kept.clear()
      self.is_live = is_live(self.directory.fd)
      try:
        yield from self.read_segments()
        if self.is_live:
          if is_live(self.directory.fd): return
          continue
        yield from self.read_ring()
        return
      except WriterAtWork: pass
      yield from self.take_skips()
      if self.next > before: tries = _TRIES
    raise Error('timeout', f'the files of {self.directory.path} came and went during each try to read them; try again')

  # What is passed over.

  def take_skips(self) -> Iterator[Skip]:
    skips, self.skips = self.skips, []
    yield from skips

  def skip(self, first: int, count: int, file: str, position: int, size: int, reason: str, **kind: bool) -> None:
    """Notes what was passed over, unless it lies before what was asked for or was told already."""
    if count > 0:
      if first + count <= self.next: return
      if first < self.next: first, count = self.next, first + count - self.next
      self.next = first + count
    elif first < self.next or (file, position, reason) in self.told: return
    self.told.add((file, position, reason))
    self.skips.append(Skip(first, count, file, position, size, reason, **kind))

  def skip_damage(self, file: str, damage: Damage, reason: str, count: Optional[int] = None) -> None:
    count = damage.count if count is None else count
    self.skip(damage.first, count, file, damage.position, damage.end - damage.position, reason)

  def skip_removed(self, base: int) -> None:
    if base <= self.next or not self.start: return
    end = min(self.start.first, base)
    if end > self.next:
      self.skip(self.next, end - self.next, 'start', 0, 0, 'removed by retention or the byte limit', is_removed=True)

  def skip_hole(self, file: str, base: int, position: int, reason: str, is_left_out: bool = False) -> None:
    """Notes offsets below `base` that no block has."""
    if base <= self.next: return
    if not is_left_out: return self.skip(self.next, base - self.next, file, position, 0, reason)
    self.skip(self.next, 0, file, position, 0, 'offsets left out after a power cut', is_left_out=True)
    self.next = base

  # Segments.

  def read_segments(self) -> Iterator[Union[Event, Skip]]:
    directory = self.directory
    names = self.names = directory.settled_list()
    # A live log's walk ends with the segment that is the newest when the walk begins, however often it begins anew.
    if self.is_live and self.newest is None and names: self.newest = names[-1].base
    self.log_id = directory.id()
    self.start: Optional[Start] = None
    problem = None
    try: self.start = read_start(directory.fd)
    except Damaged as damaged: problem = str(damaged)
    if self.start and self.log_id and self.start.log_id != self.log_id:
      self.start = None
      problem = 'the file that says what was removed is of another log: what retention removed counts as missing'
    if problem: self.skip(self.next, 0, 'start', 0, 0, problem)
    self.skip_removed(2**64)
    yield from self.take_skips()
    self.has_segments = False
    visited: Set[Tuple[int, int]] = set()
    names = names[self.first_of(names):]
    for at, name in enumerate(names):
      if self.is_live and self.newest is not None and name.base > self.newest: break
      try: segment = directory.segment(name)
      except Damaged as damaged:
        self.skip(self.next, 0, name.name, 0, 0, str(damaged))
        yield from self.take_skips()
        continue
      if segment.salt == 0 or self.log_id and segment.log_id != self.log_id:
        if not segment.is_blank:
          reason = segment.damage.reason if segment.damage and segment.salt == 0 else 'segment of another log'
          self.skip(self.next, 0, name.name, 0, segment.file_bytes, reason or '')
          yield from self.take_skips()
        continue
      if (name.base, segment.salt) in visited: continue
      visited.add((name.base, segment.salt))
      self.has_segments = True
      if self.is_forgotten(segment): continue
      is_complete = not name.is_active or not self.is_live or at + 1 < len(names)
      yield from self.read_segment(segment, is_complete)

  def first_of(self, names: List[SegmentName]) -> int:
    """The first of the last segment that begins at or below the next offset."""
    for at in range(len(names) - 1, -1, -1):
      if names[at].base > self.next: continue
      try: segment = self.directory.segment(names[at])
      except Damaged: continue
      except Newer: return self.first_with(names, at)  # which is refused when the walk comes there
      is_ours = not self.log_id or segment.log_id == self.log_id
      if is_ours and segment.salt and (not segment.is_valid or segment.base == names[at].base):
        return self.first_with(names, at)
    return 0

  @staticmethod
  def first_with(names: List[SegmentName], at: int) -> int:
    """The first of that base."""
    return next(i for i, name in enumerate(names) if name.base == names[at].base)

  def is_forgotten(self, segment: Segment) -> bool:
    """Whether a recovery under the ring's boot wrote a segment, and the machine went down before the seal: the lanes
    have its events still, and give them with other offsets."""
    if not segment.name.is_active or segment.flags & (RECOVERED | AFTER_CUT) != RECOVERED: return False
    directory = self.directory
    try:
      with find_ring(directory.fd) as place:
        if not place.name: return False
        ring = Ring(place.directory, place.name)
    except (Damaged, Newer, OSError): return False
    ring.close()
    word = Word(ring.opening, ring.base, ring.is_cut)
    return word.forgets(segment) and not is_anothers(directory, self.log_id, ring.log_id, word, False)

  def read_segment(self, segment: Segment, is_complete: bool) -> Iterator[Union[Event, Skip]]:
    file, damage = segment.name.name, segment.damage
    self.current, self.has_asked_ring = segment, False
    self.skip_removed(segment.base)
    if segment.is_valid:
      self.skip_hole(file, segment.base, 0, 'no segment holds these offsets', bool(segment.flags & AFTER_CUT))
    elif damage:
      if segment.base > self.next: damage = replace(damage, first=self.next, count=segment.base - self.next)
      self.skip_damage(file, damage, damage.reason or '')
    seal = segment.seal_at_end()
    if seal: self.table.take(seal.opening, seal.definitions)
    yield from self.take_skips()
    for step in segment.steps(is_complete, self.next):
      if isinstance(step, Block):
        if step.definitions: self.table.take(step.opening, step.definitions)
        self.skip_hole(file, step.base, step.at, 'no block holds these offsets')
        yield from self.take_skips()
        yield from self.read_block(segment, step)
        continue
      # The bytes may be a block that a writer has begun since.
      if segment.name.is_active and not self.is_live and self.has_changed(): raise WriterAtWork
      if not step.is_tail:
        self.skip_damage(file, step, step.reason or '')
      else:
        # Which offsets a damaged last block had the next segment or the ring says: its events may be in a lane.
        is_active = segment.name.is_active
        reason = step.reason if is_active else step.reason or 'sealed segment has no seal'
        if reason: self.skip_damage(file, step, reason, 0 if is_active else None)
      yield from self.take_skips()
    self.current = None

  def read_block(self, segment: Segment, block: Block) -> Iterator[Event]:
    position = block.lane_from
    for offset, record in enumerate(block.records, block.base):
      if offset >= self.next:
        sequence = sequence_of(65535, 8 * offset) if block.kind == NOTICES else sequence_of(block.lane, position)
        yield self.event(offset, EventID(block.opening, sequence), block.calibration, segment.boot_id, segment.host,
                         block.payload, record)
      position += record.size

  # Events.

  def event(self, offset: int, id: EventID, calibration: Any, boot_id: bytes, host: Optional[str], data: bytes,
            record: Record) -> Event:
    self.next = offset + 1
    definition = self.definition(id.opening, record.type)
    context = self.definition(id.opening, record.context) if record.context else None
    return Event(offset, id, time_of(record.ticks, calibration), monotonic_of(record.ticks, calibration), boot_id, host,
                 data, record, definition if definition and not definition.is_context else None,
                 context if context and context.is_context else None)

  def definition(self, opening: int, number: int) -> Optional[Definition]:
    """From the segment, or from the ring, or if it is built in from this library."""
    found = self.table.find(opening, number)
    if not found and not self.has_asked_ring:
      self.has_asked_ring = True
      self.ask_ring(opening)
      segment = self.current
      if segment and segment.name.is_active:
        for step in segment.steps():
          if isinstance(step, Block) and step.kind == SEAL: self.table.take(step.opening, step.definitions)
      found = self.table.find(opening, number)
    return found or BUILT_IN.get(number)

  def ask_ring(self, opening: int) -> None:
    try:
      with find_ring(self.directory.fd) as place:
        if not place.name: return
        ring = Ring(place.directory, place.name)
        try:
          if ring.opening == opening: self.table.take(opening, ring.definitions())
        finally: ring.close()
    except (Damaged, Newer, OSError): pass

  # The lanes of a dead writer.

  def read_ring(self) -> Iterator[Union[Event, Skip]]:
    try: replay, end = self.open_ring()
    except Damaged as damaged:
      if self.has_changed(): raise WriterAtWork from None
      self.skip(self.next, 0, 'ring', 0, 0, str(damaged))
      yield from self.take_skips()
      return
    try:
      if self.has_changed(): raise WriterAtWork
      if not replay:
        self.skip_removed(end)
        self.skip_hole('ring.at', end, 0, _LOST_OFFSETS)
        yield from self.take_skips()
        return
      self.skip_removed(replay.start)
      self.skip_hole('ring', replay.start, 0, _LOST_OFFSETS, replay.start > replay.known_end)
      yield from self.take_skips()
      for item in replay.items():
        if replay.next >= self.next: yield self.item_event(replay, item)
        replay.next += 1
    except Damaged as damaged:
      if replay: replay.check()
      self.skip(self.next, 0, 'ring', 0, 0, str(damaged))
      yield from self.take_skips()
    finally:
      if replay: replay.ring.close()

  def has_changed(self) -> bool:
    """Whether a writer has opened the log since the segments were listed: then there are others."""
    return self.names != self.directory.list() or is_live(self.directory.fd)

  def take_definitions(self, ring: Ring) -> None:
    """All at once: when an event asks for one, a writer may have overwritten them."""
    self.has_asked_ring = True
    try: self.table.take(ring.opening, ring.definitions())
    except OSError: pass  # as if they were lost

  def item_event(self, replay: Replay, item: Item) -> Event:
    ring = replay.ring
    sequence = sequence_of(item.lane, 8 * replay.next if item.position is None else item.position)
    return self.event(replay.next, EventID(ring.opening, sequence), replay.calibration, ring.boot_id, None, item.data,
                      item.record)

  def open_ring(self) -> Tuple[Optional[Replay], int]:
    """The replay of the ring, or None and the end that a closed locator tells, or 0. Damaged: a ring is lost."""
    directory = self.directory
    with find_ring(directory.fd) as place:
      if place.is_vanished: raise Damaged(_VANISHED)
      if place.is_closed and place.locator:
        locator = place.locator
        word = Word(locator.opening, locator.next, False)
        if is_anothers(directory, self.log_id, locator.log_id, word, True):
          raise Damaged(_VANISHED)
        return None, locator.next
      ring: Optional[Ring] = None
      try: ring = Ring(place.directory, place.name)
      except FileNotFoundError: pass
      is_being_made = exists(place.directory, ('ring' if not place.is_elsewhere else place.name) + '.new')
    if not ring:
      # A copy of segments alone lacks no ring, nor does a log whose writer died while it made one.
      if self.has_segments and exists(directory.fd, 'lock') and not is_being_made: raise Damaged(_MISSING)
      return None, 0
    try:
      word = Word(ring.opening, ring.base, ring.is_cut)
      if is_anothers(directory, self.log_id, ring.log_id, word, ring.is_closed):
        raise Damaged(_ANOTHERS)
      self.take_word(word)
      replay = Replay(ring, word, directory.fd)
      self.take_definitions(ring)
      replay.check()
      return replay, 0
    except BaseException:
      ring.close()
      raise

  def take_word(self, word: Word) -> None:
    """What the log says of the lanes: the sealed segments back to one that settles the rest, then every later one."""
    names = self.directory.list()
    first_active = next((at for at, name in enumerate(names) if name.is_active), len(names))
    for name in reversed(names[:first_active]):
      segment = self.own_segment(name)
      if not segment: continue
      word.take_sealed(segment)
      if word.is_settled_by(segment): break
    for name in names[first_active:]:
      segment = self.own_segment(name)
      if segment and not word.forgets(segment): word.take_unsealed(segment)

  def own_segment(self, name: SegmentName) -> Optional[Segment]:
    """None: the file is not the log's."""
    try: segment = self.directory.segment(name)
    except Damaged: return None
    return segment if segment.salt and (not self.log_id or segment.log_id == self.log_id) else None


class Log:
  """A log's directory. Iterating gives its events, from the first offset to the last that there is now, and what a live
  writer adds meanwhile to the same segment.

  The log may be written to meanwhile, by any process: nothing is written, no lock is taken. Events of a live writer are
  there once they are drained, at most 20 ms after the capture by default. Those of a killed one are read with what its
  ring still has, with the offsets that the next opening gives them. To read on, open the log anew from the offset after
  the last one. One thread iterates at a time.
  """

  def __init__(self, directory: Union[str, 'os.PathLike[str]'], start: int = 0):
    if start < 0: raise ValueError(f'start is {start}: the first offset is 0')
    self.directory = os.fspath(directory)
    self.start = start
    #: What the last iteration passed over so far.
    self.skips: List[Skip] = []
    #: Whether a writer had the log open at the last iteration.
    self.is_live = False
    Directory(self.directory).close()

  def __repr__(self) -> str: return f'<weir.Log {self.directory!r}>'

  def __iter__(self) -> Iterator[Event]:
    for item in self.items():
      if isinstance(item, Event): yield item

  def items(self) -> Iterator[Union[Event, Skip]]:
    """The events, and in their places what was passed over between them. Raises OSError, and Error: `version` at a file
    of a newer version, after what was readable before that, and `timeout` if files came and went during every try."""
    self.skips = []
    directory = Directory(self.directory)
    reader = Reader(directory, self.start)
    try:
      for item in reader.items():
        if isinstance(item, Skip): self.skips.append(item)
        yield item
    except Newer as newer: raise Error('version', f'{newer}: read it with that version') from None
    except MemoryError: raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), self.directory) from None
    finally:
      self.is_live = reader.is_live
      directory.close()

  @property
  def is_damaged(self) -> bool:
    """Whether the last iteration passed over anything as damaged or missing."""
    return any(skip.is_damage for skip in self.skips)

  def to_arrow(self) -> Any:
    """A pyarrow.Table of all events: see `to_pandas`. Needs pyarrow."""
    from ._tables import to_arrow
    return to_arrow(self)

  def to_pandas(self) -> Any:
    """A pandas.DataFrame of all events, a row each: offset, id, time (UTC, nanoseconds), event, and a column for each
    field that any event has. Needs pandas."""
    from ._tables import to_pandas
    return to_pandas(self)
