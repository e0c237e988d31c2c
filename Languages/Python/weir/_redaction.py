"""Events as `weir cat` shows them: without sensitive values, by the rules of Redaction.swift."""
from __future__ import annotations

import functools
from typing import Any, Dict, FrozenSet, Iterator, Optional, Tuple

from ._blocks import DYNAMIC, Definition
from ._event import Event
from ._values import ARRAY, OBJECT, OPTIONAL, Damaged, Fields, JSONValues, Members, check_object, read_object

_REDACTED, _ALL = '[redacted]', '*'
_UNDEFINED, _UNREAD = 'weir.undefined', 'payload'
_MOST_NAMES = 5  # of a path of a tagged type; a longer one hides too much rather than too little


class _Paths(FrozenSet[str]):
  """What is sensitive in an object: names, and paths, which have the names of the objects around before them and dots
  between."""

  def get(self, name: str) -> Any:
    """True, or what is sensitive in the member."""
    return name in self or _Paths(path[len(name) + 1:] for path in self if path.startswith(name + '.'))


def _declared(marks: Dict[str, Any], fields: Fields, paths: FrozenSet[str], inside: str = '') -> Dict[str, Any]:
  """What is sensitive of declared fields. Of several with one name all marks apply."""
  for name, (kind, inner) in fields:
    while kind in (OPTIONAL, ARRAY): kind, inner = inner
    mark = inside + name in paths or \
        kind == OBJECT and _declared(marks.get(name, {}), inner, paths, inside + name + '.')
    if mark: marks[name] = mark
  return marks


def _hidden(value: Any, marks: Any) -> Any:
  """The value without what is sensitive of it: True for all, or what `get` answers for a name."""
  if value is None or not marks: return value
  if marks is True: return _REDACTED
  if isinstance(value, Members): return Members([(name, _hidden(each, marks.get(name))) for name, each in value])
  return [_hidden(each, marks) for each in value] if isinstance(value, list) else _REDACTED


def _sensitive(data: Optional[bytes]) -> Iterator[str]:
  """The paths that a tagged object names: attributes, a context or a scope."""
  paths = (read_object(data) or {}).get('sensitive') if data else None
  if isinstance(paths, list): yield from (path for path in paths if isinstance(path, str))


@functools.lru_cache(maxsize=512)
def _marks(definition: Definition, is_tagged: bool) -> Any:
  paths = _Paths(_sensitive(definition.attributes))
  if not is_tagged: return _declared({}, definition.fields, paths) if paths else paths
  long = (path.split('.') for path in paths if path.count('.') >= _MOST_NAMES)
  return _Paths(paths.union('.'.join(names[:count]) for names in long for count in range(1, len(names))))


def _marks_of_traits(event: Event, traits: Members) -> _Paths:
  """By the event's context and scope. All are sensitive where it is not known which are."""
  scope, context = event._parts()[1], event._context
  paths = _Paths([*_sensitive(context.attributes if context else None), *_sensitive(scope)])
  is_known = not event.context_number or context is not None
  if scope is not None:
    try: check_object(scope)
    except Damaged: is_known = False
    fields = (read_object(scope) or {}).get('fields')
    if isinstance(fields, dict) and len(fields) == 1 and isinstance(fields.get('scope'), bytes): is_known = False
  return paths if is_known and _ALL not in paths else _Paths(name for name, _ in traits)


def _redacted(event: Event, name: bytes, fields: Members) -> Members:
  definition = event._definition
  is_tagged = event._record.type == DYNAMIC or bool(definition and definition.is_tagged)
  is_declared = definition is not None and bool(not is_tagged or definition.attributes)
  if [each for each, _ in fields] == [_UNREAD] and isinstance((event.fields or {_UNREAD: b''})[_UNREAD], bytes):
    is_misfit = is_declared and not is_tagged and definition and _UNREAD not in dict(definition.fields)
    if is_misfit or name == _UNDEFINED.encode(): return Members([(_UNREAD, _REDACTED)])
  if definition and is_declared: return Members(_hidden(fields, _marks(definition, is_tagged)))
  traits = dict(fields).get('traits')
  if not name.startswith(b'weir.') or not isinstance(traits, Members): return fields
  traits = _hidden(traits, _marks_of_traits(event, traits))
  return Members([(each, traits if each == 'traits' else value) for each, value in fields])


def shown(event: Event, is_redacted: bool) -> Tuple[str, Members]:
  """The name and the fields, as JSONValues makes them. Where the payload can't be read, it is the field `payload`."""
  try: fields = event.decode(JSONValues)
  except Damaged: fields = Members([(_UNREAD, JSONValues(b'').binary(event.payload))])
  name = event.name_bytes or _UNDEFINED.encode()
  return event.name or _UNDEFINED, _redacted(event, name, fields) if is_redacted else fields
