"""What the log says of the lanes of a ring, after the sections Another boot and Reading a log of FileFormat.md."""
from __future__ import annotations

import struct
from typing import Dict, List, Optional, Tuple

from ._blocks import (GAP, HOLE, MOST_LANES, NO_LANE, NOTICES, OVERWRITTEN, REASONS, SEAL, UNKNOWN_INDEX, Block,
                      Calibration)
from ._segment import AFTER_CUT, RECOVERED, Segment
from ._checksums import u32, u64


class Word:
  """How far lanes are drained, which refusals are reported, where the log ends; of the ring's opening alone."""

  def __init__(self, opening: int, base: int, is_cut: bool):
    self.opening, self.base, self.is_cut = opening, base, is_cut
    self.drained: Dict[int, int] = {}
    self.records: Dict[int, Optional[int]] = {}
    self.reported: Dict[Tuple[int, int], int] = {}
    self.calibration: Calibration = (0, 0, 0, 0)
    self.log_end = 0
    self.is_after_cut, self.are_totals_known, self.is_from_start, self.is_unsealed = False, True, is_cut, False

  # What it says.

  def records_of(self, lane: int) -> Optional[int]:
    """How many records come before what the log has drained of a lane; None where that is not known."""
    return self.records[lane] if lane in self.drained else 0 if self.is_from_start else None

  def reported_of(self, lane: int, reason: int, in_ring: int) -> int:
    """How many the log reports. Under another boot the ring may count gap records that never reached the disk."""
    in_log = self.reported.get((lane, reason), 0)
    return in_log if self.is_cut and self.are_totals_known else max(in_ring, in_log)

  # What segments say.

  def is_settled_by(self, segment: Segment) -> bool:
    """Whether the segments before this one say nothing more."""
    if segment.salt == 0 or segment.base != segment.name.base: return False
    is_own = segment.opening == self.opening and segment.is_valid
    return self.opening == 0 or is_own or segment.is_collected or segment.base < self.base

  def forgets(self, segment: Segment) -> bool:
    """Recovery under another boot wrote it from this ring, and writes it again with the same offsets."""
    return (self.is_cut and segment.is_valid and segment.opening == self.opening and bool(segment.flags & RECOVERED))

  def take_sealed(self, segment: Segment) -> None:
    is_own = segment.salt != 0 and segment.opening == self.opening
    if segment.opening == self.opening: self.is_from_start = False
    self.take_header(segment)
    if segment.salt == 0: return
    seal = segment.seal_at_end()
    if seal and not is_own:
      self.raise_end(seal.next)
      return
    last, end = seal, seal.next if seal else segment.base
    blocks = []
    for step in segment.steps():
      if not isinstance(step, Block):
        if not step.is_tail or segment.batch: end = max(end, step.first + step.count)
        continue
      end = max(end, step.next)
      if step.kind == SEAL: last = step
      else: blocks.append(step)
    if is_own:
      if last: self.take_totals(last.totals)
      else: self.are_totals_known = False
      for block in blocks: self.take_block(block)
    self.raise_end(end)

  def take_unsealed(self, segment: Segment) -> None:
    if segment.salt == 0: return
    self.take_header(segment)
    if segment.opening == self.opening: self.is_unsealed = True
    for step in segment.steps():
      if isinstance(step, Block):
        self.raise_end(step.next)
        if step.kind != SEAL: self.take_block(step)
      elif not step.is_tail or segment.batch: self.raise_end(step.first + step.count)

  def raise_end(self, end: int) -> None: self.log_end = max(self.log_end, end)

  def take_header(self, segment: Segment) -> None:
    if segment.salt == 0: return
    self.raise_end(segment.base)
    # No new segment may have the name of one that somebody renamed, or copied under another name.
    if not segment.name.is_active or segment.name.base != segment.base: self.raise_end(segment.name.base + 1)
    if segment.opening != self.opening or not segment.is_valid: return
    for lane, (position, records) in enumerate(segment.drained):
      if position % 8 == 0: self.advance(lane, position, None if records == 2**64 - 1 else records)
    self.is_after_cut |= bool(segment.flags & AFTER_CUT)

  def advance(self, lane: int, position: int, records: Optional[int]) -> None:
    if lane in self.drained and position <= self.drained[lane]: return
    self.drained[lane], self.records[lane] = position, records

  def take_totals(self, totals: List[Tuple[int, int, int]]) -> None:
    for lane, reason, total in totals:
      if reason < len(REASONS): self.take_total(lane, reason, total)

  def take_total(self, lane: int, reason: int, total: int) -> None:
    row = lane if lane < MOST_LANES else NO_LANE
    self.reported[row, reason] = max(total, self.reported.get((row, reason), 0))

  def take_block(self, block: Block) -> None:
    if block.opening != self.opening: return
    self.calibration = block.calibration
    stands_for = self.take_notices(block) if block.kind == NOTICES else 0
    if block.lane >= MOST_LANES: return
    before = self.records_of(block.lane)
    if block.kind == NOTICES:
      first = before if block.index == UNKNOWN_INDEX else number(before, block.index)
      self.advance(block.lane, block.lane_to, add(first, stands_for))
    elif block.records:
      first = number(before, block.records[0].index)
      self.advance(block.lane, block.lane_to, number(first, block.records[-1].index) + 1)

  def take_notices(self, block: Block) -> Optional[int]:
    """Answers how many records of a lane the notices stand for."""
    records: Optional[int] = 0
    for record in block.records:
      payload = record.payload(block.payload)
      if record.word == GAP:
        gap = _read_gap(payload)
        if not gap: continue
        lane, reason, dropped, total = gap
        self.take_total(lane, reason, total)
        if reason == OVERWRITTEN: records = add(records, dropped)
      elif record.word == HOLE: records = add(records, _read_hole(payload))
    return records


def _read_gap(payload: bytes) -> Optional[Tuple[int, int, int, int]]:
  count = u32(payload, 4) if len(payload) >= 8 else 0
  if len(payload) != 24 + count: return None
  name = payload[8:8 + count].decode(errors='replace')
  if not name or name not in REASONS: return None
  return (u32(payload, 0), REASONS.index(name), *struct.unpack_from('<2Q', payload, 8 + count))


def _read_hole(payload: bytes) -> Optional[int]:
  at = 16 + u32(payload, 0) if len(payload) >= 4 else 0
  return u64(payload, at + 1) if len(payload) == at + 9 and payload[at] == 1 else None


def add(one: Optional[int], other: Optional[int]) -> Optional[int]:
  return None if one is None or other is None else one + other


def number(records: Optional[int], index: int) -> int:
  """How many records come before one of that index, given about how many they are."""
  return index if records is None else records + (index - records) % 2**32
