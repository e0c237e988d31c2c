"""What is written through the library, and read back."""
import array
import datetime
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid

import weir

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(weir.__file__)))
INCLUDE = os.path.abspath(os.path.join(os.path.dirname(__file__), '../../../include'))
VALUES = {'bool': True, 'i8': -128, 'i16': -32768, 'i32': -2**31, 'i64': -2**63, 'u8': 255, 'u16': 65535,
          'u32': 2**32 - 1, 'u64': 2**64 - 1, 'f32': 0.5, 'f64': 0.1, 'string': 'größe', 'bytes': b'\0\xff',
          'uuid': uuid.UUID('01234567-89ab-cdef-0123-456789abcdef'),
          'date': datetime.datetime(2026, 11, 27, 12, 30, 0, 250000, tzinfo=datetime.timezone.utc)}


class WriterTest(unittest.TestCase):
  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix='weir-python-')
    self.addCleanup(shutil.rmtree, self.folder)
    self.log = os.path.join(self.folder, 'log')

  def test_every_kind_of_field(self):
    with weir.Writer(self.log) as writer:
      full = writer.define('full', {kind: kind for kind in VALUES})
      optional = writer.define('optional', {kind: kind + '?' for kind in VALUES})
      numbers = writer.define('numbers', {'a': 'u16', 'b': 'f64', 'c': 'bool'})
      ids = [full.capture(*VALUES.values()), optional.capture(*VALUES.values()),
             optional.capture(*[None] * len(VALUES)), numbers.capture(7, 1.5, False)]
    events = list(weir.open(self.log))
    self.assertEqual([event.id for event in events], ids)
    self.assertEqual([event.name for event in events], ['full', 'optional', 'optional', 'numbers'])
    self.assertEqual([event.fields for event in events],
                     [VALUES, VALUES, dict.fromkeys(VALUES), {'a': 7, 'b': 1.5, 'c': False}])

  def test_values_that_are_not_of_the_kind(self):
    class Bytes:
      bytes = b'1234'

      def encode(self): return b'evil'

    with weir.Writer(self.log) as writer:
      for kind, values in (('bool', ('no', 'false', [], 0, 1, None)), ('uuid', (Bytes(), 'x', b'1' * 16)),
                           ('string', (Bytes(), b'x', 5)), ('date', (5, datetime.time(1), datetime.date(2026, 1, 1)))):
        for each in (kind, kind + '?'):
          taken = writer.define(f'of.{each}', {'number': 'u8', 'value': each})
          for value in values:
            if value is None and each != kind: continue
            with self.assertRaises(TypeError) as caught: taken.capture(1, value)
            self.assertIn('for the field value', str(caught.exception))
      only = writer.define('only', {'a': 'bool'})
      with self.assertRaises(TypeError): only.capture('no')
      self.assertEqual(writer.counters().accepted, 0)
      real = writer.define('real', {'a': 'f64', 'b': 'f32'})
      real.capture(2**53 + 1, 0.1)
    rounded = struct.unpack('<f', struct.pack('<f', 0.1))[0]
    self.assertEqual([event.fields for event in weir.open(self.log)], [{'a': 2.0**53, 'b': rounded}])

  def test_events_without_a_definition(self):
    fields = {'none': None, 'yes': True, 'no': False, 'small': -1, 'large': 2**64 - 1, 'real': 0.25, 'text': 'größe',
              'bytes': b'\0', 'uuid': VALUES['uuid'], 'date': VALUES['date'], 'list': [1, [None, 'x'], {'a': {}}]}
    with weir.Writer(self.log) as writer:
      writer.capture('page.viewed', fields)
      writer.capture('empty')
    self.assertEqual([(event.name, event.fields) for event in weir.open(self.log)],
                     [('page.viewed', fields), ('empty', {})])

  def test_values_that_do_not_fit(self):
    deep = value = []
    for _ in range(17):
      value.append([])
      value = value[0]
    with weir.Writer(self.log) as writer:
      order = writer.define('order', {'number': 'u8', 'coupon': 'string?'})
      for values, kind, words in (((256, None), ValueError, 'number'), (('x', None), ValueError, 'number'),
                                  ((1, 2), TypeError, 'coupon'), ((1,), TypeError, 'number, coupon'),
                                  ((1, None, 2), TypeError, 'number, coupon')):
        with self.assertRaises(kind) as caught: order.capture(*values)
        self.assertIn('order', str(caught.exception))
        self.assertIn(words, str(caught.exception))
      for fields in ({'a': object()}, {'a': 2**64}, {'a': -2**63 - 1}, {'a': '\ud800'},
                     {'a': datetime.datetime(2026, 1, 1)}, {'a': deep}, {1: 2}):
        with self.assertRaises((TypeError, ValueError)) as caught: writer.capture('page', fields)
        self.assertIn('page', str(caught.exception))
      for kind in ('int', 'u64??', '', 'u128'):
        with self.assertRaises(ValueError): writer.define('other', {'a': kind})
      for call, words in ((lambda: writer.define('x', {'a': 5}), 'is no kind for the field a'),
                          (lambda: writer.define(5, {}), 'a name is a str'),
                          (lambda: writer.define('x', [('a', 'u8')]), 'fields are a mapping'),
                          (lambda: writer.define('x', {5: 'u8'}), 'a name is a str'),
                          (lambda: writer.capture('page', [('a', 1)]), 'fields are a mapping'),
                          (lambda: writer.capture(5), 'a name is a str')):
        with self.assertRaises((TypeError, ValueError)) as caught: call()
        self.assertIn(words, str(caught.exception))
      self.assertEqual(writer.counters().accepted, 0)

  def test_what_c_would_cut(self):
    for options in ({'max_bytes': -1}, {'max_bytes': 2**64 + 2**30}, {'lane_count': 2**32 + 4}):
      with self.assertRaises(ValueError) as caught: weir.Writer(self.log, **options)
      name, value = next(iter(options.items()))
      self.assertEqual(str(caught.exception), f"the option {name} can't be {value}: weir.h has its range")
    with self.assertRaises(ValueError): weir.Writer(self.log + '\0evil')
    with self.assertRaises(ValueError): weir.Writer(self.log, ring_directory=self.folder + '\0evil')
    with self.assertRaises(ValueError): weir.Writer(self.log, library='libweir.so.1\0evil')
    self.assertFalse(os.path.exists(self.log))
    with weir.Writer(self.log) as writer:
      with self.assertRaises(ValueError): writer.define('a\0b', {})
      with self.assertRaises(ValueError): writer.define('a', {'a\0b': 'u8'})
      self.assertTrue(writer.capture('a\0b', {'a\0b': 1}))
      taken = writer.define('taken', {'data': 'bytes', 'number': 'u8'})
      wide = array.array('I', [1, 2, 3])
      with self.assertRaises(TypeError): taken.capture(wide, 7)
      with self.assertRaises(TypeError): taken.capture([1, 2], 7)
      taken.capture(memoryview(wide), 7)
    self.assertEqual([(event.name, event.fields) for event in weir.open(self.log)],
                     [('a\0b', {'a\0b': 1}), ('taken', {'data': wide.tobytes(), 'number': 7})])

  def test_an_error_crosses_processes(self):
    error = pickle.loads(pickle.dumps(weir.Error('locked', 'somebody has it')))
    self.assertEqual((error.status, str(error)), ('locked', 'somebody has it'))

  def test_refusals(self):
    with weir.Writer(self.log, max_event_bytes=1024) as writer:
      large = writer.capture('large', {'text': 'x' * 2000})
      self.assertEqual((large, bool(large)), ('too_large', False))
      self.assertTrue(writer.capture('small'))
      counters = writer.counters()
      self.assertEqual((counters.accepted, counters.dropped), (1, {'too_large': 1}))
    closed = writer.capture('late')
    self.assertEqual((closed, bool(closed)), ('closed', False))
    writer.close()
    self.assertEqual([event.name for event in weir.open(self.log)], ['small', 'weir.gap'])

  def test_errors(self):
    with weir.Writer(self.log) as writer:
      with self.assertRaises(weir.Error) as caught: weir.Writer(self.log)
      self.assertEqual(caught.exception.status, 'locked')
      with self.assertRaises(weir.Error) as caught: writer.define('weir.own', {})
      self.assertEqual(caught.exception.status, 'invalid')
      with self.assertRaises(TypeError): weir.Writer(self.log, lanes=1)
      with self.assertRaises(TypeError): weir.Writer(self.log, lane_count='many')
    with self.assertRaises(weir.Error) as caught: weir.Writer(self.log, lane_count=1)
    self.assertEqual(caught.exception.status, 'invalid')
    with self.assertRaises(weir.Error) as caught: weir.Writer(self.log, library='/nowhere/libweir.so.1')
    self.assertEqual(caught.exception.status, 'missing')

  def test_durability(self):
    with weir.Writer(self.log) as writer:
      first = writer.capture('first')
      writer.durable(first)
      self.assertEqual(writer.sync(timeout=60), 1)
      self.assertEqual(writer.counters().durable_offset, 1)
      self.assertEqual(writer.drain(60), 1)
      with self.assertRaises(weir.Error) as caught: writer.durable(weir.EventID(1, 2))
      self.assertEqual(caught.exception.status, 'invalid')
      for wait in (writer.drain, writer.sync, lambda timeout: writer.durable(first, timeout)):
        wait(float('inf'))
        wait(1e300)
        wait(0.5)
        for timeout in (float('nan'), -1, -1e-9, float('-inf')):
          with self.assertRaises(ValueError): wait(timeout)
      for opening, sequence in ((1, 2**64 + 2), (first.opening, first.sequence - 2**64), (first.opening + 2**64, 0)):
        with self.assertRaises(ValueError): writer.durable(weir.EventID(opening, sequence))

  def test_threads(self):
    with weir.Writer(self.log, full_wait_ns=10**11) as writer:
      counted = writer.define('counted', {'thread': 'u8', 'number': 'u32'})

      def work(thread):
        for number in range(2000): counted.capture(thread, number)

      threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
      for thread in threads: thread.start()
      for thread in threads: thread.join()
    numbers = {thread: [] for thread in range(4)}
    for event in weir.open(self.log): numbers[event.fields['thread']].append(event.fields['number'])
    self.assertEqual(numbers, {thread: list(range(2000)) for thread in range(4)})

  def test_a_live_log_is_read(self):
    with weir.Writer(self.log) as writer:
      for number in range(3): writer.capture('counted', {'number': number})
      writer.drain()
      log = weir.open(self.log)
      self.assertEqual([event.fields['number'] for event in log], [0, 1, 2])
      self.assertTrue(log.is_live)
      writer.capture('counted', {'number': 3})
      writer.drain()
      self.assertEqual([event.fields['number'] for event in weir.open(self.log, start=3)], [3])
    log = weir.open(self.log)
    self.assertEqual(len(list(log)), 4)
    self.assertFalse(log.is_live)

  def test_iterating_a_live_log_ends_whatever_is_written_meanwhile(self):
    """The walk begins anew where a segment is sealed that it was to read, and still ends with the one that was newest
    when it began."""
    with weir.Writer(self.log, segment_bytes=1 << 20, full_wait_ns=10**11) as writer:
      def capture(count):
        for _ in range(count): self.assertTrue(writer.capture('counted', {'text': 'x' * 1000}))
        writer.drain()

      def segments(): return sum(name.endswith('.weir') for name in os.listdir(self.log))

      while segments() < 2: capture(100)
      log, found, there = weir.open(self.log), 0, writer.drain()
      for event in log:
        found += 1
        if found == 1: capture(5000)
      self.assertEqual(log.skips, [])
      self.assertGreaterEqual(found, there)
      self.assertLess(found, there + 2000)

  def test_names(self):
    """Weir's own names are refused: what reads them would take the event for a notice of losses."""
    with weir.Writer(self.log) as writer:
      for name in ('', 'weir.gap', 'weir.', 'x' * 1025, 'é' * 513, '\ud800'):
        self.assertRaises(ValueError, writer.capture, name, {})
        self.assertRaises((weir.Error, ValueError), writer.define, name, {})
      for name in ('x' * 1024, 'weird', 'Weir.gap'): self.assertTrue(writer.capture(name, {}))

  def test_a_log_is_followed_through_segments_and_the_close(self):
    """Whenever the reader looks: no damage is told, and no event is left out or given twice."""
    script = (f'import weir\nwith weir.Writer({self.log!r}, segment_bytes=1 << 20, full_wait_ns=10**11, '
              'batch_threads=1) as writer:\n  print(flush=True)\n'
              '  for number in range(20000): writer.capture("counted", {"number": number, "text": "x" * 200})')
    child = subprocess.Popen([sys.executable, '-B', '-c', script], stdout=subprocess.PIPE,
                             env={**os.environ, 'PYTHONPATH': PACKAGE})
    self.addCleanup(child.communicate)
    self.addCleanup(child.kill)
    child.stdout.readline()
    numbers, following, has_ended = [], 0, False
    while not has_ended:
      has_ended = child.poll() is not None
      log = weir.open(self.log, start=following)
      for event in log:
        numbers.append(event.fields['number'])
        following = event.offset + 1
      self.assertEqual(log.skips, [])
    self.assertEqual(child.returncode, 0)
    self.assertEqual(numbers, list(range(20000)))

  def capture_and_die(self, count, options='', threads=1, drained=-1):
    """A process captures so many events, in threads that follow on one another, drains those up to the number
    `drained`, and is killed. Answers the id of the last one."""
    script = (f'import os, signal, threading, weir\n'
              f'writer = weir.Writer({self.log!r}, drain_interval_ns=10**10, {options})\n'
              'counted = writer.define("counted", {"number": "u64"})\ndone = threading.Event()\n'
              'def work(numbers, captured):\n  global id\n  for number in numbers:\n'
              f'    id = counted.capture(number)\n    if number == {drained}: writer.drain()\n'
              '  captured.set()\n  done.wait()\n'
              f'for thread in range({threads}):\n  captured = threading.Event()\n'
              f'  numbers = range({count} * thread // {threads}, {count} * (thread + 1) // {threads})\n'
              '  threading.Thread(target=work, args=(numbers, captured)).start()\n  captured.wait()\n'
              'print(id, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)')
    done = subprocess.run([sys.executable, '-B', '-c', script], capture_output=True, text=True,
                          env={**os.environ, 'PYTHONPATH': PACKAGE})
    self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
    return done.stdout.strip()

  def found(self):
    log = weir.open(self.log)
    events = [(event.offset, event.id, event.time_ns, event.fields) for event in log]
    self.assertFalse(log.is_damaged)
    return events

  def test_a_killed_process(self):
    """Everything that was accepted is read, in lanes or segments, and has the same ids and offsets after recovery."""
    last, before = self.capture_and_die(500), self.found()
    self.assertEqual([fields['number'] for *_, fields in before], list(range(500)))
    self.assertEqual(str(before[-1][1]), last)
    with weir.Writer(self.log) as writer: self.assertEqual(writer.recovery['was_clean'], 0)
    self.assertEqual(self.found(), before)

  def capture_in_threads(self, writer, count, events):
    """Each of `count` threads, which live at the same time, captures so many events."""
    together = threading.Barrier(count)

    def work():
      together.wait()
      for _ in range(events): writer.capture('later')
      together.wait()

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    writer.drain()

  def test_a_writer_that_opens_while_the_lanes_are_read(self):
    """The reader gives what recovery gives, and each event once, although the writer makes a ring in the same file."""
    self.capture_and_die(60, threads=3)
    whole = self.found()
    for copy, count in enumerate((1, 5, 19, 20, 21, 40, 59)):
      log = os.path.join(self.folder, f'copy-{copy}')
      shutil.copytree(self.log, log)
      reader, found, writer = weir.open(log), [], None
      for event in reader:
        found.append((event.offset, event.id, event.time_ns, event.fields))
        if len(found) != count: continue
        inode = os.stat(os.path.join(log, 'ring')).st_ino
        writer = weir.Writer(log)
        self.assertEqual(os.stat(os.path.join(log, 'ring')).st_ino, inode)
        self.capture_in_threads(writer, 3, 30)
      writer.close()
      self.assertEqual(found[:60], whole)
      self.assertEqual([fields for *_, fields in found[60:]], [{}] * (len(found) - 60))
      self.assertFalse(reader.is_damaged)
      self.assertEqual(len(list(weir.open(log))), 150)

  def test_a_writer_that_lives_and_dies_while_the_log_is_read(self):
    """The reader begins with the segments again, wherever the reader was."""
    self.capture_and_die(20, drained=9)
    for count in (1, 9, 10, 11, 20):
      before, found, reader = self.found(), [], weir.open(self.log)
      descriptors = len(os.listdir('/proc/self/fd'))
      last = len(before) - 20 + count
      for event in reader:
        found.append((event.offset, event.id, event.time_ns, event.fields))
        if len(found) == last: self.capture_and_die(20, drained=9)
      self.assertEqual(reader.skips, [], count)
      self.assertEqual(found[:len(before)], before)
      self.assertEqual(found, self.found()[:len(found)])
      self.assertEqual(len(os.listdir('/proc/self/fd')), descriptors)

  def test_a_killed_process_that_overwrote_events(self):
    """What later events overwrote is told as the next opening tells it."""
    self.capture_and_die(20000, 'lane_count=2, spare_lanes=1, lane_bytes=65536, max_event_bytes=1024, '
                                'overflow_bytes=0, full_policy=1')
    before = self.found()
    self.assertEqual(before[-1][3]['number'], 19999)
    overwritten = sum(fields['dropped'] for *_, fields in before if 'dropped' in fields)
    self.assertEqual(len([fields for *_, fields in before if 'number' in fields]) + overwritten, 20000)
    weir.Writer(self.log).close()
    self.assertEqual(self.found(), before)

  def test_a_ring_in_another_directory(self):
    elsewhere = os.path.join(self.folder, 'ring')
    os.mkdir(elsewhere, 0o700)
    self.capture_and_die(500, f'ring_directory={elsewhere!r}')
    self.assertEqual([fields['number'] for *_, fields in self.found()], list(range(500)))
    shutil.copytree(self.log, os.path.join(self.folder, 'copy'))
    copy = weir.open(os.path.join(self.folder, 'copy'))
    list(copy)
    self.assertIn('the ring is not where it was', copy.skips[-1].reason)
    shutil.rmtree(elsewhere)
    log = weir.open(self.log)
    list(log)
    self.assertIn('the ring is not where it was', log.skips[-1].reason)

  def test_a_fork(self):
    with weir.Writer(self.log) as writer:
      writer.capture('parent')
      child = os.fork()
      if child == 0: os._exit(0 if writer.capture('child') == 'detached' else 1)
      self.assertEqual(os.waitpid(child, 0)[1], 0)
    self.assertEqual([event.name for event in weir.open(self.log)], ['parent'])

  def test_structures_are_those_of_the_library(self):
    """Their sizes, and where each member lies, as the C compiler has them."""
    from weir import _writer
    compiler = next(filter(None, map(shutil.which, (os.environ.get('CC', 'cc').split()[0], 'cc', 'gcc'))), None)
    if not compiler: self.skipTest('there is no C compiler')
    structures = [_writer._ID, _writer._Error, _writer._Options, _writer._Recovery, _writer._Counters, _writer._Field,
                  _writer._Definition]
    expected, lines = [], []
    for each in structures:
      name = each.__name__
      expected.append(f'{name} {_writer.ctypes.sizeof(each)}')
      lines.append(f'  printf("{name} %zu\\n", sizeof({name}));')
      for member, _ in each._fields_:
        place = getattr(each, member)
        expected.append(f'{name}.{member} {place.offset} {place.size}')
        lines.append(f'  printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), '
                     f'sizeof((({name} *)0)->{member}));')
    source, program = os.path.join(self.folder, 'sizes.c'), os.path.join(self.folder, 'sizes')
    with open(source, 'w') as file:
      file.write('#include <stddef.h>\n#include <stdio.h>\n#include <weir.h>\n'
                 'int main(void) {\n' + '\n'.join(lines) + '\n  return 0;\n}\n')
    subprocess.run([compiler, '-I', INCLUDE, source, '-o', program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    self.assertEqual(done.stdout.splitlines(), expected)

  def test_options_that_are_not_given(self):
    from weir import _writer
    options = _writer._room(_writer._Options)
    _writer._Library(None).init(options.buffer)
    self.assertEqual((options.lane_count, options.create, options.drain_interval_ns), (16, 1, 20 * 10**6))


if __name__ == '__main__': unittest.main()
