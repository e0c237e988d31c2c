"""What the reader finds in logs: the golden ones, damaged ones, and ones that a writer has open."""
import datetime
import fcntl
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import tracemalloc
import unittest
import uuid

import weir
from weir import _batch, _blocks, _log, _lz4, _pieces, _segment, _tables
from weir._checksums import crc32c, u64, xxh32
from weir._values import JSONValues, Values, to_json

GOLDEN = os.path.abspath(os.path.join(os.path.dirname(__file__), '../../../Tests/Golden'))
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(weir.__file__)))


def golden(name): return os.path.join(GOLDEN, name, 'log')


def all_of(event): return event.offset, event.id, event.time_ns, event.name, event.payload


def run(*arguments, **options):
  return subprocess.run([sys.executable, '-B', '-m', 'weir', *arguments], capture_output=True, text=True,
                        env={**os.environ, 'PYTHONPATH': PACKAGE}, **options)


class Scratch(unittest.TestCase):
  """With a folder that is removed at the end."""

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix='weir-python-')
    self.addCleanup(shutil.rmtree, self.folder)

  def copy(self, name):
    log = os.path.join(self.folder, 'log')
    shutil.copytree(golden(name), log)
    return log

  def change(self, log, name, at, piece):
    with open(os.path.join(log, name), 'r+b') as file:
      file.seek(at)
      file.write(piece)


class ChecksumTest(unittest.TestCase):
  def test_crc32c_of_every_length(self):
    self.assertEqual(crc32c(b'123456789'), 0xe3069283)
    table = []
    for value in range(256):
      for _ in range(8): value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
      table.append(value)
    data, crc = bytes(i * i >> 3 & 255 for i in range(40000)), 0xffffffff
    lengths = {*range(1500), 4096, 9999, 40000}
    for count in range(len(data) + 1):
      if count in lengths: self.assertEqual(crc32c(data[:count]), crc ^ 0xffffffff, count)
      if count < len(data): crc = table[(crc ^ data[count]) & 255] ^ crc >> 8

  def test_xxh32(self):
    self.assertEqual(xxh32(b''), 0x02cc5d05)
    self.assertEqual(xxh32(b'abc'), 0x32d153ff)
    self.assertEqual(xxh32(b'Nobody inspects the spammish repetition'), 0xe2293b2f)


class GoldenTest(unittest.TestCase):
  """Each golden log gives the lines that were written down when it was made."""

  def check(self, name, status):
    done = run('--raw', golden(name))
    with open(os.path.join(GOLDEN, name, 'expected.jsonl'), encoding='utf-8') as file:
      self.assertEqual(done.stdout.splitlines(), file.read().splitlines())
    self.assertEqual(done.returncode, status)

  def test_closed(self): self.check('v1-closed', 0)
  def test_killed(self): self.check('v1-killed', 0)
  def test_damaged(self): self.check('v1-damaged', 1)
  def test_batched(self): self.check('v1-batched', 0)


