"""Writing a log, through libweir.so.1.

    with weir.Writer('events') as writer:
      completed = writer.define('order.completed', {'order': 'u64', 'total': 'f64', 'coupon': 'string?'})
      completed.capture(41, 19.90, None)
      writer.capture('page.viewed', {'path': '/', 'items': [1, 2]})
"""
from __future__ import annotations

import ctypes
import datetime
import os
import struct
import uuid
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Union

from ._blocks import DYNAMIC
from ._errors import Error
from ._event import EventID
from ._values import ARRAY, BOOL, BYTES, DATE, DEEPEST, EPOCH, F64, I64, NULL, OBJECT, STRING, U64, UUID

_LIBRARY = 'libweir.so.1'
_ROOM = 4096  # for a structure of a later library, which may be longer
_FOR_EVER = 2**64 - 1
# The number of each kind, and its form if struct refuses what is not of the kind: for `?` struct takes any object.
_KINDS = {'bool': (1, ''), 'i8': (2, 'b'), 'i16': (3, 'h'), 'i32': (4, 'i'), 'i64': (5, 'q'), 'u8': (6, 'B'),
          'u16': (7, 'H'), 'u32': (8, 'I'), 'u64': (9, 'Q'), 'f32': (10, 'f'), 'f64': (11, 'd'), 'string': (12, ''),
          'bytes': (13, ''), 'uuid': (14, ''), 'date': (15, '')}
_U32, _I64, _U64, _F64 = (struct.Struct(form).pack for form in ('<I', '<q', '<Q', '<d'))
_TAGS = [bytes([kind]) for kind in range(OBJECT + 1)]


# ---- The library's structures ----------------------------------------------------------------------------------------

def _structure(title: str, /, **fields: Any) -> Any:
  return type(title, (ctypes.Structure,), {'_fields_': list(fields.items())})


_u32, _u64, _i32, _text = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_char_p
_ID = _structure('weir_id', opening=_u64, sequence=_u64)
_Error = _structure('weir_error', status=_i32, system_error=_i32, path=ctypes.c_char * 512,
                    message=ctypes.c_char * 1024)
_Options = _structure(
    'weir_options', struct_bytes=_u32, lane_count=_u32, spare_lanes=_u32, clock=_u32, lane_bytes=_u64,
    overflow_bytes=_u64, segment_bytes=_u64, max_event_bytes=_u64, drain_interval_ns=_u64, full_wait_ns=_u64,
    create=_u32, full_policy=_u32, ring_directory=_text, sync_interval_ns=_u64, max_bytes=_u64, retain_bytes=_u64,
    retain_ns=_u64,
    limit_policy=_u32, batch_threads=_u32, remove_delivered=_u32, threadless=_u32)
_Recovery = _structure(
    'weir_recovery', previous_opening=_u64, opening=_u64, segments_scanned=_u64, bytes_scanned=_u64,
    events_in_segments=_u64, lanes_drained=_u64, events_from_lanes=_u64, torn_bytes=_u64, damaged_blocks=_u64,
    damaged_bytes=_u64, damaged_records=_u64, unkept_bytes=_u64, missing_events=_u64, dropped=_u64, sampled=_u64,
    overwritten=_u64, first_offset=_u64, duration_ns=_u64, was_clean=_u32, ring_replaced=_u32, ring_vanished=_u32,
    rebooted=_u32, unknown_tail=_u32, start_damaged=_u32)
_Counters = _structure(
    'weir_counters', accepted=_u64, drained=_u64, next_offset=_u64, blocks=_u64, segments=_u64, wakeups=_u64,
    syncs=_u64, damaged=_u64, overwritten=_u64, expired=_u64, displaced=_u64, lost=_u64, durable_offset=_u64,
    dropped=_u64 * 16,
    lanes_in_use=_u32, types=_u32, storage=_i32, contexts=_u32, batched=_u64, batch_input=_u64, batch_output=_u64,
    batch_waiting=_u64, unbatched=_u64, batch_failures=_u64, batching=_i32, reserved=_u32, delivered_removed=_u64)
