package weir

import (
	"errors"
	"os"
)

// nextInSegments fills the event with the next one of the segments. It goes from block to block and from segment to
// segment, and tells what it passes over.
func (l *Log) nextInSegments() bool {
	for {
		if l.block != nil {
			if l.nextInBlock() {
				return true
			}
			l.block = nil
		}
		if l.current != nil {
			l.nextStep()
		} else if l.number < len(l.names) {
			l.beginSegment(l.names[l.number])
			l.number++
		} else {
			l.beginLanes()
			return false
		}
		if l.err != nil {
			return false
		}
	}
}

// skipToStart goes to the last segment that begins at or below the log's first offset: what lies before it is removed.
// A segment whose name is not its own says nothing of where an offset lies.
func (l *Log) skipToStart() error {
	for i := len(l.names) - 1; i >= 0; i-- {
		if l.names[i].base > l.expected {
			continue
		}
		s, err := l.openOwn(l.names[i])
		if err != nil && !errors.Is(err, ErrVersion) {
			return err
		}
		// The walk refuses a segment of a newer version when it comes there.
		if err == nil && (s == nil || s.headerValid && s.baseOffset != s.base) {
			s.close()
			continue
		}
		s.close()
		for l.number = i; l.number > 0 && l.names[l.number-1].base == l.names[i].base; {
			l.number--
		}
		return nil
	}
	return nil
}

// openOwn opens a segment. It is nil if the file is none of this log's, and an error wraps ErrVersion if it is of a
// newer version.
func (l *Log) openOwn(name segmentName) (*segment, error) {
	s, err := l.open(name)
	if err != nil || s == nil {
		return nil, err
	}
	if !l.isOwn(s) {
		s.close()
		return nil, nil
	}
	return s, nil
}

// open opens a file with a segment's name; nil if it was removed meanwhile.
func (l *Log) open(name segmentName) (*segment, error) {
	s, err := openSegment(l.directory, name)
	if errors.Is(err, os.ErrNotExist) {
		// A writer renamed it, or removed it, since the directory was listed.
		s, err = l.openRenamed(name)
	}
	if err != nil {
		return nil, l.fault(err)
	}
	if s != nil && s.isNewer() {
		s.close()
		return nil, l.newer(name.name)
	}
	return s, nil
}

// isOwn says whether the file is a segment, and of this log.
func (l *Log) isOwn(s *segment) bool { return s.valid && (l.id == 0 || s.whose.logID == l.id) }

// openRenamed opens what became of a segment: its sealed name, or its batch. Nil: it was removed.
func (l *Log) openRenamed(name segmentName) (*segment, error) {
	names, _, err := list(l.directory)
	if err != nil {
		return nil, err
	}
	for _, now := range names {
		if now.base != name.base {
			continue
		}
		s, err := openSegment(l.directory, now)
		if !errors.Is(err, os.ErrNotExist) {
			return s, err
		}
	}
	return nil, nil
}

// beginSegment opens a segment, if it is one that is read.
func (l *Log) beginSegment(name segmentName) {
	s, err := l.open(name)
	if err != nil {
		l.err = err
		return
	}
	if s == nil {
		return
	}
	if !l.isOwn(s) {
		if s.valid || !s.isBlank() {
			l.passOver(Skip{First: l.expected, File: name.name, Bytes: s.size, Reason: "no segment of this log"})
		}
		s.close()
		return
	}
	if forgotten, err := l.isForgotten(s); err != nil || forgotten {
		l.err = err
		s.close()
		return
	}
	// Of one that recovery sealed, and that lies there under both names, the sealed one was read.
	visited := visit{s.base, s.whose.salt}
	if l.visited[visited] {
		s.close()
		return
	}
	l.visited[visited] = true
	l.current, l.askedRing = s, false
	l.beginOffsets(s)
	if b := s.sealFromEnd(s.whose, false); b != nil {
		l.definitions.take(b.opening, b.seal().definitions)
	}
}

// isForgotten says whether a recovery under the ring's boot wrote a segment, and the machine went down before the seal:
// the lanes have its events still, and give them with other offsets.
func (l *Log) isForgotten(s *segment) (bool, error) {
	r := l.ring
	if s.sealed || !s.headerValid || s.flags&(flagRecovered|flagLeftOut) != flagRecovered || r == nil || !l.otherBoot ||
		r.closed || r.opening != s.whose.opening {
		return false, nil
	}
	anothers, err := l.isAnothers(r.logID, r.opening, r.baseOffset, false)
	return !anothers, err
}

