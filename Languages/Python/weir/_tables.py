"""Events as tables, for pandas and pyarrow."""
from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

if TYPE_CHECKING: from ._log import Log

_OWN = ('offset', 'id', 'time', 'event')


def columns(log: 'Log') -> Tuple[Dict[str, List[Any]], Dict[str, List[Any]]]:
  """The columns that every event has, and those of the fields. A field that is named like one of the first has `field.`
  before the name of its column, so often that no other column has the name."""
  own: Dict[str, List[Any]] = {name: [] for name in _OWN}
  fields: Dict[str, List[Any]] = {}
  for count, event in enumerate(log):
    for name, value in zip(_OWN, (event.offset, str(event.id), event.time_ns, event.name)): own[name].append(value)
    for name, value in (event.fields or {}).items():
      column = fields.setdefault(name, [])
      column.extend([None] * (count - len(column)))
      column.append(str(value) if isinstance(value, uuid.UUID) else value)
  count = len(own['offset'])
  named: Dict[str, List[Any]] = {}
  for name, column in fields.items():
    column.extend([None] * (count - len(column)))
    if name in _OWN:
      while name in own or name in fields: name = 'field.' + name
    named[name] = column
  return own, named


def to_pandas(log: 'Log') -> Any:
  try: import pandas
  except ImportError: raise ImportError('to_pandas needs pandas: pip install pandas') from None
  own, fields = columns(log)
  frame = {'offset': pandas.Series(own['offset'], dtype='uint64'), 'id': pandas.Series(own['id'], dtype='object'),
           'time': pandas.to_datetime(pandas.Series(own['time'], dtype='int64'), unit='ns', utc=True),
           'event': pandas.Series(own['event'], dtype='object')}
  for name, values in fields.items(): frame[name] = pandas.Series(values, dtype=_dtype(values))
  return pandas.DataFrame(frame)


def _dtype(values: List[Any]) -> str:
  """One that keeps integers exact where some are missing."""
  kinds = {type(value) for value in values if value is not None}
  if kinds == {bool}: return 'boolean'
  if kinds == {int}:
    there = [value for value in values if value is not None]
    return 'Int64' if max(there) < 2**63 else 'UInt64' if min(there) >= 0 else 'object'
  return 'float64' if kinds == {float} else 'object'


def _is_mixed(values: List[Any]) -> bool:
  """Whether there are values of several kinds, on their own or within lists and mappings. Integers and other numbers
  are of one kind: pyarrow refuses those that a column of numbers would change."""
  there = [value for value in values if value is not None]
  kinds = {type(value) for value in there}
  if kinds == {list}: return _is_mixed([each for value in there for each in value])
  if kinds == {dict}:
    return any(_is_mixed([value.get(name) for value in there]) for name in {name for value in there for name in value})
  return len(kinds) > 1 and kinds != {int, float}


def to_arrow(log: 'Log') -> Any:
  try: import pyarrow
  except ImportError: raise ImportError('to_arrow needs pyarrow: pip install pyarrow') from None
  own, fields = columns(log)
  table = {'offset': pyarrow.array(own['offset'], pyarrow.uint64()), 'id': pyarrow.array(own['id'], pyarrow.string()),
           'time': pyarrow.array(own['time'], pyarrow.timestamp('ns', 'UTC')),
           'event': pyarrow.array(own['event'], pyarrow.string())}
  for name, values in fields.items():
    # Where events have values of several kinds under one name, each is its JSON.
    kind = pyarrow.uint64() if _dtype(values) == 'UInt64' else None
    try: array = None if _is_mixed(values) else pyarrow.array(values, kind)
    except (pyarrow.ArrowException, OverflowError): array = None
    if array is None:
      array = pyarrow.array([None if value is None else json.dumps(value, default=str) for value in values])
    table[name] = array
  return pyarrow.table(table)
