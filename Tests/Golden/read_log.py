#!/usr/bin/env python3
"""read_log.py: a second reader of Weir logs, made from FileFormat.md alone.

That page promises to be enough to decode a log. This program holds it to that: it shares no code with Weir, uses only
Python's standard library and, for batch segments, the lz4 tool, and its answers are compared with those of the C
reader. It reads a log that no writer has open, file by file as a whole, checks every checksum, and passes over what is
damaged.

    read_log.py [--raw] DIRECTORY

Prints one JSON object a line: offset, id, time_ns, event, fields; with --raw also payload and definition, the bytes
behind `fields` in hexadecimal, attributes, context (its number) and context_bytes, scope, monotonic_ns and boot_id. On
standard error: what was passed over. Exit status: 0 nothing is damaged, 1 something
is, 2 there is no log, or one of a newer version.
"""
import fcntl, mmap, os, re, struct, subprocess, sys

from read_blocks import GAP, HOLE, NO_LANE, NOTICES, SEAL, Block, Definition, Record
from read_blocks import crc32c, definitions, eight, is_zero, monotonic_of, time_of, u32, u64
from read_values import OBJECT, Damaged, Values, require, string, to_json

DYNAMIC = 3
REASONS = ['', 'full', 'no_lane', 'too_large', 'closed', 'detached', 'storage', 'invalid',
           'overwritten']
REASONS += ['expired', 'displaced', 'sampled'] + [f'reason_{number}' for number in range(12, 16)]
OVERWRITTEN = 8
UNKNOWN = None
F_OFD_GETLK = 36


class Unreadable(Exception):
  """Not for this reader: no log, or one of a newer version."""


# ---- Segments --------------------------------------------------------------------------------------------------------

class Segment:
  """A file of the log: what its header says, and its valid blocks."""

  def __init__(self, log, name):
    self.log, self.name, self.is_sealed = log, name, not name.endswith('.active')
    self.data = log.unpacked(name) if name.endswith('.lz4') else log.bytes_of(name)
    self.salt, self.opening, self.base, self.lane_count, self.drained, self.flags = 0, 0, int(name[:20]), 256, [], 0
    self.log_id, self.boot_id, self.blocks = 0, bytes(16), []
    start = self.read_header()
    self.definitions = self.seal_definitions()
    self.read_blocks(start)

  def read_header(self):
    """Answers where the blocks begin."""
    lane_count = u32(self.data, 104) if len(self.data) >= 512 else 257
    header = self.data[:512 + 16 * lane_count]
    if (lane_count > 256 or len(header) < 512 + 16 * lane_count or u64(header, 24) == 0 or
        u32(header, 16) != crc32c(header[20:])):
      if any(self.data): self.log.damaged(self.name, 0, 'the segment header does not match its checksum')
      return 512
    major = struct.unpack_from('<H', header, 8)[0]
    if u64(header, 80) or major == 2: raise Unreadable(f'{self.name} was written by a newer version')
    if (header[:8] != b'WEIRSEGM' or major != 1 or u32(header, 12) != len(header) or
        u32(header, 140) or not is_zero(header[152:512]) or u64(header, 40) != self.base):
      self.log.damaged(self.name, 0, 'the segment header is wrong')
    self.salt, self.opening, self.base, self.lane_count = u64(header, 24), u64(header, 32), u64(header, 40), lane_count
    self.drained = [struct.unpack_from('<2Q', header, at) for at in range(512, len(header), 16)]
    self.log_id = u64(header, 144)
    self.flags, self.boot_id = u32(header, 20), header[124:140]
    return len(header)

  def block(self, at): return Block(self.data, at, self.log_id, self.salt, self.opening, self.lane_count)

  def seal_definitions(self):
    """Those in the seal, found from the end: with them, a damaged definitions block costs no event."""
    try: return self.block(u64(self.data, len(self.data) - 8)).definitions if self.is_sealed else {}
    except (Damaged, struct.error): return {}

  def read_blocks(self, start):
    at = start
    while not (self.blocks and self.blocks[-1].kind == SEAL):
      block, problem = self.next_block(at)
      if not block: break
      if problem and self.salt: self.log.damaged(self.name, at, f'{block.at - at} bytes: {problem}')
      if not self.salt:
        self.log_id, self.salt, self.opening, self.base = block.log_id, block.salt, block.opening, block.base
      self.blocks.append(block)
      self.definitions.update(block.definitions)
      at = block.end
    if self.is_sealed and not (self.blocks and self.blocks[-1].kind == SEAL and at == len(self.data)):
      self.log.damaged(self.name, at, 'a sealed segment does not end with its seal')
    elif not self.is_sealed and not is_zero(self.data[at:]): self.log.say(self.name, at, 'a torn tail')

  def next_block(self, at):
    """The first valid block from `at` on, and why it is not at `at`."""
    problem = None
    while at < len(self.data):
      try:
        if at % 8 == 0: return self.block(at), problem
      except Damaged as damaged: problem = problem or damaged
      found = self.data.find(b'WBLK', at + 1)
      at = found if found >= 0 else len(self.data)
    return None, problem


