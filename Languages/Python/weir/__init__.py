"""Weir's logs, read and written from Python.

    import weir
    for event in weir.open('events'): print(event.offset, event.time, event.name, event.fields)

Reading needs nothing but the standard library. `Writer` writes through libweir.so.1, which is loaded when one is made.
"""
from __future__ import annotations

import os
from typing import Union

from ._errors import Error
from ._event import Event, EventID, Skip
from ._log import Log
from ._writer import Counters, Dropped, EventType, Writer

__all__ = ['Counters', 'Dropped', 'Error', 'Event', 'EventID', 'EventType', 'Log', 'Skip', 'Writer', 'open']
__version__ = '1.0.0'


def open(directory: Union[str, 'os.PathLike[str]'], start: int = 0) -> Log:
  """The log in a directory, from the offset `start` on. Raises OSError, and Error: `missing` where there is no log,
  `directory` where the path is of no directory, or of a link."""
  return Log(directory, start)