class EventTest(unittest.TestCase):
  def test_what_an_event_has(self):
    event = next(each for each in weir.open(golden('v1-closed')) if each.offset == 22)
    self.assertEqual(str(event.id), 'abf20d90aa262ef90002000000000000')
    self.assertEqual(event.name, 'été.optional')
    self.assertEqual(event.fields, {'größe': None, '名前': None})
    self.assertEqual(event.time_ns, 1795421480953285149)
    self.assertEqual(event.monotonic_ns, 30265864340423)
    self.assertEqual(event.time, datetime.datetime(2026, 11, 23, 8, 11, 20, 953285, tzinfo=datetime.timezone.utc))
    self.assertIsNone(event.context)
    self.assertIsNone(event.scope)
    self.assertIsNone(event.host)

  def test_kinds_of_values(self):
    kinds = {type(value) for event in weir.open(golden('v1-closed')) for value in (event.fields or {}).values()}
    for kind in (bool, int, float, str, bytes, uuid.UUID, datetime.datetime, list, dict, type(None)):
      self.assertIn(kind, kinds)

  def test_contexts_and_scopes(self):
    events = list(weir.open(golden('v1-closed')))
    self.assertTrue(any(event.context for event in events))
    self.assertTrue(any(event.scope for event in events))

  def test_sensitive_values_are_given_as_stored(self):
    event = next(iter(weir.open(golden('v1-sensitive'))))
    self.assertEqual((event.fields or {})['email'], 'a@b.c')
    self.assertIn('email', event.attributes['sensitive'])

  def test_notices(self):
    names = {event.name for event in weir.open(golden('v1-killed')) if event.is_notice}
    self.assertEqual(names, {'weir.gap', 'weir.hole'})

  def test_start(self):
    events = list(weir.open(golden('v1-killed')))
    for start in (0, 1, 20, 27, 40, events[-1].offset, events[-1].offset + 1):
      self.assertEqual([event.id for event in weir.open(golden('v1-killed'), start=start)],
                       [event.id for event in events if event.offset >= start], start)

  def test_no_offset_is_below_the_first(self):
    with self.assertRaises(ValueError) as caught: weir.open(golden('v1-killed'), start=-1)
    self.assertEqual(str(caught.exception), 'start is -1: the first offset is 0')

  def test_text_that_is_not_utf8(self):
    data = struct.pack('<I', 2) + b'\xff\xfe'
    self.assertEqual(Values(data).scalar(12), b'\xff\xfe')
    self.assertEqual(JSONValues(data).scalar(12), '//4=')

  def test_numbers_as_json(self):
    single = JSONValues(struct.pack('<f', 0.1)).scalar(10)
    self.assertEqual(to_json(single), '0.1')
    self.assertEqual(to_json(float('nan')), '"NaN"')
    self.assertEqual(to_json(float('-inf')), '"-Infinity"')

  def test_characters_that_are_escaped(self):
    """Those that JSONText.swift escapes: what a terminal, or a reader of lines, takes for more than text."""
    short = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t'}
    unsafe = {*range(0x20), *range(0x7f, 0xa0), 0x200e, 0x200f, *range(0x2028, 0x202f), *range(0x2066, 0x206a), 0xfeff}
    for number in (*range(0xd800), *range(0xe000, 0x10400), 0x1f30a, 0x10ffff):
      each = chr(number)
      expected = short.get(each) or (f'\\u{number:04x}' if number in unsafe else each)
      self.assertEqual(to_json(each), f'"{expected}"')

  def test_dates_as_json(self):
    """As DateText.swift writes them: in the years 0 to 9999 as RFC 3339, half a nanosecond away from zero."""
    for seconds, text in ((-63145526400.0, '"0000-01-01T00:00:00Z"'), (-63145526400.00001, '-63145526400.00001'),
                          (-63140428800.0, '"0000-02-29T00:00:00Z"'),
                          (-63113904000.5, '"0000-12-31T23:59:59.500000000Z"'),
                          (-63113904000.0, '"0001-01-01T00:00:00Z"'), (252423993599.0, '"9999-12-31T23:59:59Z"'),
                          (252423993599.5, '"9999-12-31T23:59:59.500000000Z"'), (252423993600.0, '252423993600.0'),
                          (2.5e-9, '"2001-01-01T00:00:00.000000003Z"'), (-1e-12, '"2001-01-01T00:00:00Z"')):
      self.assertEqual(to_json(JSONValues(struct.pack('<d', seconds)).scalar(15)), text)

  def test_dates_outside_the_years_that_python_has(self):
    for seconds, value in ((-63113904000.5, -63113904000.5), (252423993600.0, 252423993600.0),
                           (-63113904000.0, datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc)),
                           (252423993599.5,
                            datetime.datetime(9999, 12, 31, 23, 59, 59, 500000, datetime.timezone.utc))):
      self.assertEqual(Values(struct.pack('<d', seconds)).scalar(15), value)
    last = struct.unpack('<d', struct.pack('<q', struct.unpack('<q', struct.pack('<d', 252423993600.0))[0] - 1))[0]
    self.assertEqual(Values(struct.pack('<d', last)).scalar(15).year, 9999)


