"""The fields of an event, from bytes to Python's values, after the section Values of FileFormat.md."""
from __future__ import annotations

import base64
import datetime
import json
import math
import re
import struct
import uuid
from typing import Any, Dict, List, Optional, Tuple

_SCALARS = {kind: struct.Struct(form) for kind, form in
            {2: '<b', 3: '<h', 4: '<i', 5: '<q', 6: '<B', 7: '<H', 8: '<I', 9: '<Q', 11: '<d'}.items()}
_U8, _U16, _U32, _F32, _F64 = (struct.Struct(form) for form in ('<B', '<H', '<I', '<f', '<d'))
NULL, BOOL, I64, U64, F32, F64, STRING, BYTES, UUID, DATE = 0, 1, 5, 9, 10, 11, 12, 13, 14, 15
OPTIONAL, ARRAY, OBJECT, TAGGED = 16, 17, 18, 19
DEEPEST, _MOST_FIELDS, _MOST_NAME_BYTES = 16, 1024, 1024
EPOCH = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)
# Where the years 0, 1 and 10,000 begin: RFC 3339 has the years from 0 on, Python's dates those from 1 on.
_YEAR_0, _YEAR_1, _YEAR_10000 = -63145526400, -63113904000, 252423993600
_CALENDAR = datetime.timedelta(days=146097)  # 400 years, after which the calendar is the same

Descriptor = Tuple[int, Any]
Fields = List[Tuple[str, Descriptor]]


class Damaged(Exception):
  """Bytes that are not what the page says. None of the package's functions raises it to a caller."""


def require(condition: Any, what: str) -> None:
  if not condition: raise Damaged(what)


class Values:
  """Takes values from the front of some bytes, as Python's: a date is a datetime, or outside the years 1 to 9999 its
  seconds since 2001; text that is not UTF-8 is bytes."""

  def __init__(self, data: bytes, at: int = 0): self.data, self.at = data, at

  def take(self, count: int) -> bytes:
    end = self.at + count
    if end > len(self.data): raise Damaged('fields run past their end')
    taken = self.data[self.at:end]
    self.at = end
    return taken

  def number(self, form: struct.Struct) -> Any:
    end = self.at + form.size
    if end > len(self.data): raise Damaged('fields run past their end')
    value = form.unpack_from(self.data, self.at)[0]
    self.at = end
    return value

  def finish(self) -> None: require(self.at == len(self.data), 'fields leave bytes over')

  def text(self) -> bytes: return self.take(self.number(_U32))

  def count(self) -> int:
    count: int = self.number(_U32)
    require(count <= len(self.data) - self.at, 'more values than there are bytes')
    return count

  # A definition: what its bytes say of each field.

  def descriptor(self, depth: int) -> Descriptor:
    """A kind descriptor: the kind, and what it needs besides."""
    kind = self.number(_U8)
    require(BOOL <= kind <= TAGGED, 'a field of an unknown kind')
    require(depth <= DEEPEST or kind not in (OPTIONAL, ARRAY, OBJECT), 'fields are nested too deep')
    if kind in (OPTIONAL, ARRAY): return kind, self.descriptor(depth + 1)
    if kind == OBJECT:
      count = self.number(_U16)
      require(count > 0, 'an object without fields')
      return kind, self.described(count, depth + 1)
    return kind, None

  def described(self, count: int, depth: int = 1) -> Fields:
    require(count <= _MOST_FIELDS, 'more fields than there may be')
    return [(self.field_name(), self.descriptor(depth)) for _ in range(count)]

  def field_name(self) -> str:
    data = self.take(self.number(_U16))
    require(1 <= len(data) <= _MOST_NAME_BYTES, 'a name of a field is empty or too long')
    return utf8(data)

  # A payload: the values that its definition describes, or that describe themselves.

  def packed(self, fields: Fields) -> Any: return self.members([(name, self.value(kind)) for name, kind in fields])

  def value(self, descriptor: Descriptor) -> Any:
    kind, inner = descriptor
    if kind == OPTIONAL: return self.value(inner) if self.flag() else None
    if kind == ARRAY: return [self.value(inner) for _ in range(self.count())]
    if kind == OBJECT: return self.packed(inner)
    if kind == TAGGED: return self.tagged(self.number(_U8), 1)
    return self.scalar(kind)

  def tagged(self, kind: int, depth: int, has_names: bool = False) -> Any:
    """With `has_names` the names of all members must be UTF-8."""
    require(depth <= DEEPEST or kind not in (ARRAY, OBJECT), 'values are nested too deep')
    if kind == ARRAY: return [self.tagged(self.number(_U8), depth + 1, has_names) for _ in range(self.count())]
    if kind == OBJECT:
      return self.members([(self.name(has_names), self.tagged(self.number(_U8), depth + 1, has_names))
                           for _ in range(self.count())])
    return None if kind == NULL else self.scalar(kind)

  def name(self, must_be_text: bool) -> str:
    data = self.text()
    return utf8(data) if must_be_text else name_of(data)

  def flag(self) -> bool:
    byte: int = self.number(_U8)
    require(byte <= 1, 'a flag that is neither 0 nor 1')
    return byte == 1

  def scalar(self, kind: int) -> Any:
    form = _SCALARS.get(kind)
    if form: return self.number(form)
    if kind == STRING: return self.string(self.text())
    if kind == BOOL: return self.flag()
    if kind == F32: return self.single(self.number(_F32))
    if kind == BYTES: return self.binary(self.text())
    if kind == UUID: return self.uuid(self.take(16))
    if kind == DATE: return self.date(self.number(_F64))
    raise Damaged('a value of an unknown kind')

  # What a value becomes.

  def members(self, pairs: List[Tuple[str, Any]]) -> Any: return dict(pairs)
  def single(self, value: float) -> Any: return value
  def binary(self, data: bytes) -> Any: return data
  def uuid(self, data: bytes) -> Any: return uuid.UUID(bytes=data)

  def string(self, data: bytes) -> Any:
    try: return data.decode()
    except UnicodeDecodeError: return data

  def date(self, seconds: float) -> Any:
    if not _YEAR_1 <= seconds < _YEAR_10000: return seconds
    return EPOCH + datetime.timedelta(seconds=seconds)


