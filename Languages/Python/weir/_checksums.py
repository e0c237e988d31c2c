"""CRC32C and XXH32, and numbers in bytes, after the opening section of FileFormat.md."""
from __future__ import annotations

import struct
from typing import List, Optional, Tuple

from ._pieces import Data

_POLYNOMIAL = 0x82f63b78
_FOLDED_BYTES = 64


def _times_x(residue: int) -> int: return residue >> 1 ^ (_POLYNOMIAL if residue & 1 else 0)


def _power(exponent: int) -> int:
  """x to this power, modulo the polynomial: bit 31 stands for 1, bit 0 for x to the 31st, as in the checksum."""

  def product(one: int, other: int) -> int:
    result = 0
    for bit in range(31, -1, -1):
      if other >> bit & 1: result ^= one
      one = _times_x(one)
    return result

  result, square = 1 << 31, 1 << 30
  while exponent:
    if exponent & 1: result = product(result, square)
    square = product(square, square)
    exponent >>= 1
  return result


def _folds() -> List[Tuple[int, List[int]]]:
  """For 8 to 24: an exponent a little above 2**bits whose power of x has a residue of few terms, and these terms."""
  folds = []
  for bits in range(8, 25):
    exponent, found = 2**bits + 64, []
    residue = _power(exponent)
    for each in range(exponent, exponent + min(exponent // 2, 4096)):
      if each % 8 == 0: found.append((bin(residue).count('1'), each, residue))
      residue = _times_x(residue)
    _, exponent, residue = min(found)
    folds.append((exponent, [term for term in range(32) if residue >> term & 1]))
  return folds


def _bytewise() -> List[int]:
  table = []
  for value in range(256):
    for _ in range(8): value = _times_x(value)
    table.append(value)
  return table


_BYTE = _bytewise()
_FOLDS = _folds()


def extend(crc: int, data: bytes) -> int:
  """The checksum's state after these bytes.

  Python goes from byte to byte slowly, and shifts large numbers fast. So the bytes are one number, a polynomial whose
  lowest bit has the highest power. The number's first part, times the power of x by which that part stands above the
  rest, is replaced by the part's product with that power's residue, which is a few shifts, until few bytes are left.
  """
  if len(data) >= _FOLDED_BYTES:
    count = 8 * len(data)
    number = int.from_bytes(data, 'little') ^ crc
    for at in range(min(count.bit_length() - 8, len(_FOLDS) - 1), -1, -1):
      exponent, terms = _FOLDS[at]
      while count > exponent + exponent // 4:
        part = min(count - exponent, exponent - 32)
        first, folded = number & (1 << part) - 1, 0
        for term in terms: folded ^= first << term
        number = number >> part ^ folded << exponent - part - 31
        count -= part
    crc, data = 0, number.to_bytes(count // 8, 'little')
  for byte in data: crc = _BYTE[(crc ^ byte) & 255] ^ crc >> 8
  return crc


def crc32c(*parts: bytes) -> int:
  return extend(0xffffffff, parts[0] if len(parts) == 1 else b''.join(parts)) ^ 0xffffffff


def xxh32(data: bytes) -> int:
  """XXH32 with the seed 0, as the LZ4 frame format has it."""
  one, two, three, four, five, mask = 2654435761, 2246822519, 3266489917, 668265263, 374761393, 0xffffffff
  lanes: List[int] = [(one + two) & mask, two, 0, -one & mask]
  at, end = 0, len(data)
  while at + 16 <= end:
    for i, word in enumerate(struct.unpack_from('<4I', data, at)):
      lane = lanes[i] + word * two & mask
      lanes[i] = (lane << 13 | lane >> 19) * one & mask
    at += 16
  value: int = five
  if end >= 16: value = sum(lane << turn | lane >> 32 - turn for lane, turn in zip(lanes, (1, 7, 12, 18)))
  value = value + end & mask
  while at + 4 <= end:
    value = value + u32(data, at) * three & mask
    value = (value << 17 | value >> 15) * four & mask
    at += 4
  for byte in data[at:]:
    value = value + byte * five & mask
    value = (value << 11 | value >> 21) * one & mask
  value = (value ^ value >> 15) * two & mask
  value = (value ^ value >> 13) * three & mask
  return value ^ value >> 16


def u16(data: Data, at: int) -> int: return int.from_bytes(data[at:at + 2], 'little')
def u32(data: Data, at: int) -> int: return int.from_bytes(data[at:at + 4], 'little')
def u64(data: Data, at: int) -> int: return int.from_bytes(data[at:at + 8], 'little')
def eight(number: int) -> bytes: return struct.pack('<Q', number)
def is_zero(data: Data) -> bool: return data.count(0) == len(data)
def padded(count: int) -> int: return count + 7 & ~7


def signed(number: int) -> int:
  """A number of 64 bits, the highest of them its sign; what is above is cut."""
  return (number + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def time_of(ticks: int, calibration: Tuple[int, int, int, int]) -> int:
  base_ticks, wall_ns, multiplier, _ = calibration
  return signed(wall_ns + (signed(ticks - base_ticks) * multiplier >> 32))


def monotonic_of(ticks: int, calibration: Tuple[int, int, int, int]) -> Optional[int]:
  """None where no clock was read."""
  base_ticks, _, multiplier, monotonic_ns = calibration
  return signed(monotonic_ns + (signed(ticks - base_ticks) * multiplier >> 32)) if multiplier else None
