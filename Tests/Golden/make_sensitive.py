#!/usr/bin/env python3
"""make_sensitive.py: makes v1-sensitive, a segment of events that have what must not be shown. Run once, as README.md
says; what it made is kept.

    make_sensitive.py DIRECTORY
"""
import ctypes, os, struct, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../Languages/Python'))
import weir  # noqa: E402
from weir._blocks import EVENTS  # noqa: E402
from weir._checksums import crc32c, u32, u64  # noqa: E402
from weir._values import ARRAY, I64, OBJECT, OPTIONAL, STRING, TAGGED  # noqa: E402
from weir._writer import _Definition, _Error, _object, _sized, _tagged  # noqa: E402

SCOPED = 1 << 31
UNKNOWN_TYPE, UNKNOWN_CONTEXT = 8000, 77
BYTES, U8 = 13, 6
# In each row what is escaped, between neighbours that are not.
CONTROLS = '\x00\x07\x08\x0c\x1b[31m"\\\n\r\t ~\x7f\x80\x85\x9f\xa0 \u200d\u200e\u200f\u2010 ' \
           '\u2027\u2028\u2029\u202a\u202e\u202f \u2065\u2066\u2069\u206a \ufefe\ufeff\uff00 \U0001f30a'


def described(fields):
  """The bytes of fields: name and kind each, the kind a number, or a tuple of OPTIONAL or ARRAY and a kind, or of
  OBJECT and fields."""
  return b''.join(struct.pack('<H', len(name.encode())) + name.encode() + kind_of(kind) for name, kind in fields)


def kind_of(kind):
  if isinstance(kind, int): return bytes([kind])
  if kind[0] == OBJECT: return struct.pack('<BH', OBJECT, len(kind[1])) + described(kind[1])
  return bytes([kind[0]]) + kind_of(kind[1])


class Maker:
  def __init__(self, directory):
    self.writer = weir.Writer(directory, lane_count=2, spare_lanes=1, lane_bytes=65536, max_event_bytes=4096,
                              segment_bytes=1 << 18)
    self.library = ctypes.CDLL(os.environ['WEIR_LIBRARY'])
    self.words = []  # for each event what is changed of its record's word: see change

  def define(self, name, fields, sensitive=None):
    """Fields None: events carry the names of theirs. Sensitive None: there are no attributes."""
    encoded = described(fields or [])
    attributes = b'' if sensitive is None else _object({'sensitive': sensitive} if sensitive else {})
    definition = _Definition(name=name.encode(), encoded=encoded if fields else None, encoded_bytes=len(encoded),
                             field_count=len(fields or []), tagged=fields is None, attributes=attributes or None,
                             attributes_bytes=len(attributes))
    number, error = ctypes.c_uint32(), _Error()
    self.writer._library.check(
        self.writer._library.define(self.writer._log, 0, definition, 1, number, error), error)
    return number.value

  def set_context(self, members):
    data, error = _object(members) if members else b'', _Error()
    status = self.library.weir_set_context(self.writer._log, data, ctypes.c_uint64(len(data)), ctypes.byref(error))
    self.writer._library.check(status, error)

  def capture(self, number, payload, scope=None, change=lambda word: word):
    """The scope as members, or as bytes. C's macros alone put one: the record gets the bit later."""
    if scope is not None:
      if not isinstance(scope, bytes): scope = _object(scope)
      payload, change = payload + scope + struct.pack('<I', len(scope)), lambda word: word | SCOPED
    assert self.writer._capture(number, payload), (number, payload)
    self.words.append(change)

  def named(self, name, fields, scope=None): self.capture(3, _sized(name.encode()) + _object(fields), scope)