// beginOffsets tells of the offsets before a segment, and of its header if that is damaged.
func (l *Log) beginOffsets(s *segment) {
	skip := Skip{First: l.expected, File: s.name, Reason: "missing before the segment"}
	if s.baseOffset > l.expected {
		skip.Count = s.baseOffset - l.expected
	}
	switch {
	case !s.headerValid:
		if skip.Count == 0 {
			skip.First = s.base
		}
		skip.Bytes, skip.Reason = s.next, "the segment's header is damaged"
		l.passOver(skip)
	case s.flags&flagLeftOut != 0:
		l.leaveOut(s.baseOffset, s.name)
	case skip.Count > 0:
		l.passOver(skip)
	}
}

// nextStep goes to the next block, or over damage, or to the segment's end.
func (l *Log) nextStep() {
	s := l.current
	b, damage := s.step(l.expected)
	if s.window.err != nil {
		l.err = l.fault(s.window.err)
		return
	}
	if b == nil {
		l.passOverDamage(s, damage)
		if damage.isTail {
			l.endSegment()
		}
		return
	}
	l.missing(b.baseOffset, Skip{File: s.name, Position: b.position, Reason: "missing before the block"})
	switch b.kind {
	case blockDefinitions:
		l.definitions.take(b.opening, b.payload)
	case blockSeal:
		l.definitions.take(b.opening, b.seal().definitions)
		l.endSegment()
	default:
		l.block, l.rest, l.index, l.lanePos = b, b.payload, 0, b.laneFrom
	}
}

func (l *Log) endSegment() {
	l.current.close()
	l.current = nil
}

// passOverDamage tells of bytes that are no valid block. Which offsets a damaged last block of an active segment had
// is for the next segment or the lanes to say.
func (l *Log) passOverDamage(s *segment, d damage) {
	skip := Skip{First: d.first, Count: d.count, File: s.name, Position: d.position, Bytes: d.end - d.position}
	switch {
	case !d.isTail:
		skip.Reason = "damaged"
	case s.sealed:
		skip.Reason = "damaged at the segment's end"
	case !d.isBroken || l.isLive():
		return // as a writer or a kill leaves it
	default:
		skip.Count, skip.Reason = 0, "damaged at the segment's end"
	}
	l.passOver(skip)
}

// nextInBlock fills the event with the block's next one that was not read before.
func (l *Log) nextInBlock() bool {
	b := l.block
	for l.index < uint64(b.count) {
		record := l.rest[:recordSize(l.rest)]
		l.rest = l.rest[len(record):]
		offset, position := b.baseOffset+l.index, l.lanePos
		l.index++
		l.lanePos += uint64(len(record))
		if offset < l.expected {
			continue
		}
		sequence := uint64(b.lane)<<48 | position/8&(1<<48-1)
		if b.kind == blockNotices {
			sequence = noLane<<48 | offset&(1<<48-1)
		}
		l.define(b.opening, u32(record, 8))
		l.event.set(record, ID{b.opening, sequence}, &b.clock, &l.definitions)
		l.event.Offset, l.event.BootID, l.event.Host = offset, l.current.bootID, l.current.host
		l.expected = offset + 1
		return true
	}
	return false
}

// define looks for definitions that an event needs and that the log did not have before it: in the ring, and in the
// seal of an active segment, which need not be at the file's end.
func (l *Log) define(opening uint64, kind uint32) {
	kind, context := kind&0xffff, kind>>16&0x7fff
	known := l.definitions.find(opening, kind) != nil && (context == 0 || l.definitions.find(opening, context) != nil)
	if l.askedRing || known {
		return
	}
	l.askedRing = true
	if r := l.ring; r != nil && r.opening == opening {
		l.definitions.begin(opening)
		r.define(&l.definitions, isOtherBoot(r.bootID) && !r.closed)
	}
	if l.current == nil || l.current.sealed {
		return
	}
	// The segment is opened once more: the bytes of the current block are still in use.
	s, err := openSegment(l.directory, l.current.segmentName)
	if err != nil {
		return
	}
	defer s.close()
	for {
		b, damage := s.step(0)
		if b != nil && b.kind == blockSeal {
			l.definitions.take(b.opening, b.seal().definitions)
		}
		if b == nil && damage.isTail || b != nil && b.kind == blockSeal {
			return
		}
	}
}
