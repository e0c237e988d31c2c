package weir

import "errors"

// isAnothers says whether a ring, or a closed locator, is of an earlier opening or of another log. The newest segment
// that has a word on it decides.
func (l *Log) isAnothers(logID, opening, base uint64, closed bool) (bool, error) {
	if logID != l.id {
		return true, nil
	}
	for i := len(l.names) - 1; i >= 0; i-- {
		s, err := l.openKnown(l.names[i])
		if err != nil {
			return false, err
		}
		if s == nil {
			continue
		}
		owns, hasWord, err := l.ask(s, opening, base, closed)
		if err == nil && s.window.err != nil {
			err = l.fault(s.window.err)
		}
		s.close()
		if err != nil {
			return false, err
		}
		if !hasWord {
			continue
		}
		if owns {
			return false, nil
		}
		return l.isOver(i, opening, base)
	}
	return false, nil
}

// openKnown opens a segment of the log; nil for one of a newer version, which others tell of.
func (l *Log) openKnown(name segmentName) (*segment, error) {
	s, err := l.openOwn(name)
	if errors.Is(err, ErrVersion) {
		return nil, nil
	}
	return s, err
}

// ask asks a segment whether the ring is the log's.
func (l *Log) ask(s *segment, opening, base uint64, closed bool) (owns, hasWord bool, err error) {
	if s.sealed && s.baseOffset != s.base {
		return false, false, nil
	}
	if !s.sealed {
		if sealed, err := l.isSealedToo(s); err != nil || sealed {
			return false, false, err
		}
	}
	// Segments are collected while the ring is closed, and have no event of any ring here.
	if s.whose.opening == opening || s.collected && closed {
		return true, true, nil
	}
	recovered := s.headerValid && s.flags&flagRecovered != 0
	if !s.sealed && !recovered {
		return false, true, nil
	}
	hasEvents, end := s.contents()
	// An opening makes its ring after all earlier segments are sealed, and its offsets start after theirs.
	if s.sealed && end <= base {
		return true, true, nil
	}
	return false, !recovered || hasEvents, nil
}

// isSealedToo says whether an active segment is there under its sealed name as well.
func (l *Log) isSealedToo(s *segment) (bool, error) {
	for _, name := range l.names {
		if !name.sealed || name.base != s.base {
			continue
		}
		sealed, err := l.openKnown(name)
		if err != nil || sealed == nil {
			return false, err
		}
		defer sealed.close()
		return sealed.whose.salt == s.whose.salt, nil
	}
	return false, nil
}

// contents says whether a segment holds events, and the offset after its last one.
func (s *segment) contents() (hasEvents bool, end uint64) {
	if s.sealed {
		if b := s.sealFromEnd(s.whose, false); b != nil {
			return b.seal().events > 0, max64(s.baseOffset, b.nextOffset())
		}
	}
	end = s.baseOffset
	for {
		b, damage := s.step(0, true)
		switch {
		case b != nil:
			hasEvents = hasEvents || b.kind == blockEvents
			end = max64(end, b.nextOffset())
		case !damage.isTail || s.batch != nil:
			end = max64(end, damage.first+damage.count)
		}
		if b == nil && damage.isTail || b != nil && b.kind == blockSeal {
			return hasEvents, end
		}
	}
}

// isOver says whether the ring's opening is over, as the newest segment says. It is not if there are segments of it,
// and none of another opening follows on them: then somebody brought the newest one from a copy of the log that lived
// on by itself.
func (l *Log) isOver(newest int, opening, base uint64) (bool, error) {
	for i := newest - 1; i >= 0; i-- {
		s, err := l.openKnown(l.names[i])
		if err != nil {
			return false, err
		}
		if s == nil {
			continue
		}
		own, salt := s.whose.opening == opening, s.whose.salt
		s.close()
		if own {
			return l.isFollowed(i, salt, opening)
		}
		if l.names[i].base < base {
			return true, nil
		}
	}
	return true, nil
}

// isFollowed says whether a later segment, of another opening, names this one as its predecessor.
func (l *Log) isFollowed(number int, salt, opening uint64) (bool, error) {
	for _, name := range l.names[number+1:] {
		s, err := l.openKnown(name)
		if err != nil {
			return false, err
		}
		if s == nil {
			continue
		}
		follows := s.headerValid && s.whose.opening != opening && s.previousSalt == salt
		s.close()
		if follows {
			return true, nil
		}
	}
	return false, nil
}

func max64(one, other uint64) uint64 {
	if one > other {
		return one
	}
	return other
}