# ---- The lanes -------------------------------------------------------------------------------------------------------

class Ring:
  """The lanes of a writer that died: what no segment has yet."""

  def __init__(self, log):
    self.log, self.data = log, log.mapped('ring')
    require(len(self.data) >= 4096 and self.data[:8] == b'WEIRRING', 'no ring')
    major, _, crc = struct.unpack_from('<2HI', self.data, 8)
    if major > 1: raise Unreadable('the ring was written by a newer version')
    require(crc == crc32c(self.data[16:512]), 'the ring header does not match its checksum')
    (self.opening, file_bytes, self.lane_count, spare, self.lane_bytes, self.record_bytes, self.lanes_at, self.stride,
     self.types_at, self.types_bytes, self.base, incompatible) = struct.unpack_from('<2Q2I8Q', self.data, 16)
    if incompatible: raise Unreadable('the ring was written by a newer version')
    require(file_bytes <= len(self.data), 'the ring is cut')
    self.log_end, types_end, closed = struct.unpack_from('<3Q', self.data, 512)
    in_play, complement = struct.unpack_from('<2I', self.data, 544)
    self.first_overflow = self.lane_count - u32(self.data, 132)
    is_possible = self.first_overflow <= in_play <= self.lane_count
    self.log_id = u64(self.data, 136)
    self.boot_id = self.data[112:128]
    is_of_another_boot = self.boot_id != boot_id()
    self.is_cut, self.is_empty = is_of_another_boot and closed != 1, is_of_another_boot and closed == 1
    is_known = is_possible and in_play ^ complement == 0xffffffff and not self.is_cut
    self.lanes = in_play if is_known else self.lane_count
    self.definitions = self.read_definitions(min(types_end, self.types_bytes))

  def read_definitions(self, end):
    if not self.is_cut:
      try: return definitions(self.data[self.types_at:self.types_at + end], self.opening)
      except Damaged: return {}
    found, at = {}, self.types_at
    region = self.data[:self.types_at + self.types_bytes]
    while at < len(region):
      try:
        definition = Definition(region, at, self.opening)
        found.setdefault((self.opening, definition.type), definition)
        at += definition.size
      except Damaged: at += 8
    return found

  def read_lanes(self, segments):
    self.take_word(segments)
    log = self.log
    start = max(log.end, self.log_end, self.base)
    if self.is_cut and not self.is_after_cut:
      start += 2**32
      log.say('ring', 512, f'offsets {log.next} to {start - 1} are left out')
      log.next = start
      self.notice(HOLE, text('unknown tail') + struct.pack('<IQ?', NO_LANE, 0, False))
    if self.is_empty: return
    if start > log.next: log.say('ring', 512, f'offsets {log.next} to {start - 1} are missing')
    log.next = max(log.next, start)
    for lane in range(self.lanes): self.read_lane(lane)
    for lane in range(self.lanes): self.read_gaps(lane, self.control(lane), 8, 192)
    self.read_gaps(NO_LANE, self.data, 640 + 8, 768 + 8)

  def at(self, lane): return self.lanes_at + lane * self.stride

  def control(self, lane):
    """A lane's control page: zeros if it is of an overflow lane, and never reached the disk."""
    page = self.data[self.at(lane):self.at(lane) + 4096]
    is_lost = self.is_cut and lane >= self.first_overflow and u64(page, 312) != self.opening
    return bytes(len(page)) if is_lost else page

  def take_word(self, segments):
    """What the log says: how far lanes are drained, which refusals it reports, the last calibration."""
    self.drained, self.records, self.reported, self.calibration, slots = {}, {}, {}, (0, 0, 0, 0), []
    self.is_after_cut, self.are_totals_known, self.is_from_start = False, True, True
    sealed = [segment for segment in segments if segment.is_sealed]
    unsealed = [segment for segment in segments if not segment.is_sealed]
    if self.is_cut: unsealed = [each for each in unsealed if each.opening != self.opening or not each.flags & 1]
    self.is_unsealed = any(segment.opening == self.opening for segment in unsealed)
    for segment in sealed + unsealed:
      if segment.opening != self.opening: continue
      if segment.is_sealed: self.is_from_start = False
      self.is_after_cut |= bool(segment.flags & 2)
      for lane, (position, records) in enumerate(segment.drained): self.drain(lane, position, records)
      if segment.is_sealed: self.are_totals_known = bool(segment.blocks) and segment.blocks[-1].kind == SEAL
      for block in segment.blocks:
        if block.kind == SEAL:
          for lane, reason, total in block.totals if segment.is_sealed else []: self.take_total(lane, REASONS[reason], total)
          continue
        self.calibration = block.calibration
        stands_for = [self.take_notice(record) for record in block.records] if block.kind == NOTICES else []
        if not block.hands_over: continue
        before = self.records_of(block.lane)
        first = before if block.index == 2**32 - 1 else number(before, block.index)
        if block.kind == NOTICES: self.drain(block.lane, block.lane_to, add(first, *stands_for))
        elif block.records: self.drain(block.lane, block.lane_to, add(number(before, block.records[-1].index), 1))
    for at in (560, 600):
      *calibration, sequence, crc = struct.unpack_from('<QqQq2I', self.data, at)
      if sequence and crc == crc32c(self.data[at:at + 36]): slots.append((sequence, calibration))
    if slots: self.calibration = max(slots)[1]

  def drain(self, lane, position, records):
    if position > self.drained.get(lane, -1): self.drained[lane], self.records[lane] = position, records

  def records_of(self, lane):
    """How many records come before what the log has drained of a lane."""
    return self.records[lane] if lane in self.drained else 0 if self.is_cut and self.is_from_start else UNKNOWN

  def take_notice(self, record):
    """Answers how many records of a lane the notice stands for."""
    values = Values(record.payload)
    if record.type == GAP:
      lane, reason = values.number('<I'), string(values.text())
      dropped, total = values.number('<Q'), values.number('<Q')
      self.take_total(lane, reason, total)
      return dropped if reason == REASONS[OVERWRITTEN] else 0
    values.text(), values.number('<I'), values.number('<Q')
    return values.number('<Q') if values.number('<B') else UNKNOWN

  def take_total(self, lane, reason, total):
    self.reported[lane, reason] = max(total, self.reported.get((lane, reason), 0))

  def read_lane(self, lane):
    at, control = self.at(lane), self.control(lane)
    tail, head = u64(control, 0), u64(control, 128) & ~7
    evicted, total = self.evicted(control)
    reported = self.reported_of(lane, OVERWRITTEN, control, 192)
    view = self.data[at + 4096:at + self.stride]
    word = self.drained.get(lane)
    self.count = self.records_of(lane)
    if self.is_cut:
      position, hints = word or 0, [] if is_zero(view) else [tail, head]
      tail = next(filter(None, (self.last_record(view, lane, position, hint) for hint in hints)), position)
    elif tail % 8 or not head <= tail <= head + self.lane_bytes:  # not as any writer leaves them
      self.log.damaged('ring', at, f'positions of lane {lane} are impossible')
      position = head if word is None else word
      if total > reported and evicted % 8 == 0 and evicted > position and \
          self.record(view, lane, evicted, evicted + self.lane_bytes):
        position = evicted
      if tail % 8 or not position <= tail <= position + self.lane_bytes:
        tail = self.run_of_records(view, lane, position)
    elif word is None: position = head
    else: position = max(word if self.is_unsealed else max(word, head), tail - self.lane_bytes)
    if not self.is_cut and head <= tail <= head + self.lane_bytes and evicted % 8 == 0 and evicted <= head and total > reported:
      position = max(position, evicted)
    if total > reported and not self.is_cut:
      self.gap(lane, OVERWRITTEN, total, reported)
      self.count = add(self.count, total - reported)
    while position < tail:
      record = self.next_record(view, lane, position, tail)
      if record:
        self.log.event(record, self.calibration, self.boot_id)
        self.count = number(self.count, record.index) + 1
        position += record.size
        continue
      start, (position, skipped) = position, self.resync(view, lane, position, tail)
      self.count, events = add(self.count, skipped), skipped
      if self.is_cut and skipped is not UNKNOWN and start < evicted <= position and total > reported:
        overwritten = min(total - reported, skipped)
        self.gap(lane, OVERWRITTEN, reported + overwritten, reported)
        events -= overwritten
        if events == 0: continue
      self.notice(HOLE, text('lost in a power cut' if self.is_cut else 'damaged in the ring') +
                  struct.pack('<IQ', lane, position - start) +
                  (b'\0' if events is UNKNOWN else struct.pack('<BQ', 1, events)))

  def next_record(self, view, lane, position, tail):
    """The record at `position`, if it is there and, after a power cut, its index follows on."""
    record = self.record(view, lane, position, tail)
    if record and self.is_cut and self.count is not UNKNOWN and number(self.count, record.index) - self.count > 16: return None
    return record

  def find(self, view, lane, start, stop, tail, position):
    """The first record to be believed in [start, stop), and how many come between `position` and it."""
    for at in range(start, stop, 8):
      record = self.record(view, lane, at, tail)
      if not record: continue
      if self.count is UNKNOWN: return at, UNKNOWN
      skipped, size = number(self.count, record.index) - self.count, at - position
      if skipped > 0 and size // (self.record_bytes + 7 & ~7) <= skipped <= size // 24: return at, skipped
      if not self.is_cut: return at, UNKNOWN
    return None, UNKNOWN

  def resync(self, view, lane, position, tail):
    near = min(tail, position + self.lane_bytes)
    at, skipped = self.find(view, lane, position + 8, near, tail, position)
    if at is None: at, skipped = self.find(view, lane, max(near, tail - self.lane_bytes), tail, tail, position)
    return (tail, UNKNOWN) if at is None else (at, skipped)

  def last_record(self, view, lane, position, hint):
    """The end of the last record to be found from `position` on; None if there is none."""
    saved, start = self.count, position
    while True:
      record = self.next_record(view, lane, position, position + 2 * self.lane_bytes)
      if record:
        position, self.count = position + record.size, number(self.count, record.index) + 1
        continue
      begin = position + 8
      at, skipped = self.find(view, lane, begin, begin + self.lane_bytes, begin + 2 * self.lane_bytes, position)
      if at is None and hint % 8 == 0 and position + self.lane_bytes < hint < 2**63:
        begin, hint = hint - self.lane_bytes, 0
        at, skipped = self.find(view, lane, begin, begin + self.lane_bytes, begin + 2 * self.lane_bytes, position)
      if at is None: break
      position, self.count = at, add(self.count, skipped)
    self.count = saved
    return position if position > start else None

  def evicted(self, control):
    """Up to where, and how many events, later ones overwrote."""
    head = u64(control, 128)
    evicting_to, evicting_total, evicted_to, evicted_total = struct.unpack_from('<4Q', control, 320)
    if head & 2 and evicting_to == head & ~7: return evicting_to, evicting_total
    return evicted_to, evicted_total

  def reported_of(self, lane, reason, page, reported_at):
    in_log = self.reported.get((lane, REASONS[reason]), 0)
    if self.is_cut and self.are_totals_known: return in_log
    return max(u64(page, reported_at + 8 * (reason - 1)), in_log)

  def run_of_records(self, view, lane, position):
    """The end of the valid records that follow on one another from `position` on, within one lap."""
    limit = position + self.lane_bytes
    while position < limit and (record := self.record(view, lane, position, limit)): position += record.size
    return position

  def record(self, view, lane, position, tail):
    try:
      record = Record(view, position % self.lane_bytes, self.opening, lane, position)
      require(position + record.size <= tail and record.length <= self.record_bytes - 24, 'a record is too long')
      return record.check()
    except Damaged: return None

  def read_gaps(self, lane, page, dropped_at, reported_at):
    for reason in range(1, 16):
      if reason == OVERWRITTEN and lane != NO_LANE: continue  # no refusal: read_lane tells of it
      dropped = u64(page, dropped_at + 8 * (reason - 1))
      reported = self.reported_of(lane, reason, page, reported_at)
      if dropped > reported: self.gap(lane, reason, dropped, reported)

  def gap(self, lane, reason, total, reported):
    self.notice(GAP, struct.pack('<I', lane) + text(REASONS[reason]) + struct.pack('<QQ', total - reported, total))

  def notice(self, kind, payload):
    header = struct.pack('<4IQ', 0, len(payload), kind, 0, self.calibration[0])
    record = Record(header + payload + bytes(7), 0, self.opening, NO_LANE, 8 * self.log.next)
    self.log.event(record, self.calibration, self.boot_id)


