"""read_values.py: the fields of an event, from bytes to JSON, after the section Values of FileFormat.md.

What JSON has no form for is written as `weir cat` writes it: NaN and the infinities as strings, bytes and text that is
not UTF-8 as base64, a UUID as its string, a date as RFC 3339 (outside the years 1 to 9999 as its seconds since 2001).
"""
import base64, datetime, json, struct, uuid

SCALARS = {2: '<b', 3: '<h', 4: '<i', 5: '<q', 6: '<B', 7: '<H', 8: '<I', 9: '<Q', 10: '<f', 11: '<d'}
NULL, BOOL, F32, STRING, BYTES, UUID, DATE, OPTIONAL, ARRAY, OBJECT, TAGGED = 0, 1, 10, 12, 13, 14, 15, 16, 17, 18, 19
DEEPEST = 16


class Damaged(Exception):
  """Bytes that are not what the page says."""


def require(condition, what):
  if not condition: raise Damaged(what)


class Members(list):
  """The members of an object, name and value each, in order."""


class Single(float):
  """A number of 32 bits, printed with the fewest digits that give it back."""


class Values:
  """Takes values from the front of some bytes."""

  def __init__(self, data): self.data, self.at = data, 0

  def take(self, count):
    require(self.at + count <= len(self.data), 'fields run past their end')
    self.at += count
    return self.data[self.at - count:self.at]

  def number(self, form): return struct.unpack(form, self.take(struct.calcsize(form)))[0]

  def finish(self): require(self.at == len(self.data), 'fields leave bytes over')

  def text(self): return self.take(self.number('<I'))

  def count(self):
    count = self.number('<I')
    require(count <= len(self.data) - self.at, 'more values than there are bytes')
    return count

  # A definition: what its bytes say of each field.

  def descriptor(self, depth):
    """A kind descriptor: the kind, and what it needs besides."""
    kind = self.number('<B')
    require(BOOL <= kind <= TAGGED, 'a field of an unknown kind')
    require(depth <= DEEPEST or kind not in (OPTIONAL, ARRAY, OBJECT), 'fields are nested too deep')
    if kind in (OPTIONAL, ARRAY): return kind, self.descriptor(depth + 1)
    if kind == OBJECT:
      count = self.number('<H')
      require(count > 0, 'an object without fields')
      return kind, self.fields(count, depth + 1)
    return kind, None

  def fields(self, count, depth=1):
    require(count <= 1024, 'more fields than there may be')
    return [(self.field_name(), self.descriptor(depth)) for _ in range(count)]

  def field_name(self):
    data = self.take(self.number('<H'))
    require(1 <= len(data) <= 1024, 'a name of a field is empty or too long')
    try: return data.decode()
    except UnicodeDecodeError: raise Damaged('a name of a field is not UTF-8')

  # A payload: the values that its definition describes, or that describe themselves.

  def packed(self, fields): return Members((name, self.value(descriptor)) for name, descriptor in fields)

  def value(self, descriptor):
    kind, inner = descriptor
    if kind == OPTIONAL: return self.value(inner) if self.flag() else None
    if kind == ARRAY: return [self.value(inner) for _ in range(self.count())]
    if kind == OBJECT: return self.packed(inner)
    if kind == TAGGED: return self.tagged(self.number('<B'), 1)
    return self.scalar(kind)

  def tagged(self, kind, depth, has_names=False):
    """With `has_names`, the names of all members must be UTF-8."""
    require(depth <= DEEPEST or kind not in (ARRAY, OBJECT), 'values are nested too deep')
    if kind == ARRAY: return [self.tagged(self.number('<B'), depth + 1, has_names) for _ in range(self.count())]
    if kind == OBJECT:
      return Members((self.name(has_names), self.tagged(self.number('<B'), depth + 1, has_names))
                     for _ in range(self.count()))
    return None if kind == NULL else self.scalar(kind)

  def name(self, must_be_text):
    data = self.text()
    if must_be_text:
      try: data.decode()
      except UnicodeDecodeError: raise Damaged('a name is not UTF-8')
    return string(data)

  def flag(self):
    byte = self.number('<B')
    require(byte <= 1, 'a flag that is neither 0 nor 1')
    return byte == 1

  def scalar(self, kind):
    if kind == F32: return Single(self.number('<f'))
    if kind in SCALARS: return self.number(SCALARS[kind])
    if kind == BOOL: return self.flag()
    if kind == STRING: return string(self.text())
    if kind == BYTES: return base64.b64encode(self.text()).decode()
    if kind == UUID: return str(uuid.UUID(bytes=self.take(16))).upper()
    if kind == DATE: return date(self.number('<d'))
    raise Damaged('a value of an unknown kind')


def string(data):
  try: return data.decode()
  except UnicodeDecodeError: return base64.b64encode(data).decode()


def date(seconds):
  if not -63113904000 <= seconds < 252423993599: return seconds  # what Python's dates hold, to a second
  whole = int(seconds // 1)
  nanoseconds = round((seconds - whole) * 1e9)
  moment = datetime.datetime(2001, 1, 1) + datetime.timedelta(seconds=whole + nanoseconds // 10**9)
  fraction = nanoseconds % 10**9
  return moment.isoformat() + (f'.{fraction:09}' if fraction else '') + 'Z'


def to_json(value):
  if isinstance(value, Members):
    return '{' + ','.join(f'{to_json(name)}:{to_json(member)}' for name, member in value) + '}'
  if isinstance(value, list): return '[' + ','.join(map(to_json, value)) + ']'
  if isinstance(value, float):
    if value != value: return '"NaN"'
    if value in (float('inf'), float('-inf')): return '"Infinity"' if value > 0 else '"-Infinity"'
    if isinstance(value, Single):
      bits = struct.pack('<f', value)
      return repr(next(float(text) for text in (f'{value:.{digits}g}' for digits in range(1, 10))
                       if abs(float(text)) < 3.4028236e38 and struct.pack('<f', float(text)) == bits))
  return json.dumps(value, ensure_ascii=False)
