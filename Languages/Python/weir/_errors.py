"""What can be wrong with a log as a whole."""
from __future__ import annotations


class Error(Exception):
  """A log that can't be read or written. `status` is the library's word for it: 'missing', 'version', 'locked', …"""

  def __init__(self, status: str, message: str):
    super().__init__(message)
    self.status = status

  def __reduce__(self): return Error, (self.status, str(self))


class WriterAtWork(Exception):
  """Files came or went, or changed, while they were read. The log goes back to its segments."""


class Newer(Exception):
  """A file of a newer version. The log makes an Error of it."""
