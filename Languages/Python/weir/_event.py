"""An event as read."""
from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Dict, NamedTuple, Optional, Tuple

from ._blocks import DYNAMIC, Definition, Record
from ._checksums import u32
from ._values import OBJECT, Damaged, Values, name_of, read_object

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class EventID(NamedTuple):
  """The identity of an event, never given twice. Its string is 32 hexadecimal digits, as everywhere in Weir."""
  opening: int
  sequence: int

  def __str__(self) -> str: return f'{self.opening:016x}{self.sequence:016x}'


class Event:
  """An event of a log. Fields are decoded when they are asked for."""

  __slots__ = ('offset', 'id', 'time_ns', 'monotonic_ns', 'boot_id', 'host', 'context_number', '_data', '_record',
               '_definition', '_context', '_fields')

  def __init__(self, offset: int, id: EventID, time_ns: int, monotonic_ns: Optional[int], boot_id: bytes,
               host: Optional[str], data: bytes, record: Record, definition: Optional[Definition],
               context: Optional[Definition]):
    #: The event's number in the log.
    self.offset = offset
    self.id = id
    #: Nanoseconds since 1970-01-01T00:00:00Z.
    self.time_ns = time_ns
    #: CLOCK_MONOTONIC of the machine in the boot `boot_id`, nanoseconds; None where it is not known.
    self.monotonic_ns = monotonic_ns
    self.boot_id = boot_id
    #: The host of an event that was collected from there; None of the log's own.
    self.host = host
    #: The number of the global context within the opening; 0: there was none.
    self.context_number = record.context
    self._data, self._record, self._definition, self._context = data, record, definition, context
    self._fields: Any = self

  def __repr__(self) -> str: return f'<weir.Event {self.offset} {self.name!r} {self.time.isoformat()}>'

  @property
  def time(self) -> datetime.datetime:
    """When the event was captured, in UTC, to a microsecond. `time_ns` has the rest."""
    return _EPOCH + datetime.timedelta(microseconds=self.time_ns // 1000)

  @property
  def name(self) -> str:
    """Empty if the definition is lost. A name that is not UTF-8 is given in base64."""
    return name_of(self.name_bytes)

  @property
  def name_bytes(self) -> bytes:
    """The name as it was captured."""
    if self._record.type == DYNAMIC: return self._own_name()[0]
    return self._definition.name_bytes if self._definition else b''

  @property
  def is_notice(self) -> bool:
    """Whether Weir itself tells of a loss: `weir.gap`, `weir.hole`."""
    return self._record.type in (1, 2)

  @property
  def payload(self) -> bytes:
    """The encoded fields."""
    return self._own_name()[1] if self._record.type == DYNAMIC else self._parts()[0]

  @property
  def fields(self) -> Optional[Dict[str, Any]]:
    """None if the definition is lost, or the payload is none of its. Of several members with one name the last."""
    if self._fields is self:
      try: self._fields = self.decode(Values)
      except Damaged: self._fields = None
    return self._fields  # type: ignore[no-any-return]

  @property
  def context(self) -> Optional[Dict[str, Any]]:
    """The global context in force at the capture: `fields`, `user` and `sensitive`, each where there is something to
    say. None if there was none, or its definition is lost."""
    return read_object(self._context.attributes) if self._context else None

  @property
  def scope(self) -> Optional[Dict[str, Any]]:
    """The event's own context: `user`, `traits`, `view`, `fields` and `sensitive`. None without a scope."""
    data = self._parts()[1]
    return None if data is None else read_object(data)

  @property
  def attributes(self) -> Dict[str, Any]:
    """What the definition says besides: `id`, `kind`, `formerly`, `sensitive`, …"""
    data = self._definition.attributes if self._definition else b''
    return (read_object(data) if data else None) or {}

  @property
  def user(self) -> Optional[Dict[str, Any]]:
    """`id` and `traits` of the scope's user, or else of the context's. None for nobody."""
    scope = self.scope or {}
    if 'user' in scope:
      return None if scope['user'] is None else {'id': scope['user'], 'traits': scope.get('traits', {})}
    user = (self.context or {}).get('user')
    return user if isinstance(user, dict) else None

  def decode(self, values: Any) -> Any:
    """The fields as `values`, a kind of Values, makes them. Raises Damaged."""
    definition, payload = self._definition, self.payload
    if not definition: raise Damaged(f'type {self._record.type} has no definition')
    reader = values(payload)
    is_tagged = definition.is_tagged or self._record.type == DYNAMIC
    made = reader.tagged(OBJECT, 0) if is_tagged else reader.packed(definition.fields)
    reader.finish()
    return made

  def _parts(self) -> Tuple[bytes, Optional[bytes]]:
    """The payload, and the scope that it ends in, if it has one and that can be."""
    payload = self._record.payload(self._data)
    if not self._record.is_scoped or len(payload) < 4: return payload, None
    end = len(payload) - 4
    start = end - u32(payload, end)
    return (payload[:start], payload[start:end]) if start >= 0 else (payload, None)

  def _own_name(self) -> Tuple[bytes, bytes]:
    """The name and the fields of a dynamic event."""
    payload = self._parts()[0]
    end = 4 + u32(payload, 0) if len(payload) >= 4 else 0
    return (payload[4:end], payload[end:]) if 4 <= end <= len(payload) else (b'', payload)


@dataclass(frozen=True)
class Skip:
  """What was passed over: offsets that no event has, or bytes that no checksum vouches for, or both."""
  #: The first missing offset.
  first: int
  #: How many are missing; 0 where none is, or none is known.
  count: int
  file: str
  #: Where in the file; of a batch segment in its content.
  position: int
  bytes: int
  reason: str
  #: Retention removed them, or the byte limit: no damage.
  is_removed: bool = False
  #: After a power cut these offsets were given to nobody: no damage.
  is_left_out: bool = False

  @property
  def is_damage(self) -> bool: return not self.is_removed and not self.is_left_out