def boot_id():
  try:
    with open('/proc/sys/kernel/random/boot_id') as file: return bytes.fromhex(file.read().strip().replace('-', ''))
  except OSError: return bytes(16)


def add(*numbers): return UNKNOWN if UNKNOWN in numbers else sum(numbers)


def number(records, index):
  """How many records come before one of that index, given about how many they are."""
  return index if records is UNKNOWN else records + (index - records) % 2**32


def text(words): return struct.pack('<I', len(words)) + words.encode()


# ---- The log ---------------------------------------------------------------------------------------------------------

class Log:
  """A directory, read from its first offset to its last."""

  def __init__(self, directory, raw):
    self.directory, self.raw, self.damages, self.next, self.end, self.definitions = directory, raw, 0, 0, 0, {}

  def bytes_of(self, name):
    with open(os.path.join(self.directory, name), 'rb') as file: return file.read()

  def mapped(self, name):
    """The same for a file that is mostly holes."""
    with open(os.path.join(self.directory, name), 'rb') as file:
      size = os.fstat(file.fileno()).st_size
      return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b''

  def unpacked(self, name):
    """What the lz4 tool makes of a batch segment: of a damaged one, what comes before the damage."""
    try: lz4 = subprocess.run(['lz4', '-dc', os.path.join(self.directory, name)], capture_output=True)
    except FileNotFoundError: raise Unreadable('batch segments need the lz4 tool') from None
    if lz4.returncode: self.damaged(name, 0, lz4.stderr.decode(errors='replace').strip() or 'lz4 fails')
    return lz4.stdout

  def say(self, name, at, what): print(f'{name}: byte {at}: {what}', file=sys.stderr)

  def damaged(self, name, at, what):
    self.damages += 1
    self.say(name, at, what)

  def is_live(self):
    """Whether a writer holds the lock: asks for the write lock on the whole file, and takes none."""
    try:
      with open(os.path.join(self.directory, 'lock'), 'rb') as file:
        answer = fcntl.fcntl(file, F_OFD_GETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except FileNotFoundError: return False
    return struct.unpack('hhqqi4x', answer)[0] != fcntl.F_UNLCK

  def start(self):
    """Below which offset retention removed everything."""
    self.start_id = 0
    try: data = self.bytes_of('start')
    except FileNotFoundError: return 0
    slots = []
    for slot in (data[:512], data[4096:4608]):
      if len(slot) < 512 or slot[:8] != b'WEIRSTRT': continue
      major, sound = struct.unpack_from('<H', slot, 8)[0], u32(slot, 12) == crc32c(slot[:12] + slot[16:])
      if major == 2 or major > 2 and sound or sound and u64(slot, 80): raise Unreadable('start is of a newer version')
      sequence, first, events, notices = u64(slot, 16), u64(slot, 24), u64(slot, 64), u64(slot, 72)
      if sound and sequence and first < 1 << 63 and events + notices <= first: slots.append((sequence, first, u64(slot, 104)))
    if not slots: self.damaged('start', 0, 'neither slot is valid: what was removed counts as missing')
    self.start_id = max(slots)[2] if slots else 0
    return max(slots)[1] if slots else 0

  def find_id(self, ring, names):
    """Which log this is: the first id that two of its files have, or else the first that one has."""
    found = []
    for ask in [self.lock_id, lambda: ring.log_id if ring else 0, lambda: self.start_id,
                *(lambda name=name: Segment(self, name).log_id for name in names[-1:] + names[:1])]:
      each = ask()
      if each and each in found: return each
      if each: found.append(each)
    return found[0] if found else 0

  def lock_id(self):
    try: lock = self.bytes_of('lock')
    except FileNotFoundError: return 0
    is_sound = len(lock) >= 64 and lock[:8] == b'WEIRLOCK' and u32(lock, 12) == crc32c(lock[:12] + lock[16:64])
    return u64(lock, 16) if is_sound else 0

  def read(self):
    listed = {name for name in os.listdir(self.directory) if re.fullmatch(r'\d{20}\.weir(\.active|\.lz4)?', name)}
    names = sorted((name for name in listed if not (name.endswith('.lz4') and name[:-4] in listed)),
                   key=lambda name: (name[:20], name.endswith('.active')))
    if not names and not {'lock', 'ring'} & set(os.listdir(self.directory)): raise Unreadable('there is no log')
    self.next = start = self.start()
    names = [name for name in names if name.endswith('.active') or int(name[:20]) >= start]
    ring, segments = self.ring(), []
    self.log_id = self.find_id(ring, names)
    if ring and ring.log_id != self.log_id:
      self.damaged('ring', 0, 'the ring of another log')
      ring = None
    if ring: self.definitions.update(ring.definitions)
    for name in names:
      segment = Segment(self, name)
      if not segment.salt: continue
      if segment.log_id != self.log_id:
        self.damaged(name, 0, 'a segment of another log')
        continue
      if not segments and not start: self.next = segment.base
      for before in segments: before.data = None
      # Of the sealed ones those have a say about the lanes that come from the last on that settles it.
      if segment.is_sealed and (not ring or ring.opening == segment.opening or segment.base < ring.base): segments = []
      segments.append(segment)
      self.read_segment(segment)
    if ring and not self.is_live(): ring.read_lanes(segments)

  def ring(self):
    try: return Ring(self)
    except FileNotFoundError: return None
    except Damaged as damaged: self.damaged('ring', 0, damaged)

  def read_segment(self, segment):
    self.definitions.update(segment.definitions)
    self.end = max(self.end, segment.base)
    for block in segment.blocks:
      self.end = max(self.end, block.base + block.count)
      if block.base > self.next:
        is_left_out = block is segment.blocks[0] and segment.flags & 2
        self.say(segment.name, block.at,
                 f'offsets {self.next} to {block.base - 1} are {"left out" if is_left_out else "missing"}')
        self.next = block.base
      for offset, record in enumerate(block.records, block.base):
        if offset < self.next: continue
        try: self.event(record.check(), block.calibration, segment.boot_id)
        except Damaged as damaged:
          self.damaged(segment.name, block.at, f'offset {offset}: {damaged}')
          self.next = offset + 1

  def definition(self, opening, number, is_context):
    found = self.definitions.get((opening, number))
    return found if found and found.is_context == is_context else None

  def event(self, record, calibration, boot_id):
    """Prints the record as the event with the next offset."""
    definition, name, members = self.definition(record.opening, record.type, False), '', None
    context = self.definition(record.opening, record.context, True) if record.context else None
    payload, scope = parts(record)
    try:
      require(context or not record.context, f'context {record.context} has no definition')
      require(definition, f'type {record.type} has no definition')
      values, name, is_tagged = Values(payload), definition.name, definition.flags & 1
      if record.type == DYNAMIC:
        name, is_tagged = string(values.text()), 1
        payload = payload[values.at:]
      members = values.tagged(OBJECT, 0) if is_tagged else values.packed(definition.fields)
      values.finish()
    except Damaged as damaged: self.damaged('event', self.next, damaged)
    time = time_of(record.ticks, calibration)
    print(f'{{"offset":{self.next},"id":"{record.opening:016x}{record.sequence:016x}","time_ns":{time},'
          f'"event":{to_json(name)},"fields":{to_json(members)}', end='')
    if self.raw:
      described, attributes = (definition.bytes.hex(), definition.attributes.hex()) if definition else ('', '')
      print(f',"payload":"{payload.hex()}","definition":"{described}","attributes":"{attributes}"', end='')
      print(f',"context":{record.context},"context_bytes":{hex_or_null(context and context.attributes)}', end='')
      print(f',"scope":{hex_or_null(scope)},"monotonic_ns":{to_json(monotonic_of(record.ticks, calibration))}', end='')
      print(f',"boot_id":"{boot_id.hex()}"', end='')
    print('}')
    self.next += 1


def parts(record):
  """The payload, and the scope that it ends in, if it has one and that can be."""
  payload = record.payload
  if not record.is_scoped or len(payload) < 4: return payload, None
  end = len(payload) - 4
  start = end - u32(payload, end)
  return (payload[:start], payload[start:end]) if start >= 0 else (payload, None)


def hex_or_null(data): return 'null' if data is None else f'"{data.hex()}"'


def main(arguments):
  directories = [argument for argument in arguments if argument != '--raw']
  if len(directories) != 1: raise Unreadable('usage: read_log.py [--raw] DIRECTORY')
  log = Log(directories[0], '--raw' in arguments)
  log.read()
  return 1 if log.damages else 0


if __name__ == '__main__':
  sys.stdout.reconfigure(encoding='utf-8')
  try: sys.exit(main(sys.argv[1:]))
  except (Unreadable, OSError) as error:
    print(f'read_log.py: {error}', file=sys.stderr)
    sys.exit(2)