def packed(make):
  address = (OBJECT, [('street', STRING), ('zip', (OPTIONAL, STRING)), ('geo', (OBJECT, [('lat', I64)]))])
  fields = [('order', I64), ('email', STRING), ('card', (OPTIONAL, STRING)), ('address', (OPTIONAL, address)),
            ('items', (ARRAY, (OPTIONAL, (OBJECT, [('price', I64), ('note', STRING)])))), ('any', TAGGED),
            ('any2', TAGGED), ('a.b', STRING), ('a', (OBJECT, [('b', STRING), ('c', STRING)])), ('http', STRING),
            ('http.key', STRING), ('blob', BYTES)]
  taken = make.define('order.completed', fields,
                      ['email', 'card', 'address.street', 'address.geo.lat', 'items.note', 'any', 'any2.secret', 'a.b',
                       'http.key', 'blob', 'unknown', 7])
  text = lambda words: _sized(words.encode())
  number = struct.Struct('<q').pack
  rest = struct.pack('<I', 2) + b'\1' + number(5) + text('note') + b'\0' + _tagged({'x': [1]}) + \
      _tagged({'secret': 'shown'}) + text('ab') + text('b') + text('c') + text('GET') + text('key') + text('\xff')
  make.capture(taken, number(1) + text('a@b.c') + b'\1' + text('4711') + b'\1' + text('Road 1') + b'\1' + text('123') +
               number(9) + rest)
  make.capture(taken, number(2) + text('') + b'\0\0' + rest)
  make.capture(taken, number(3))  # does not fit
  for name, paths in (('plain', None), ('plain.2', []), ('plain.3', ['other'])):
    make.capture(make.define(name, [('n', U8)], paths), b'\1')
  make.capture(make.define('unfit', [('n', U8)], []), b'\1\2')
  make.capture(make.define('unfit.payload', [('payload', U8)], []), b'\1\2')
  make.capture(make.define('unfit.hidden', [('payload', U8)], ['payload']), b'\1\2')
  twice = make.define('twice', [('a', (OBJECT, [('b', STRING), ('c', STRING)])), ('a', STRING), ('b', STRING),
                                ('b', STRING)], ['a.b', 'b'])
  make.capture(twice, text('b') + text('c') + text('a') + text('1') + text('2'))
  make.capture(make.define('one', [('größe', STRING)], ['größe']), text('XL'))


def tagged(make):
  taken = make.define('login', None, ['email', 'address.street', 'items.price', 'a.b.c', 'p.q.r.s.t', 'u.v.w.x.y.z', '',
                                      'dot.', 'deep.er'])
  each = {'email': None, 'name': 'n', 'address': {'street': 's', 'city': 'c', 'more': {'street': 's'}},
          'items': [{'price': 1, 'count': 2}, None, 3, [{'price': 4}, 'x']], 'a.b.c': 1, 'a.b': {'c': 2, 'd': 3},
          'a': {'b.c': 4, 'b': {'c': {'x': 5}}, 'd': 6}, 'p': {'q': {'r': {'s': {'t': 7, 'k': 8}}}},
          'p.q': {'r.s': {'t': 9, 'k': 10}}, 'u': 11, 'u.v': {'k': 12}, 'u.v.w.x.y.z': 13, 'k': {'u': 14}, '': 15,
          'dot': {'': 16, 'k': 17}, 'dot.': 18, 'deep': 'flat'}
  for fields in (each, {'email': 'a@b.c', 'address': 'flat', 'items': 5, 'a': [], 'p': {'q': 1}},
                 {'address': ['s', {'street': 's', 'k': 1}, None], 'deep': [[{'er': 1}, 2]], 'email': {'x': 1}}, {}):
    make.capture(taken, _object(fields))
  make.capture(taken, struct.pack('<I', 2) + (_sized(b'email') + _tagged('a')) * 2)
  make.capture(taken, b'\xff')  # does not fit
  make.capture(make.define('payload', None, []), _object({'payload': b'bytes'}))
  make.capture(make.define('payload.2', None), _object({'payload': b'bytes'}))
  make.capture(make.define('payload.3', None, ['payload']), b'\xff')


