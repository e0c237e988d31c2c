"""The files of a log that are not segments: the lock, the locator, the start. And what the system says of files."""
from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import struct
from typing import List, NamedTuple, Optional, Tuple, Union

from ._blocks import MOST_OFFSETS
from ._checksums import crc32c, is_zero, u16, u32, u64
from ._errors import Newer
from ._values import Damaged

_F_OFD_GETLK = 36
_FLOCK = 'hhqqi4x'
_IN_USE, _CLOSED = 1, 2
_AT_ONCE = 0x7ffff000  # the most that the kernel reads at once


# ---- The system ------------------------------------------------------------------------------------------------------

def open_directory(path: Union[str, bytes]) -> int:
  """Refuses a link. With a slash at the end of the path the kernel would follow one in spite of O_NOFOLLOW."""
  name = os.fsdecode(path)
  return os.open(name.rstrip('/') or name[:1], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def open_plain(directory: int, name: str) -> int:
  """Opens a plain file to be read. Damaged: the name is a link's, or of something that is no file."""
  try: fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
  except OSError as error:
    if error.errno in (errno.ELOOP, errno.ENXIO): raise Damaged('not a plain file') from None
    raise
  if stat.S_ISREG(os.fstat(fd).st_mode): return fd
  os.close(fd)
  raise Damaged('not a plain file')


def read_at(fd: int, count: int, at: int) -> bytes:
  """What is there of `count` bytes from `at` on."""
  parts: List[bytes] = []
  while count > 0:
    part = os.pread(fd, min(count, _AT_ONCE), at)
    if not part: break
    parts.append(part)
    at, count = at + len(part), count - len(part)
  return parts[0] if len(parts) == 1 else b''.join(parts)


def read_file(directory: int, name: str, most: int) -> bytes:
  """All of a file. Damaged: it has more than `most` bytes, or is no plain file."""
  fd = open_plain(directory, name)
  try:
    size = os.fstat(fd).st_size
    if size > most: raise Damaged(f'the file has {size} bytes, more than any of its name')
    return read_at(fd, size, 0)
  finally: os.close(fd)


def read_head(directory: int, name: str, count: int) -> bytes:
  """A file's first bytes, as far as they are there."""
  fd = open_plain(directory, name)
  try: return read_at(fd, count, 0)
  finally: os.close(fd)


def exists(directory: int, name: str) -> bool:
  try: os.stat(name, dir_fd=directory, follow_symlinks=False)
  except FileNotFoundError: return False
  return True


def is_live(directory: int) -> bool:
  """Whether a writer holds the lock: asks for the write lock on the whole file, and takes none."""
  try: fd = open_plain(directory, 'lock')
  except (OSError, Damaged): return False
  try: answer = fcntl.fcntl(fd, _F_OFD_GETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
  except OSError: return False
  finally: os.close(fd)
  return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)


def boot_id() -> bytes:
  try:
    with open('/proc/sys/kernel/random/boot_id') as file: return bytes.fromhex(file.read().strip().replace('-', ''))
  except (OSError, ValueError): return bytes(16)


def _born_ns(fd: int) -> Optional[int]:
  """When the directory was made; 0 where the file system does not know, None where the C library does not say."""
  try: statx = ctypes.CDLL(None, use_errno=True).statx
  except (OSError, AttributeError): return None
  answer = ctypes.create_string_buffer(256)
  at_empty_path, born = 0x1000, 0x800
  if statx(fd, b'', at_empty_path, born, answer) != 0: return None
  mask, seconds, nanoseconds = u32(answer.raw, 0), *struct.unpack_from('<qI', answer.raw, 80)
  return (seconds * 10**9 + nanoseconds) % 2**64 if mask & born else 0


# ---- The lock --------------------------------------------------------------------------------------------------------

def lock_id(directory: int) -> int:
  try: lock = read_head(directory, 'lock', 64)
  except (OSError, Damaged): return 0
  is_right = len(lock) == 64 and lock[:8] == b'WEIRLOCK' and u32(lock, 12) == crc32c(lock[:12] + lock[16:])
  return u64(lock, 16) if is_right else 0


# ---- The start -------------------------------------------------------------------------------------------------------

class Start(NamedTuple):
  first: int
  log_id: int


def read_start(directory: int) -> Optional[Start]:
  """Where the log begins. None: there is no file. Damaged: neither slot is valid."""
  for _ in range(2):
    try: return _read_slots(directory)
    except Damaged: pass  # a writer may have written a slot meanwhile: not twice in a row
  return _read_slots(directory)


def _read_slots(directory: int) -> Optional[Start]:
  try: data = read_head(directory, 'start', 8192)
  except FileNotFoundError: return None
  slots: List[Tuple[int, Start]] = []
  for slot in (data[:512], data[4096:4608]):
    if len(slot) < 512 or slot[:8] != b'WEIRSTRT': continue
    major, is_right = u16(slot, 8), u32(slot, 12) == crc32c(slot[:12] + slot[16:])
    if major == 2 or major > 2 and is_right: raise Newer('start was written by a newer version')
    sequence, first, events, notices, missing = (u64(slot, at) for at in (16, 24, 64, 72, 96))
    if not is_right or sequence == 0: continue
    if u64(slot, 80): raise Newer('start has a feature that this version does not know')
    if first < MOST_OFFSETS and events + notices + missing <= first:
      slots.append((sequence, Start(first, u64(slot, 104))))
  if not slots:
    raise Damaged('the file that says what was removed is damaged: what retention removed counts as missing')
  return max(slots)[1]


# ---- The locator -----------------------------------------------------------------------------------------------------

class Locator(NamedTuple):
  opening: int
  number: int
  home: Tuple[int, int]
  next: int
  is_closed: bool
  log_id: int
  path: bytes


def read_locator(directory: int) -> Optional[Locator]:
  """None: there is none. Damaged: it is not valid, and the ring can't be found."""
  try: data = read_head(directory, 'ring.at', 4096)
  except FileNotFoundError: return None
  if len(data) < 4096 or data[:8] != b'WEIRLOCA': raise Damaged('the locator of the ring is damaged')
  major, is_right = u16(data, 8), u32(data, 12) == crc32c(data[:12] + data[16:])
  if major == 2 or major > 2 and is_right: raise Newer('ring.at was written by a newer version')
  opening, number, inode, born, after, incompatible, state, count = struct.unpack_from('<6Q2I', data, 16)
  if is_right and incompatible: raise Newer('ring.at has a feature that this version does not know')
  path, rest = data[96:96 + count], data[96 + count:]
  if not is_right or state not in (_IN_USE, _CLOSED) or not 1 <= count < 4000 or path[:1] != b'/' or b'\0' in path or \
      not is_zero(rest): raise Damaged('the locator of the ring is damaged')
  return Locator(opening, number, (inode, born), after, state == _CLOSED, u64(data, 88), path)


def is_home(directory: int, locator: Locator) -> bool:
  """Whether the locator was made in this directory, and not copied to it."""
  born = _born_ns(directory)
  return os.fstat(directory).st_ino == locator.home[0] and born in (None, locator.home[1])
