"""What the reader finds in logs: the golden ones, damaged ones, and ones that a writer has open."""
import datetime
import io
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import uuid

import weir
from weir import _batch, _lz4
from weir._checksums import crc32c, xxh32
from weir._values import JSONValues, Values, to_json

GOLDEN = os.path.abspath(os.path.join(os.path.dirname(__file__), '../../../Tests/Golden'))
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(weir.__file__)))


def golden(name): return os.path.join(GOLDEN, name, 'log')


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

  def test_notices(self):
    names = {event.name for event in weir.open(golden('v1-killed')) if event.is_notice}
    self.assertEqual(names, {'weir.gap', 'weir.hole'})

  def test_start(self):
    events = list(weir.open(golden('v1-killed')))
    for start in (0, 1, 20, 27, 40, events[-1].offset, events[-1].offset + 1):
      self.assertEqual([event.id for event in weir.open(golden('v1-killed'), start=start)],
                       [event.id for event in events if event.offset >= start], start)

  def test_text_that_is_not_utf8(self):
    data = struct.pack('<I', 2) + b'\xff\xfe'
    self.assertEqual(Values(data).scalar(12), b'\xff\xfe')
    self.assertEqual(JSONValues(data).scalar(12), '//4=')

  def test_numbers_as_json(self):
    single = JSONValues(struct.pack('<f', 0.1)).scalar(10)
    self.assertEqual(to_json(single), '0.1')
    self.assertEqual(to_json(float('nan')), '"NaN"')
    self.assertEqual(to_json(float('-inf')), '"-Infinity"')


class DamageTest(Scratch):
  def test_what_is_damaged_is_told_and_the_rest_is_read(self):
    log = weir.open(golden('v1-damaged'))
    events = list(log)
    self.assertTrue(log.is_damaged)
    self.assertEqual([(skip.first, skip.count) for skip in log.skips if skip.count], [(22, 1)])
    self.assertNotIn(22, [event.offset for event in events])
    self.assertGreater(len(events), 40)

  def test_cut_at_every_position(self):
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

  def test_no_log(self):
    for path, status in ((os.path.join(self.folder, 'nothing'), 'missing'), (self.folder, 'missing'),
                         (__file__, 'directory')):
      with self.assertRaises(weir.Error) as caught: weir.open(path)
      self.assertEqual(caught.exception.status, status)
      self.assertIn(path, str(caught.exception))


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

  def test_errors(self):
    done = run(os.path.join(self.folder, 'nothing'))
    self.assertEqual((done.returncode, done.stdout), (2, ''))
    self.assertIn('there is no directory', done.stderr)


class TableTest(unittest.TestCase):
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