def users(make):
  """Events of the log's own have the traits of a user."""
  traits = {'email': 'a@b.c', 'phone': None, 'address': {'street': 's', 'city': 'c'}, 'plan': 'free',
            'list': [{'x': 1}, 2]}
  event = {'user': 'u1', 'traits': traits, 'other': {'email': 'x'}}
  for name in ('weir.associated', 'weir.other', 'associated'):
    make.named(name, event, {'sensitive': ['email', 'address.street']})
  for scope in (None, {'sensitive': ['*']}, {'sensitive': ['address', 'list.x', 9]}, {'sensitive': 'email'}, {},
                {'fields': {'scope': b'bytes'}}, {'fields': {'scope': b'bytes', 'x': 1}}, {'fields': {'scope': 'text'}},
                b'\xff', struct.pack('<I', 1) + _sized(b'\xff') + _tagged(1)):
    make.named('weir.associated', event, scope)
  make.set_context({'fields': {'app': 'shop'}, 'user': {'id': 'u1'}, 'sensitive': ['email', 'app']})
  for scope in (None, {'sensitive': ['plan']}): make.named('weir.associated', event, scope)
  make.named('weir.associated', {'traits': 'a@b.c'})
  make.set_context(None)
  fields = struct.pack('<I', 2) + _sized(b'traits') + _tagged(traits)
  make.capture(3, _sized(b'weir.associated') + fields + _sized(b'traits') + _tagged({'email': 'x', 'k': 1}),
               {'sensitive': ['email']})


def lost(make):
  """A definition and a context that are lost."""
  taken = make.define('lost', [('secret', STRING)], ['secret'])
  for payload in (_sized(b'secret'), b''):
    make.capture(taken, payload, change=lambda word: word & ~0xffff | UNKNOWN_TYPE)
  make.set_context({'sensitive': ['email']})
  make.capture(3, _sized(b'weir.associated') + _object({'traits': {'email': 'x', 'plan': 'free'}}),
               change=lambda word: word & 0xffff | UNKNOWN_CONTEXT << 16)
  make.set_context(None)


def dynamic(make):
  make.named('page\n' + CONTROLS, {'path': CONTROLS, CONTROLS: [CONTROLS]})
  make.named('weir.undefined', {'payload': b'bytes'})
  make.named('weir.undefined', {'payload': 'text', 'x': 1})
  make.named('bytes', {'payload': b'bytes'})
  make.capture(3, _sized(b'unfit') + b'\1')
  make.capture(3, b'\1')
  make.capture(3, _sized(b'') + _object({'a': 1}))


def change(path, words):
  """Changes the words of the events' records, under checksums that are right."""
  with open(path, 'rb') as file: data = bytearray(file.read())
  at, words = 512 + 16 * u32(data, 104), iter(words)
  while at < len(data):
    kind, size, count, record = u32(data, at + 32), u32(data, at + 36), u32(data, at + 44), at + 160
    opening, lane, position = data[at + 24:at + 32], u32(data, at + 56), u64(data, at + 64)
    for _ in range(count if kind == EVENTS else 0):
      length = u32(data, record + 4)
      struct.pack_into('<I', data, record + 8, next(words)(u32(data, record + 8)))
      place = struct.pack('<QQ', lane, position + record - at - 160)
      struct.pack_into('<I', data, record, crc32c(bytes(opening + place + data[record + 24:record + 24 + length] +
                                                        data[record + 4:record + 24])))
      record += 24 + length + 7 & ~7
    struct.pack_into('<I', data, at + 40, crc32c(bytes(data[at + 160:at + 160 + size])))
    struct.pack_into('<I', data, at + 4, crc32c(bytes(data[at + 8:at + 160])))
    at += 160 + size
  with open(path, 'wb') as file: file.write(data)


def main(directory):
  make = Maker(directory)
  for part in (packed, tagged, users, dynamic, lost): part(make)
  make.writer.close()
  for name in os.listdir(directory):
    if name.endswith('.weir'): change(os.path.join(directory, name), make.words)
    else: os.remove(os.path.join(directory, name))  # a copy of segments is a log


if __name__ == '__main__':
  if len(sys.argv) != 2: sys.exit('usage: make_sensitive.py DIRECTORY')
  main(sys.argv[1])