_Field = _structure('weir_field', name=_text, kind=_i32, optional=_i32)
_Definition = _structure(
    'weir_definition', name=_text, fields=ctypes.POINTER(_Field), field_count=_u32, encoded=_text, encoded_bytes=_u32,
    tagged=_u32, attributes=_text, attributes_bytes=_u32, sampled=_u32)


def _room(structure: Any) -> Any:
  """A zeroed structure with room behind it for what a later library adds."""
  buffer = ctypes.create_string_buffer(_ROOM)
  made = structure.from_buffer(buffer)
  made.buffer = buffer
  return made


def _values(made: Any) -> Dict[str, Any]:
  return {name: getattr(made, name) for name, _ in made._fields_ if name not in ('reserved', 'struct_bytes')}


class _Library:
  """The functions of the shared library that a writer needs."""

  def __init__(self, path: Optional[str]):
    path = path or os.environ.get('WEIR_LIBRARY') or _LIBRARY
    try:
      library, holding = ctypes.CDLL(path), ctypes.PyDLL(path)
      self.of(library, holding)
    except (OSError, AttributeError) as error:
      raise Error('missing', f"Weir's library can't be loaded: {error}; build and install it (make install), or name "
                             'the file in WEIR_LIBRARY') from None

  def of(self, library: Any, holding: Any) -> None:
    log, error = ctypes.c_void_p, ctypes.POINTER(_Error)

    def take(name: str, result: Any, *arguments: Any, of: Any = library) -> Any:
      function = of[name]
      function.restype, function.argtypes = result, arguments
      return function

    self.init = take('weir_options_init', None, ctypes.c_void_p)
    self.open = take('weir_open', _i32, _text, ctypes.c_void_p, ctypes.POINTER(log), ctypes.c_void_p, error)
    self.close = take('weir_close', _i32, log, error)
    self.free = take('weir_free', None, log)
    self.define = take('weir_define', _i32, log, _u64, ctypes.POINTER(_Definition), _u32, ctypes.POINTER(_u32), error)
    # Without letting other threads of Python run: that would cost more than the capture.
    self.capture = take('weir_capture', _i32, log, _u32, _text, _u64, ctypes.POINTER(_ID), of=holding)
    # For a capture that may wait for room.
    self.capture_waiting = take('weir_capture', _i32, log, _u32, _text, _u64, ctypes.POINTER(_ID))
    self.drain = take('weir_drain', _i32, log, _u64, ctypes.POINTER(_u64), error)
    self.sync = take('weir_sync', _i32, log, _u64, ctypes.POINTER(_u64), error)
    self.durable = take('weir_durable', _i32, log, _ID, _u64, error)
    self.count = take('weir_count', None, log, ctypes.c_void_p)
    self.status_name = take('weir_status_name', _text, _i32)
    self.drop_name = take('weir_drop_name', _text, _i32)

  def check(self, status: int, error: Any) -> None:
    if status != 0: raise Error(self.status_name(status).decode(), error.message.decode(errors='replace'))


# ---- Encoding --------------------------------------------------------------------------------------------------------

def _encode_bool(value: bool) -> bytes:
  if not isinstance(value, bool): raise _other_type(value)
  return b'\1' if value else b'\0'


def _encode_text(value: str) -> bytes:
  if not isinstance(value, str): raise _other_type(value)
  return _sized(value.encode())


def _encode_bytes(value: Union[bytes, bytearray, memoryview]) -> bytes:
  if not isinstance(value, (bytes, bytearray, memoryview)): raise _other_type(value)
  return _sized(bytes(value))


def _encode_date(value: datetime.datetime) -> bytes:
  if not isinstance(value, datetime.datetime): raise _other_type(value)
  if value.tzinfo is None: raise ValueError('a datetime without a time zone')
  return _F64((value - EPOCH).total_seconds())


def _encode_uuid(value: uuid.UUID) -> bytes:
  if not isinstance(value, uuid.UUID): raise _other_type(value)
  return value.bytes


def _sized(data: bytes) -> bytes: return _U32(len(data)) + data


def _other_type(value: Any) -> TypeError: return TypeError(f'a value of the type {type(value).__name__}')


