"""Where a log's ring is, after the section Locator of FileFormat.md."""
from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple, Optional

from ._errors import Newer
from ._files import Locator, exists, is_home, lock_id, open_directory, read_locator
from ._ring import Ring
from ._values import Damaged


class RingPlace(NamedTuple):
  """The directory and the name of the ring; the name is empty where no ring is. Closes the directory at the end of
  `with`."""
  directory: int
  name: str
  locator: Optional[Locator] = None
  is_vanished: bool = False
  is_closed: bool = False
  is_elsewhere: bool = False

  def __enter__(self) -> 'RingPlace': return self

  def __exit__(self, *_: Any) -> None:
    if self.is_elsewhere: os.close(self.directory)


def find_ring(home: int) -> RingPlace:
  """Raises Damaged where the locator is not valid: the ring can't be found."""
  locator = read_locator(home)
  if not locator or _is_another_logs(home, locator): return RingPlace(home, 'ring')
  if locator.is_closed:
    return RingPlace(home, 'ring', locator) if exists(home, 'ring') else RingPlace(home, '', locator, is_closed=True)
  vanished = RingPlace(home, '', locator, is_vanished=True)
  if not is_home(home, locator): return vanished
  try: directory = open_directory(locator.path)
  except FileNotFoundError: return vanished
  except OSError as error:
    if error.errno != errno.ELOOP: raise
    raise Damaged('the ring is damaged') from None
  name = f'weir-{locator.number:016x}.ring'
  if exists(directory, name) or exists(directory, name + '.new'):
    return RingPlace(directory, name, locator, is_elsewhere=True)
  os.close(directory)
  return vanished


def _is_another_logs(home: int, locator: Locator) -> bool:
  """Whether the lock and a ring in the log's directory agree on an id that is not the locator's."""
  log_id = lock_id(home)
  if log_id in (0, locator.log_id): return False
  try: ring = Ring(home, 'ring')
  except (Damaged, Newer, OSError): return False
  ring.close()
  return ring.log_id == log_id