class DamageTest(Scratch):
  def test_what_is_damaged_is_told_and_the_rest_is_read(self):
    log = weir.open(golden('v1-damaged'))
    events = list(log)
    self.assertTrue(log.is_damaged)
    self.assertEqual([(skip.first, skip.count) for skip in log.skips if skip.count], [(22, 1)])
    self.assertNotIn(22, [event.offset for event in events])
    self.assertGreater(len(events), 40)

  def test_cut_at_many_positions(self):
    """Whatever is left of a segment is read, and nothing else is raised or found."""
    log, name = self.copy('v1-closed'), '00000000000000000032.weir'
    whole = {event.offset: event.id for event in weir.open(log)}
    with open(os.path.join(log, name), 'rb') as file: data = file.read()
    for count in range(0, len(data), 61):
      with open(os.path.join(log, name), 'wb') as file: file.write(data[:count])
      found = {event.offset: event.id for event in weir.open(log)}
      self.assertTrue(found.items() <= whole.items(), count)
      self.assertTrue({offset for offset in whole if offset < 32} <= found.keys(), count)

  def test_nothing_is_raised_whatever_a_byte_is(self):
    log = self.copy('v1-killed')
    for name in sorted(os.listdir(log)):
      with open(os.path.join(log, name), 'rb') as file: data = file.read()
      for at in range(0, min(len(data), 4000), 97):
        self.change(log, name, at, bytes([data[at] ^ 0x55]))
        try: list(weir.open(log))
        except weir.Error as error: self.assertEqual(error.status, 'version', (name, at))
        self.change(log, name, at, data[at:at + 1])

  def test_a_missing_ring_is_told(self):
    log = self.copy('v1-killed')
    os.remove(os.path.join(log, 'ring'))
    self.assertEqual([skip.file for skip in self.skips(log)], ['ring'])
    open(os.path.join(log, 'ring.new'), 'wb').close()
    self.assertEqual(self.skips(log), [])
    os.remove(os.path.join(log, 'ring.new'))
    os.remove(os.path.join(log, 'lock'))
    self.assertEqual(self.skips(log), [])

  def skips(self, directory):
    log = weir.Log(directory)
    self.assertEqual(len(list(log)), 38)
    return log.skips

  def test_what_a_recovery_of_an_earlier_boot_left_comes_once(self):
    log, name = self.copy('v1-killed'), '00000000000000000027.weir.active'
    with open(os.path.join(log, name), 'rb') as file: header = file.read(560)
    header = header[:20] + b'\1' + header[21:]
    self.change(log, name, 0, header[:16] + struct.pack('<I', crc32c(header[20:])) + header[20:])
    ids = [event.id for event in weir.Log(log)]
    self.assertEqual((len(ids), len(set(ids))), (63, 63))

  def test_a_newer_version_is_refused(self):
    log = self.copy('v1-closed')
    self.change(log, '00000000000000000032.weir', 8, b'\2')
    events, reader = [], weir.open(log)
    with self.assertRaises(weir.Error) as caught:
      for event in reader: events.append(event.offset)
    self.assertEqual(caught.exception.status, 'version')
    self.assertEqual(events, list(range(32)))

  def test_a_link_is_no_segment(self):
    log = self.copy('v1-closed')
    path = os.path.join(log, '00000000000000000032.weir')
    os.rename(path, os.path.join(self.folder, 'elsewhere'))
    os.symlink(os.path.join(self.folder, 'elsewhere'), path)
    reader = weir.open(log)
    self.assertEqual([event.offset for event in reader], list(range(32)))
    self.assertTrue(reader.is_damaged)

  def test_more_memory_than_there_is(self):
    """A lane may have 4 GiB. One that needs more than the system gives ends the reading, after what comes before."""
    log = self.copy('v1-killed')
    with open(os.path.join(log, 'ring'), 'r+b') as file:
      header = bytearray(file.read(512))
      stride = 2**32 + 2**20 + 4096 + u64(header, 48)
      stride += -stride % 4096
      struct.pack_into('<2Q2I8Q', header, 16, u64(header, 16), 2**35, 3, 0, 2**32, u64(header, 48), 4096, stride, 2**34,
                       4096, u64(header, 96), 0)
      struct.pack_into('<I', header, 12, crc32c(bytes(header[16:])))
      file.seek(0)
      file.write(header)
      file.truncate(2**35)
      for lane in range(3):
        file.seek(4096 + lane * stride + 8192)
        file.write(b'record')
    done = run(log, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
    self.assertEqual((done.returncode, len(done.stdout.splitlines())), (2, 39))
    self.assertEqual(done.stderr.splitlines()[-1], f"weir: [Errno 12] Cannot allocate memory: '{log}'")

  def test_what_is_read_takes_no_more_memory_than_it_has(self):
    path, size = os.path.join(self.folder, 'sparse'), (1 << 30) + (1 << 20)
    open(path, 'wb').close()
    os.truncate(path, size)
    script = f'import os\nfrom weir._files import read_at\nfd = os.open({path!r}, os.O_RDONLY)\n' \
             f'print(len(read_at(fd, {size}, 0)), len(read_at(fd, 10, {size} - 5)), read_at(fd, 5, {size}))'
    most = size + (1 << 28)
    done = subprocess.run([sys.executable, '-B', '-c', script], capture_output=True, text=True,
                          env={**os.environ, 'PYTHONPATH': PACKAGE},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
    self.assertEqual(done.stdout, f"{size} 5 b''\n", done.stderr)

  def test_descriptors_are_closed(self):
    log = self.copy('v1-killed')
    ways = [lambda: list(weir.open(log)), lambda: next(iter(weir.open(log))),
            lambda: self.change(log, 'ring', 40, b'\xff'), lambda: list(weir.open(log)),
            lambda: os.truncate(os.path.join(log, 'ring'), 100), lambda: list(weir.open(log))]
    before = len(os.listdir('/proc/self/fd'))
    for way in ways:
      way()
      self.assertEqual(len(os.listdir('/proc/self/fd')), before)

  def test_a_file_that_is_too_large_for_a_segment(self):
    log = self.copy('v1-closed')
    os.truncate(os.path.join(log, '00000000000000000032.weir'), 1 << 40)
    reader = weir.open(log)
    self.assertEqual([event.offset for event in reader], list(range(32)))
    self.assertIn('bytes', reader.skips[0].reason)

  def test_a_file_without_a_log_id_hides_no_segment(self):
    log = self.copy('v1-killed')
    with open(os.path.join(log, '00000000000000000027.weir.active'), 'rb') as file: data = bytearray(file.read())
    struct.pack_into('<Q', data, 40, 35)
    struct.pack_into('<Q', data, 144, 0)
    struct.pack_into('<I', data, 16, crc32c(bytes(data[20:512 + 16 * data[104]])))
    whole = [each.id for each in weir.open(log, start=36)]
    with open(os.path.join(log, '00000000000000000035.weir.active'), 'wb') as file: file.write(data)
    reader = weir.open(log, start=36)
    self.assertEqual([each.id for each in reader], whole)
    self.assertEqual([skip for skip in reader.skips if skip.count], [])

  def test_definitions_are_looked_for_in_linear_time(self):
    class Counting(bytes):
      taken = 0

      def __getitem__(self, key):
        piece = super().__getitem__(key)
        Counting.taken += len(piece)
        return piece

    for size in (b'\xff' * 4, b'\0\1\0\0', b'\x08\0\0\0'):
      for count in (8192, 65536):
        Counting.taken = 0
        self.assertEqual(_blocks.find_definitions(Counting(size * (count // 4)), 1), [])
        self.assertLess(Counting.taken, 64 * count, (size, count))

  def test_segments_that_are_kept(self):
    """The oldest goes before another one is read."""
    directory, counts = _log.Directory(golden('v1-batched')), []
    self.addCleanup(directory.close)
    names, read = directory.list(), directory.read
    directory.read = lambda name: (counts.append(len(directory.kept)), read(name))[1]
    for name in names: directory.segment(name)
    directory.kept = {str(number): directory.kept[names[0].name] for number in range(3)}
    directory.segment(names[0])
    self.assertEqual(counts, [0, 1, 2, 2])
    self.assertEqual(len(directory.kept), 3)

  def test_an_event_of_a_lane_keeps_its_own_bytes_alone(self):
    for event in weir.open(golden('v1-killed'), start=2**32):
      if not event.is_notice: self.assertLess(len(event._data), 1024)

  def test_a_link_is_no_log_whatever_is_behind_its_name(self):
    link = os.path.join(self.folder, 'link')
    os.symlink(self.copy('v1-closed'), link)
    for path in (link, link + '/', link + '//', os.fsencode(link) + b'/'):
      with self.assertRaises(weir.Error) as caught: weir.open(path)
      self.assertEqual(caught.exception.status, 'directory')
    self.assertTrue(list(weir.open(os.path.join(self.folder, 'log//'))))
    with self.assertRaises(weir.Error) as caught: weir.open('/')
    self.assertEqual(caught.exception.status, 'missing')
    with self.assertRaises(ValueError): weir.open(link + '\0')

  def test_no_log(self):
    for path, status in ((os.path.join(self.folder, 'nothing'), 'missing'), (self.folder, 'missing'),
                         (__file__, 'directory')):
      with self.assertRaises(weir.Error) as caught: weir.open(path)
      self.assertEqual(caught.exception.status, status)
      self.assertIn(path, str(caught.exception))


class WriterTurnsUpTest(Scratch):
  """A writer opens the log while the lanes are read. What is given is right, and is given once."""

  def lock(self, log):
    """As a writer has it, by another open file than the reader's."""
    fd = os.open(os.path.join(log, 'lock'), os.O_RDWR)
    fcntl.fcntl(fd, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return fd

  def overwrite_ring(self, log):
    """By that of the next opening, in the same file."""
    with open(os.path.join(log, 'ring'), 'r+b') as file:
      data = file.read()
      header = bytearray(data[:512])
      struct.pack_into('<Q', header, 16, u64(data, 16) + 1)
      struct.pack_into('<I', header, 12, crc32c(bytes(header[16:])))
      file.seek(0)
      file.write(header)
      file.write(bytes(len(data) - 512))

  def interrupted(self, log, count, act):
    found, reader = [], weir.open(log)
    for event in reader:
      found.append(all_of(event))
      if len(found) == count: act()
    return found, reader

  def test_and_stays(self):
    whole = [all_of(event) for event in weir.open(golden('v1-killed'))]
    descriptors = len(os.listdir('/proc/self/fd'))
    for count in range(36, len(whole)):
      log = self.copy('v1-killed')
      fds = []
      found, reader = self.interrupted(log, count, lambda: (fds.append(self.lock(log)), self.overwrite_ring(log)))
      self.assertEqual(found, whole[:len(found)], count)
      self.assertGreaterEqual(len(found), count)
      self.assertEqual((reader.is_damaged, reader.is_live), (False, True) if len(found) < len(whole) else
                       (False, reader.is_live), count)
      os.close(fds[0])
      shutil.rmtree(log)
      self.assertEqual(len(os.listdir('/proc/self/fd')), descriptors)

  def test_and_dies(self):
    """No process has the lock by the time that the reader looks: the header of the ring tells."""
    whole = [all_of(event) for event in weir.open(golden('v1-killed'))]
    for count in range(39, len(whole)):
      log = self.copy('v1-killed')
      found, reader = self.interrupted(log, count, lambda: self.overwrite_ring(log))
      self.assertEqual(found, whole[:len(found)], count)
      if len(found) < len(whole): self.assertIn('of another opening', reader.skips[-1].reason)
      shutil.rmtree(log)

  def test_and_dies_while_it_makes_its_ring(self):
    """The old file has another name by then, the old header, and lanes that are emptied."""
    whole = [all_of(event) for event in weir.open(golden('v1-killed'))]
    for count in range(39, len(whole)):
      log = self.copy('v1-killed')

      def begin_ring():
        os.rename(os.path.join(log, 'ring'), os.path.join(log, 'ring.new'))
        with open(os.path.join(log, 'ring.new'), 'r+b') as file:
          header = file.read(4096)
          file.seek(u64(header, 56))
          file.write(bytes(os.fstat(file.fileno()).st_size - file.tell()))

      found, reader = self.interrupted(log, count, begin_ring)
      self.assertEqual(found, whole[:len(found)], count)
      shutil.rmtree(log)

  def test_and_is_writing_a_block(self):
    """A block without its payload at the end of a segment is no damage where a writer is at work."""
    log, fds, name = self.copy('v1-killed'), [], '00000000000000000027.weir.active'
    with open(os.path.join(log, name), 'rb') as file: data = file.read()
    segment = _segment.Segment(_segment.segment_name(name), data)
    *_, last, _ = segment.steps()
    block = bytearray(segment.data[last.at:last.end])
    struct.pack_into('<Q', block, 16, last.end)
    struct.pack_into('<Q', block, 48, last.next)
    struct.pack_into('<I', block, 4, crc32c(bytes(block[8:160])))
    block[160:] = bytes(len(block) - 160)
    act = lambda: (fds.append(self.lock(log)), self.change(log, name, last.end, block))
    found, reader = self.interrupted(log, 27, act)
    self.assertEqual(len(found), 38)
    self.assertEqual((reader.is_damaged, reader.is_live), (False, True))
    os.close(fds[0])
    list(reader)
    self.assertEqual((reader.is_damaged, reader.is_live), (True, False))

  def test_and_cuts_the_ring(self):
    """What can't be read is no damage where a writer is at work."""
    whole = [all_of(event) for event in weir.open(golden('v1-killed'))]
    log, fds = self.copy('v1-killed'), []
    found, reader = self.interrupted(
        log, 42, lambda: (fds.append(self.lock(log)), os.truncate(os.path.join(log, 'ring'), 4096)))
    self.assertEqual(found, whole[:len(found)])
    self.assertEqual((reader.is_damaged, reader.is_live), (False, True))
    os.close(fds[0])


class PiecesTest(unittest.TestCase):
  def test_they_are_as_the_bytes_that_they_stand_for(self):
    seed = os.environ.get('WEIR_SEED') or str(random.SystemRandom().randrange(10**9))
    print(f'test_reader.py: WEIR_SEED={seed}')
    chance = random.Random(seed)
    for _ in range(200):
      pieces, whole = _pieces.Pieces(), b''
      for _ in range(chance.randrange(8)):
        data = b''.join(chance.choice([b'W', b'WB', b'WBLK', b'LK', b'\0', b'x']) for _ in range(chance.randrange(4)))
        size = len(data) + chance.choice([0, 0, 1, 3, 40])
        pieces.append(data, size)
        whole += data + bytes(size - len(data))
      self.assertEqual((len(pieces), pieces.count(0)), (len(whole), whole.count(0)))
      for at in range(len(whole) + 2):
        self.assertEqual(pieces.find(b'WBLK', at), whole.find(b'WBLK', at))
        for end in (at, at + 1, at + 5, at + 1000): self.assertEqual(pieces[at:end], whole[at:end])


class BatchTest(Scratch):
  """The golden batch segment in other frames of the same content."""

  def content(self):
    with open(os.path.join(golden('v1-batched'), '00000000000000000000.weir.lz4'), 'rb') as file:
      return _batch.Batch(file.read())

  def read_as(self, frame):
    log = self.copy('v1-batched')
    with open(os.path.join(log, '00000000000000000000.weir.lz4'), 'wb') as file: file.write(frame)
    reader = weir.open(log)
    ids = [event.id for event in reader]
    shutil.rmtree(log)
    return ids, reader.is_damaged

  def frame(self, content, flags, size, sums):
    header = bytes([0x40 | flags | sums << 4, 0x40]) + (struct.pack('<Q', len(content)) if flags & 8 else b'')
    made = b'\x04\x22\x4d\x18' + header + bytes([xxh32(header) >> 8 & 255])
    for at in range(0, len(content), size):
      piece = content[at:at + size]
      made += struct.pack('<I', len(piece) | 1 << 31) + piece + (struct.pack('<I', xxh32(piece)) if sums else b'')
    return made + bytes(4)

  def test_frames_of_other_forms(self):
    expected = [event.id for event in weir.open(golden('v1-batched'))]
    content = self.content().content
    for flags in (0, 8, 32, 40):
      for size in (300, 65536):
        for sums in (0, 1):
          self.assertEqual(self.read_as(self.frame(content, flags, size, sums)), (expected, False), (flags, size, sums))

  def test_a_damaged_block_takes_what_is_in_it(self):
    content, expected = self.content().content, [event.id for event in weir.open(golden('v1-batched'))]
    frame = bytearray(self.frame(content, 40, 65536, 0))
    frame[20:6000] = bytes(5980)
    found, is_damaged = self.read_as(bytes(frame))
    self.assertTrue(is_damaged)
    self.assertTrue(set(found) < set(expected))

  def test_bad_blocks_take_no_memory(self):
    """Each counts as a full one, and most of it is zeros."""
    for flags, count in ((0, 20), (32, 20), (0, 512), (32, 512)):
      header = bytes([0x40 | flags, 0x70])
      frame = b'\x04\x22\x4d\x18' + header + bytes([xxh32(header) >> 8 & 255])
      frame += count * b'\1\0\0\0\xf0'
      tracemalloc.start()
      try:
        batch = _batch.Batch(frame + bytes(4))
        self.assertEqual((len(batch.pieces), batch.pieces.count(0)), (count << 22, count << 22))
        self.assertEqual(batch.pieces.find(b'WBLK', 0), -1)
        ids, is_damaged = self.read_as(frame + bytes(4))
        peak = tracemalloc.get_traced_memory()[1]
      finally: tracemalloc.stop()
      self.assertEqual((len(ids), is_damaged), (len(list(weir.open(golden('v1-batched'), start=27))), True))
      self.assertLess(peak, 12 << 20)

  def test_expand(self):
    for packed, room, made in ((b'\x50hello', 5, b'hello'), (b'\x10a\x01\x00\x50hello', 100, b'aaaaahello'),
                               (b'\x30abc\x03\x00\x50hello', 100, b'abcabcahello')):
      self.assertEqual(_lz4.decompress(packed, room), made)
    made = bytearray()
    self.assertFalse(_lz4.expand(b'\x30abc\x09\x00\x50hello', 100, made))
    self.assertEqual(bytes(made), b'abc')
    for packed in (b'', b'\xf0', b'\x10a\x01', b'\x0f\x01\x00', b'\x50hell'):
      self.assertIsNone(_lz4.decompress(packed, 100))


class CommandTest(Scratch):
  def test_one_line_an_event(self):
    done = run(golden('v1-closed'))
    self.assertEqual(len(done.stdout.splitlines()), len(list(weir.open(golden('v1-closed')))))
    self.assertTrue(done.stdout.startswith('{"offset":0,"id":"abf20d90aa262ef90000000000000000","time":"2026-11-23T'))

  def test_compared_logs_go_on_after_one_that_is_none(self):
    done = run('--compare', input=f'{self.folder}\n{golden("v1-damaged")}\n')
    first, second = done.stdout.split('\n.\n')[:2]
    self.assertEqual(first, '{"end":"none","damaged":false}')
    self.assertIn('{"missing":22,"count":1}\n', second)
    self.assertTrue(second.endswith('{"end":"complete","damaged":true}'))

  def test_sensitive_values(self):
    """As `weir cat` prints them, and what is lost or does not fit."""
    for options, name in (((), 'cat.jsonl'), (('--show-sensitive',), 'shown.jsonl')):
      done = run(*options, golden('v1-sensitive'))
      with open(os.path.join(GOLDEN, 'v1-sensitive', name), encoding='utf-8') as file:
        for line, expected in zip(done.stdout.split('\n'), file.read().split('\n')): self.assertEqual(line, expected)
      self.assertEqual((done.stdout.count('\n'), done.returncode, done.stderr), (47, 0, ''))
    raw = run('--raw', golden('v1-sensitive')).stdout.split('\n')
    self.assertIn('"email":"a@b.c"', raw[0])
    self.assertIn('"event":"","fields":null,"payload":"06000000736563726574"', raw[44])

  def test_errors(self):
    done = run(os.path.join(self.folder, 'nothing'))
    self.assertEqual((done.returncode, done.stdout), (2, ''))
    self.assertIn('there is no directory', done.stderr)


class TableTest(unittest.TestCase):
  def log(self, *rows):
    class Row:
      offset, id, time_ns, name = 0, 'id', 0, 'event'

      def __init__(self, fields): self.fields = fields

    return [Row(fields) for fields in rows]

  def columns(self, *rows): return _tables.columns(self.log(*rows))[1]

  def test_a_column_for_each_name(self):
    self.assertEqual(self.columns({'offset': 1, 'field.offset': 2}, {'field.offset': 3}, {'offset': 4}),
                     {'field.field.offset': [1, None, 4], 'field.offset': [2, 3, None]})
    self.assertEqual(self.columns({'field.offset': 2}, {'offset': 1, 'id': 5}),
                     {'field.offset': [2, None], 'field.field.offset': [None, 1], 'field.id': [None, 5]})

  def test_integers_stay_exact(self):
    for values, kind in (([1, None], 'Int64'), ([2**63 - 1, -1], 'Int64'), ([2**63, None, 0], 'UInt64'),
                         ([2**63, -1], 'object'), ([True], 'boolean'), ([1.5], 'float64'), ([True, 1], 'object')):
      self.assertEqual(_tables._dtype(values), kind, values)

  def test_values_of_several_kinds(self):
    """pyarrow makes a date of a number beside a date, and bytes of a text beside bytes."""
    now = datetime.datetime.now(datetime.timezone.utc)
    for values in ([now, 1], [True, 1], [1.5, True], ['a', b'b'], [['a'], [b'b']], [{'a': 1}, {'a': True}], [[1], 1]):
      self.assertTrue(_tables._is_mixed(values), values)
    for values in ([None, now], [1, 2.5], [[1], [2.5]], [{'a': 1}, {'b': 'c'}], [{'a': None}, {'a': [1]}], []):
      self.assertFalse(_tables._is_mixed(values), values)

  def test_pandas(self):
    try: import pandas
    except ImportError: self.skipTest('pandas is not there')
    events, frame = list(weir.open(golden('v1-closed'))), weir.open(golden('v1-closed')).to_pandas()
    self.assertEqual(frame['offset'].tolist(), [event.offset for event in events])
    self.assertEqual(frame['event'].tolist(), [event.name for event in events])
    self.assertEqual(frame['time'].astype('int64').tolist(), [event.time_ns for event in events])
    for event, (_, row) in zip(events, frame.iterrows()):
      for name, value in (event.fields or {}).items():
        if isinstance(value, (int, str)) and not isinstance(value, bool): self.assertEqual(row[name], value, name)

  def test_arrow(self):
    try: import pyarrow
    except ImportError: self.skipTest('pyarrow is not there')
    events, table = list(weir.open(golden('v1-closed'))), weir.open(golden('v1-closed')).to_arrow()
    self.assertEqual(table.num_rows, len(events))
    self.assertEqual(table.column('offset').to_pylist(), [event.offset for event in events])
    self.assertEqual(table.schema.field('time').type, pyarrow.timestamp('ns', 'UTC'))
    mixed = _tables.to_arrow(self.log({'a': 1.5, 'b': 1}, {'a': True, 'b': 2.5}))
    self.assertEqual(mixed.column('a').to_pylist(), ['1.5', 'true'])
    self.assertEqual(mixed.column('b').to_pylist(), [1.0, 2.5])

  def test_without_them(self):
    script = 'import sys; sys.modules["pandas"] = sys.modules["pyarrow"] = None\nimport weir\n' \
             f'log = weir.open({golden("v1-closed")!r})\n' \
             'for call in (log.to_pandas, log.to_arrow):\n' \
             '  try: call()\n  except ImportError as error: print(error)'
    done = subprocess.run([sys.executable, '-B', '-c', script], capture_output=True, text=True,
                          env={**os.environ, 'PYTHONPATH': PACKAGE})
    self.assertEqual(done.stdout.splitlines(),
                     ['to_pandas needs pandas: pip install pandas', 'to_arrow needs pyarrow: pip install pyarrow'])


if __name__ == '__main__': unittest.main()