_ENCODERS: Dict[str, Callable[[Any], bytes]] = {
    'bool': _encode_bool, 'string': _encode_text, 'bytes': _encode_bytes, 'uuid': _encode_uuid, 'date': _encode_date,
    **{kind: struct.Struct('<' + form).pack for kind, (_, form) in _KINDS.items() if form}}


def _optional(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
  return lambda value: b'\0' if value is None else b'\1' + encode(value)


def _tagged(value: Any, depth: int = 1) -> bytes:
  """A value with its kind before it."""
  if value is None: return _TAGS[NULL]
  if isinstance(value, bool): return _TAGS[BOOL] + (b'\1' if value else b'\0')
  if isinstance(value, int):
    if -2**63 <= value < 2**63: return _TAGS[I64] + _I64(value)
    if 0 <= value < 2**64: return _TAGS[U64] + _U64(value)
    raise ValueError('an integer of more than 64 bits')
  if isinstance(value, float): return _TAGS[F64] + _F64(value)
  if isinstance(value, str): return _TAGS[STRING] + _sized(value.encode())
  if isinstance(value, (bytes, bytearray, memoryview)): return _TAGS[BYTES] + _sized(bytes(value))
  if isinstance(value, uuid.UUID): return _TAGS[UUID] + value.bytes
  if isinstance(value, datetime.datetime): return _TAGS[DATE] + _encode_date(value)
  if depth > DEEPEST: raise ValueError(f'values nested deeper than {DEEPEST}')
  if isinstance(value, Mapping): return _TAGS[OBJECT] + _object(value, depth + 1)
  if isinstance(value, (list, tuple)):
    return _TAGS[ARRAY] + _U32(len(value)) + b''.join([_tagged(each, depth + 1) for each in value])
  raise _other_type(value)


def _object(members: Mapping[str, Any], depth: int = 1) -> bytes:
  parts = [_U32(len(members))]
  for name, value in members.items():
    if not isinstance(name, str): raise TypeError(f'a member whose name is {name!r}')
    parts.append(_sized(name.encode()))
    parts.append(_tagged(value, depth))
  return b''.join(parts)


def _check_name(name: Any) -> None:
  if not isinstance(name, str): raise TypeError(f'the name {name!r}: a name is a str')


def _check_event(name: Any, fields: Any) -> None:
  _check_name(name)
  if not isinstance(fields, (dict, Mapping)): raise TypeError(f'{name}: {fields!r}: the fields are a mapping')


def _encoded_name(name: str) -> bytes:
  """The name of an event without a definition, which nobody else checks."""
  try: encoded = name.encode()
  except UnicodeEncodeError as error: raise ValueError(f'the name {name!r}: {error}') from None
  if not 1 <= len(encoded) <= 1024:
    raise ValueError(f'the name {name[:40]!r}: a name has 1 to 1,024 bytes, this has {len(encoded):,}')
  if name.startswith('weir.'): raise ValueError(f"the name {name!r}: names that begin with weir. are Weir's own")
  return encoded


# ---- The writer ------------------------------------------------------------------------------------------------------

class Dropped(str):
  """A capture's answer where the event was refused: the reason, 'full', 'storage', 'closed', … It counts as false.
  Every refusal is counted, and told of in the log."""

  def __bool__(self) -> bool: return False


class EventType:
  """A type of events that a Writer defined."""

  def __init__(self, writer: 'Writer', number: int, name: str, fields: Mapping[str, str]):
    self.name, self.fields = name, dict(fields)
    self._writer, self._number = writer, number
    kinds = list(fields.values())
    self._encoders = [_optional(_ENCODERS[kind[:-1]]) if kind.endswith('?') else _ENCODERS[kind] for kind in kinds]
    forms = [_KINDS[kind][1] if kind in _KINDS else '' for kind in kinds]
    # Numbers alone are packed at once.
    self._packed = struct.Struct('<' + ''.join(forms)).pack if all(forms) else None

  def capture(self, *values: Any) -> Union[EventID, Dropped]:
    """Captures an event: a value for each field, in order. Answers its id, or why it was refused. From any thread.
    Raises TypeError and ValueError for values that are not of the fields' kinds; then nothing is captured. A field f32
    or f64 takes any number, and holds the nearest one of its kind: 2**53 for 2**53 + 1."""
    try:
      if self._packed: payload = self._packed(*values)
      elif len(values) == len(self._encoders): payload = b''.join([f(v) for f, v in zip(self._encoders, values)])
      else: raise TypeError(f'{len(values)} values for {len(self._encoders)} fields')
    except (TypeError, ValueError, OverflowError, struct.error) as error:
      raise self._misfit(values, error) from None
    return self._writer._capture(self._number, payload)

  def _misfit(self, values: Any, error: Exception) -> Exception:
    """Says which value does not fit which field."""
    if len(values) == len(self.fields):
      for (name, kind), encode, value in zip(self.fields.items(), self._encoders, values):
        try: encode(value)
        except TypeError as found:
          return TypeError(f'{self.name}: {value!r} is no {kind} for the field {name}: {found}')
        except (ValueError, OverflowError, struct.error) as found:
          return ValueError(f'{self.name}: {value!r} is no {kind} for the field {name}: {found}')
    return TypeError(f'{self.name} has the fields {", ".join(self.fields)}: give a value for each, in this order')


class Counters(NamedTuple):
  """Counts of this opening, as weir_counters has them. `dropped` has the refusals by reason."""
  accepted: int
  drained: int
  next_offset: int
  durable_offset: int
  overwritten: int
  lost: int
  dropped: Dict[str, int]
  storage: str


def _path(path: Union[str, bytes, 'os.PathLike[str]']) -> bytes:
  """C ends a path at its first zero byte."""
  data = os.fsencode(path)
  if b'\0' in data: raise ValueError(f'a path with a zero byte: {data!r}')
  return data


class Writer:
  """A log that is open for writing. One writer a directory; threads share it. An event that was accepted survives the
  death of the process. The child of a fork is refused until it opens a log of its own.

  Options are those of weir_options in weir.h, by their names: `Writer('events', lane_count=4, max_bytes=1 << 30)`.
  `library` is the path of libweir.so.1, if the loader does not find it. Blocks for the recovery of what a writer that
  died left, of which `recovery` tells. Raises Error.
  """

  _log: Optional[ctypes.c_void_p] = None

  def __init__(self, directory: Union[str, 'os.PathLike[str]'], *, library: Optional[str] = None, **options: Any):
    self._library = _Library(library)
    self.directory = os.fspath(directory)
    given = _room(_Options)
    self._library.init(given.buffer)
    for name, value in options.items():
      if name not in _values(given): raise TypeError(f'there is no option {name}: weir_options in weir.h has the names')
      try: setattr(given, name, _path(value) if name == 'ring_directory' else value)
      except TypeError as error: raise TypeError(f'the option {name}: {error}') from None
      # ctypes cuts a number that the member has no room for.
      if name != 'ring_directory' and getattr(given, name) != value:
        raise ValueError(f"the option {name} can't be {value}: weir.h has its range")
    log, recovery, failure = ctypes.c_void_p(), _room(_Recovery), _Error()
    path = _path(self.directory)
    self._library.check(self._library.open(path, given.buffer, log, recovery.buffer, failure), failure)
    self._log = log
    self._take = self._library.capture_waiting if given.full_wait_ns else self._library.capture
    #: What the opening found, as weir_recovery has it.
    self.recovery: Dict[str, int] = _values(recovery)

  def __enter__(self) -> 'Writer': return self
  def __exit__(self, *_: Any) -> None: self.close()

  def __del__(self) -> None:
    # Nobody calls any more: not even a capture on another thread, which would keep the object.
    if self._log is not None: self._library.free(self._log)

  def define(self, name: str, fields: Mapping[str, str]) -> EventType:
    """Defines a type of events. The kinds of fields are bool, i8 to i64, u8 to u64, f32, f64, string, bytes, uuid and
    date; with ? at the end a value may be None. Takes a lock. Raises Error, and ValueError for another kind."""
    _check_event(name, fields)
    for each in fields: _check_name(each)
    if '\0' in name or any('\0' in each for each in fields): raise ValueError(f'{name!r}: a name with a zero byte')
    made = (_Field * len(fields))()
    for field, (each, kind) in zip(made, fields.items()):
      known = _KINDS.get(kind[:-1] if kind.endswith('?') else kind) if isinstance(kind, str) else None
      if not known: raise ValueError(f'{name}: {kind!r} is no kind for the field {each}; kinds are {", ".join(_KINDS)}')
      field.name, field.kind, field.optional = each.encode(), known[0], kind.endswith('?')
    definition, number, error = _Definition(name=name.encode(), fields=made, field_count=len(fields)), _u32(), _Error()
    self._library.check(self._library.define(self._log, 0, definition, 1, number, error), error)
    return EventType(self, number.value, name, fields)

  def capture(self, name: str, fields: Mapping[str, Any] = {}) -> Union[EventID, Dropped]:
    """Captures an event without a definition, which carries its name and the names and kinds of its fields: None, bool,
    int, float, str, bytes, UUID, datetime, and lists and mappings of these. As EventType.capture. Raises ValueError for
    a name of no or more than 1,024 bytes, or that begins with `weir.`, as Weir's own do."""
    _check_event(name, fields)
    encoded = _encoded_name(name)
    try: payload = _sized(encoded) + _object(fields)
    except (TypeError, ValueError) as error:
      kind = ValueError if isinstance(error, ValueError) else TypeError
      raise kind(f'{name}: a field holds {error}; an event has None, bool, int, float, str, bytes, UUID, '
                        'datetime with a time zone, and lists and mappings of these') from None
    return self._capture(DYNAMIC, payload)

  def _capture(self, number: int, payload: bytes) -> Union[EventID, Dropped]:
    id = _ID()
    reason = self._take(self._log, number, payload, len(payload), id)
    return Dropped(self._library.drop_name(reason).decode()) if reason else EventID(id.opening, id.sequence)

  def drain(self, timeout: Optional[float] = None) -> int:
    """Waits until everything captured before is in the segment log; `timeout` in seconds. Answers the offset after the
    last event drained. Raises Error: timeout, no_space, io, closed."""
    return self._wait(self._library.drain, timeout)

  def sync(self, timeout: Optional[float] = None) -> int:
    """Waits until the disk has everything captured before: a power cut takes none of it. Answers the offset below which
    everything is on the disk. Raises Error as drain."""
    return self._wait(self._library.sync, timeout)

  def durable(self, id: EventID, timeout: Optional[float] = None) -> None:
    """Waits until the disk has this event, and what its thread captured before. Raises Error as drain, and invalid and
    lost."""
    if not isinstance(id, EventID): raise TypeError(f'{id!r} is no EventID, which an accepted capture answers')
    # ctypes cuts what has more than 64 bits.
    if not all(0 <= number < 2**64 for number in id): raise ValueError(f'{id!r} is of no event')
    error = _Error()
    self._library.check(self._library.durable(self._log, _ID(*id), _nanoseconds(timeout), error), error)

  def counters(self) -> Counters:
    """Takes a lock that is held for moments."""
    counted = _room(_Counters)
    self._library.count(self._log, counted.buffer)
    values = _values(counted)
    values['dropped'] = {self._library.drop_name(reason).decode(): count
                         for reason, count in enumerate(counted.dropped) if reason and count}
    values['storage'] = self._library.status_name(counted.storage).decode()
    return Counters(**{name: values[name] for name in Counters._fields})

  def close(self) -> None:
    """Drains, seals and unlocks the log. Later captures answer 'closed'. A second call does nothing. Raises Error."""
    error = _Error()
    self._library.check(self._library.close(self._log, error), error)

  def _wait(self, function: Any, timeout: Optional[float]) -> int:
    offset, error = _u64(), _Error()
    self._library.check(function(self._log, _nanoseconds(timeout), offset, error), error)
    return offset.value


def _nanoseconds(timeout: Optional[float]) -> int:
  if timeout is None: return _FOR_EVER
  if not timeout >= 0: raise ValueError(f'the timeout {timeout}: a timeout is 0 or more seconds, or None')
  return int(timeout * 1e9) if timeout * 1e9 < _FOR_EVER else _FOR_EVER
