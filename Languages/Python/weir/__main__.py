"""Prints a log as JSON, an event a line, as `weir cat` does.

    python3 -m weir DIRECTORY                   offset, id, time, event, fields; "[redacted]" for sensitive values
    python3 -m weir --show-sensitive DIRECTORY  sensitive values as they are
    python3 -m weir --raw DIRECTORY             the time in nanoseconds, and the bytes behind the fields in hexadecimal:
                                                all as stored, sensitive values too
    python3 -m weir --compare                   for directories on standard input: see Tests/Golden/README.md

On standard error: what was passed over. Exit status: 0 nothing is damaged, 1 something is, 2 there is no log, or a file
of a newer version.
"""
from __future__ import annotations

import argparse
import datetime
import os
import sys
from typing import Iterator, List, Optional

from ._errors import Error
from ._event import Event, Skip
from ._log import Log
from ._redaction import shown
from ._values import Damaged, JSONValues, to_json


def _hex_or_null(data: Optional[bytes]) -> str: return 'null' if data is None else f'"{data.hex()}"'


def _rfc3339(nanoseconds: int) -> str:
  seconds, rest = divmod(nanoseconds, 10**9)
  return f'"{datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"'


def _bytes_of(event: Event) -> str:
  """The members from `payload` on, and the end of the line."""
  _, scope = event._parts()
  definition, context = event._definition, event._context
  described, attributes = (definition.bytes.hex(), definition.attributes.hex()) if definition else ('', '')
  bytes_of_context, monotonic_ns = context.attributes if context else None, to_json(event.monotonic_ns)
  return (f'"payload":"{event.payload.hex()}","definition":"{described}","attributes":"{attributes}",'
          f'"context":{event.context_number},"context_bytes":{_hex_or_null(bytes_of_context)},'
          f'"scope":{_hex_or_null(scope)},"monotonic_ns":{monotonic_ns},"boot_id":"{event.boot_id.hex()}"}}')


def _line(event: Event, is_redacted: bool) -> str:
  name, fields = shown(event, is_redacted)
  return (f'{{"offset":{event.offset},"id":"{event.id}","time":{_rfc3339(event.time_ns)},"event":{to_json(name)},'
          f'"fields":{to_json(fields)}}}')


def _raw_line(event: Event) -> str:
  try: fields = to_json(event.decode(JSONValues))
  except Damaged: fields = 'null'
  return (f'{{"offset":{event.offset},"id":"{event.id}","time_ns":{event.time_ns},"event":{to_json(event.name)},'
          f'"fields":{fields},{_bytes_of(event)}')


def _compared(directory: str) -> Iterator[str]:
  """What is found in a log, in the form in which readers are compared."""
  end, damaged, ranges = 'complete', False, []  # type: str, bool, List[List[int]]

  def told() -> Iterator[str]:
    for first, count, is_removed in ranges:
      what = 'removed' if is_removed else 'missing'
      yield f'{{"{what}":{first},"count":{count}}}'
    ranges.clear()

  try:
    for item in Log(directory).items():
      if isinstance(item, Event):
        yield from told()
        yield (f'{{"offset":{item.offset},"id":"{item.id}","time_ns":{item.time_ns},"event":"{item.name_bytes.hex()}",'
               f'{_bytes_of(item)}')
        continue
      damaged |= item.is_damage
      if item.count == 0: continue
      if ranges and ranges[-1][2] == item.is_removed and sum(ranges[-1][:2]) == item.first: ranges[-1][1] += item.count
      else: ranges.append([item.first, item.count, item.is_removed])
  except Error as error: end = {'missing': 'none', 'version': 'newer'}.get(error.status, error.status)
  except OSError: end = 'io'
  yield from told()
  yield f'{{"end":"{end}","damaged":{to_json(damaged)}}}'


def _compare() -> int:
  for line in sys.stdin:
    sys.stdout.write('\n'.join(_compared(line.rstrip('\n'))) + '\n.\n')
    sys.stdout.flush()
  return 0


def _tell(skip: Skip) -> None:
  offsets = f'; offsets {skip.first} to {skip.first + skip.count - 1}' if skip.count else ''
  print(f'{skip.file}: byte {skip.position}: {skip.reason}{offsets}', file=sys.stderr)


def _print(directory: str, raw: bool, show_sensitive: bool) -> int:
  log = Log(directory)
  for item in log.items():
    if isinstance(item, Skip): _tell(item)
    else: print(_raw_line(item) if raw else _line(item, not show_sensitive))
  return 1 if log.is_damaged else 0


def main() -> int:
  parser = argparse.ArgumentParser(prog='python3 -m weir', description=__doc__.split('\n')[0] if __doc__ else None)
  parser.add_argument('directory', nargs='?', help="the log's directory")
  form = parser.add_mutually_exclusive_group()
  form.add_argument('--show-sensitive', action='store_true', help='print sensitive values as they are')
  form.add_argument('--raw', action='store_true', help='the bytes behind the fields, too: all as stored, sensitive '
                                                       'values too')
  form.add_argument('--compare', action='store_true', help='reads directories from standard input, for tests')
  arguments = parser.parse_args()
  if bool(arguments.directory) == arguments.compare: parser.error('name one directory')
  sys.stdout.reconfigure(encoding='utf-8')  # type: ignore[union-attr]
  try: return _compare() if arguments.compare else _print(arguments.directory, arguments.raw, arguments.show_sensitive)
  except BrokenPipeError:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
  except (Error, OSError) as error:
    print(f'weir: {error}', file=sys.stderr)
    return 2


if __name__ == '__main__': sys.exit(main())