class Members(List[Tuple[str, Any]]):
  """The members of an object, name and value each, in order: JSON has all of several with one name."""


class Single(float):
  """A number of 32 bits, printed with the fewest digits that give it back."""


class JSONValues(Values):
  """The same as values for `to_json`. What JSON has no form for is as `weir cat` writes it: NaN and the infinities as
  strings, bytes and text that is not UTF-8 as base64, a UUID as its string, a date of the years 0 to 9999 as RFC 3339,
  any other as its seconds since 2001."""

  def members(self, pairs: List[Tuple[str, Any]]) -> Any: return Members(pairs)
  def single(self, value: float) -> Any: return Single(value)
  def binary(self, data: bytes) -> Any: return base64.b64encode(data).decode()
  def uuid(self, data: bytes) -> Any: return str(uuid.UUID(bytes=data)).upper()
  def string(self, data: bytes) -> Any: return name_of(data)

  def date(self, seconds: float) -> Any:
    if not _YEAR_0 <= seconds < _YEAR_10000: return seconds
    whole = math.floor(seconds)
    exact = (seconds - whole) * 1e9
    nanoseconds = math.floor(exact)
    if exact - nanoseconds >= 0.5: nanoseconds += 1
    whole, nanoseconds = whole + nanoseconds // 10**9, nanoseconds % 10**9
    is_year_0 = whole < _YEAR_1
    moment = EPOCH + (datetime.timedelta(seconds=whole) + (_CALENDAR if is_year_0 else datetime.timedelta()))
    year = 0 if is_year_0 else moment.year
    return f'{year:04}{moment:-%m-%dT%H:%M:%S}' + (f'.{nanoseconds:09}' if nanoseconds else '') + 'Z'


def utf8(data: bytes) -> str:
  try: return data.decode()
  except UnicodeDecodeError: raise Damaged('a name is not UTF-8') from None


def name_of(data: bytes) -> str:
  """A text, or base64 where the bytes are not UTF-8."""
  try: return data.decode()
  except UnicodeDecodeError: return base64.b64encode(data).decode()


def check_object(data: bytes) -> None:
  """That these are one tagged object, whose names are UTF-8."""
  values = Values(data)
  values.tagged(OBJECT, 0, has_names=True)
  values.finish()


def read_object(data: bytes) -> Optional[Dict[str, Any]]:
  """A tagged object without its kind byte, or None where the bytes are none."""
  values = Values(data)
  try:
    found: Dict[str, Any] = values.tagged(OBJECT, 0)
    values.finish()
  except Damaged: return None
  return found


# What JSON requires to be escaped, and what changes in transit or in a terminal: other control characters, U+2028 and
# U+2029, which separate lines, characters that change the writing direction, U+FEFF.
_ESCAPED = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]')
_SHORT = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t'}


def _escape(found: 're.Match[str]') -> str: return _SHORT.get(found[0]) or f'\\u{ord(found[0]):04x}'


def to_json(value: Any) -> str:
  if isinstance(value, str): return f'"{_ESCAPED.sub(_escape, value)}"'
  if isinstance(value, Members):
    return '{' + ','.join(f'{to_json(name)}:{to_json(member)}' for name, member in value) + '}'
  if isinstance(value, list): return '[' + ','.join(map(to_json, value)) + ']'
  if isinstance(value, float):
    if value != value: return '"NaN"'
    if value in (float('inf'), float('-inf')): return '"Infinity"' if value > 0 else '"-Infinity"'
    if isinstance(value, Single):
      bits = _F32.pack(value)
      return repr(next(float(text) for text in (f'{value:.{digits}g}' for digits in range(1, 10))
                       if abs(float(text)) < 3.4028236e38 and _F32.pack(float(text)) == bits))
  return json.dumps(value)
