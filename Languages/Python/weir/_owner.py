"""Whether a ring is the log's, after point 4 of the section Reading a log of FileFormat.md."""
from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Tuple

from ._blocks import EVENTS, Block
from ._errors import Newer
from ._segment import RECOVERED, Segment, SegmentName
from ._values import Damaged
from ._word import Word

if TYPE_CHECKING: from ._log import Directory


def is_anothers(directory: 'Directory', log_id: int, ring_log_id: int, word: Word, is_closed: bool) -> bool:
  """Whether the ring, or the closed locator, is of an earlier opening or of another log. The newest segment whose word
  counts decides."""
  if log_id != ring_log_id: return True
  names = directory.list()
  for at in range(len(names) - 1, -1, -1):
    segment = _open(directory, names[at], log_id)
    owns = _ask(directory, segment, word, is_closed) if segment else None
    if owns: return False
    if owns is not None: return _is_over(directory, names, at, log_id, word)
  return False


def _open(directory: 'Directory', name: SegmentName, log_id: int) -> Optional[Segment]:
  """None: the file is not the log's, or of a newer version, which others tell of."""
  try: segment = directory.segment(name)
  except (Damaged, Newer): return None
  return segment if segment.salt and (not log_id or segment.log_id == log_id) else None


def _ask(directory: 'Directory', segment: Segment, word: Word, is_closed: bool) -> Optional[bool]:
  """Whether a segment says that the ring is the log's. None: it has no word."""
  is_active = segment.name.is_active
  if not is_active and segment.base != segment.name.base: return None
  if is_active and _is_copy(directory, segment): return None
  if segment.opening == word.opening or segment.is_collected and is_closed: return True
  is_recovered = segment.is_valid and bool(segment.flags & RECOVERED)
  has_events, end = _contents(segment) if not is_active or is_recovered else (False, 0)
  # An opening makes its ring after all earlier segments are sealed, and its offsets start after theirs.
  if not is_active and end <= word.base: return True
  return None if is_recovered and not has_events else False


def _is_copy(directory: 'Directory', segment: Segment) -> bool:
  """Whether an unsealed segment is a copy, put back by somebody, of one that was sealed since."""
  for name in directory.list():
    if name.is_active or name.base != segment.name.base: continue
    sealed = _open(directory, name, segment.log_id)
    return sealed is not None and sealed.salt == segment.salt
  return False


def _contents(segment: Segment) -> Tuple[bool, int]:
  """Whether it holds events, and the offset after its last one."""
  seal = segment.seal_at_end() if not segment.name.is_active else None
  if seal: return seal.events > 0, max(segment.base, seal.next)
  has_events, end = False, segment.base
  for step in segment.steps():
    if isinstance(step, Block):
      has_events |= step.kind == EVENTS
      end = max(end, step.next)
    elif not step.is_tail or segment.batch: end = max(end, step.first + step.count)
  return has_events, end


def _is_over(directory: 'Directory', names: List[SegmentName], newest: int, log_id: int, word: Word) -> bool:
  """Whether the ring's opening is over. It is not if there are segments of it, and none of another opening follows on
  them: then somebody brought the newest segment from a copy of the log that lived on by itself."""
  for at in range(newest - 1, -1, -1):
    segment = _open(directory, names[at], log_id)
    if not segment: continue
    if segment.opening == word.opening:
      later = (_open(directory, name, log_id) for name in names[at + 1:])
      return any(each and each.is_valid and each.opening != word.opening and each.previous_salt == segment.salt
                 for each in later)
    if names[at].base < word.base: return True
  return True
