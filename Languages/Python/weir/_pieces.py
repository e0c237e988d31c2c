"""Bytes in pieces. Runs of zeros take no memory: damage in a small file may stand for gigabytes of zeros."""
from __future__ import annotations

from bisect import bisect_right
from typing import List, Union

_PIECE_BYTES = 1 << 20


class Pieces:
  """Has the methods of bytes that the reader of a segment calls. A position is never negative."""

  def __init__(self) -> None:
    self.pieces: List[Union[bytearray, int]] = []  # a number: so many zeros
    self.starts: List[int] = []
    self.size = 0

  def append(self, data: bytes, size: int) -> None:
    """Appends `data`, and zeros up to `size` bytes."""
    last = self.pieces[-1] if self.pieces else None
    if data and isinstance(last, bytearray) and len(last) + len(data) <= _PIECE_BYTES: last += data
    elif data: self.begin(bytearray(data))
    self.size += len(data)
    zeros = size - len(data)
    if zeros and not data and isinstance(last, int): self.pieces[-1] = last + zeros
    elif zeros: self.begin(zeros)
    self.size += zeros

  def begin(self, piece: Union[bytearray, int]) -> None:
    self.pieces.append(piece)
    self.starts.append(self.size)

  def __len__(self) -> int: return self.size

  def __getitem__(self, key: slice) -> bytes:
    start, end = key.start or 0, self.size if key.stop is None else min(key.stop, self.size)
    parts: List[bytes] = []
    at = max(0, bisect_right(self.starts, start) - 1)
    while start < end:
      piece, first = self.pieces[at], self.starts[at]
      length = piece if isinstance(piece, int) else len(piece)
      stop = min(end, first + length)
      parts.append(bytes(stop - start) if isinstance(piece, int) else bytes(piece[start - first:stop - first]))
      start, at = stop, at + 1
    return parts[0] if len(parts) == 1 else b''.join(parts)

  def count(self, value: int) -> int:
    """How many bytes have the value 0."""
    return sum(piece if isinstance(piece, int) else piece.count(value) for piece in self.pieces)

  def find(self, words: bytes, start: int) -> int:
    """The first place of `words`, in which no byte is 0, from `start` on; or -1."""
    for at in range(max(0, bisect_right(self.starts, start) - 1), len(self.pieces)):
      piece, first = self.pieces[at], self.starts[at]
      found = -1 if isinstance(piece, int) else piece.find(words, max(0, start - first))
      if found >= 0: return first + found
      if at + 1 == len(self.pieces): break
      # Across the end of the piece.
      end, most = self.starts[at + 1], len(words) - 1
      begin = max(start, end - most, 0)
      found = self[begin:end + most].find(words)
      if found >= 0: return begin + found
    return -1


Data = Union[bytes, Pieces]
