package weir

import (
	"errors"
	"fmt"
	"os"
	"sort"
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
			l.number++ // before: the segment may be gone, and the listing another one
			l.beginSegment(l.names[l.number-1])
		} else if !l.listedLast {
			l.listAnew()
			l.listedLast = true
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
	if errors.Is(err, os.ErrNotExist) {
		// A writer renamed the segment, or removed it, since the directory was listed.
		s, err = l.openRenamed(name)
	}
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !l.isOwn(s) {
		s.close()
		return nil, nil
	}
	return s, nil
}

// open opens a file with a segment's name. An error is one of those that isAbsent knows, wraps ErrVersion, or is the
// file system's.
func (l *Log) open(name segmentName) (*segment, error) {
	s, err := openSegment(l.directory, name)
	if isAbsent(err) {
		return nil, err
	}
	if err != nil {
		return nil, l.fault(err)
	}
	newer, err := s.isNewer(), s.window.err
	if err != nil {
		err = l.fault(err)
	} else if newer {
		err = l.newer(name.name)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// isOwn says whether the file is a segment, and of this log.
func (l *Log) isOwn(s *segment) bool { return s.valid && (l.id == 0 || s.whose.logID == l.id) }

// openRenamed opens what became of a segment: its sealed name, or its batch.
func (l *Log) openRenamed(name segmentName) (*segment, error) {
	for _, suffix := range []string{".weir", ".weir.lz4", ".weir"} {
		now, _ := parseSegmentName(name.name[:baseDigits] + suffix)
		s, err := l.open(now)
		if !errors.Is(err, os.ErrNotExist) {
			return s, err
		}
	}
	return nil, os.ErrNotExist
}

// listAnew lists the directory again, and goes to the names from the last segment on; those that were visited are
// passed over when the reading comes there.
func (l *Log) listAnew() {
	if l.listings++; l.listings > listingsMost {
		l.err = fmt.Errorf("%s: its files came and went during each try to read them; try again", l.directory)
		return
	}
	if l.err = l.list(); l.err != nil {
		return
	}
	l.number = 0
	if l.last == nil {
		l.err = l.skipToStart()
		return
	}
	l.number = sort.Search(len(l.names), func(i int) bool { return l.names[i].base >= *l.last })
}

// goesOn says whether there is a segment of the log that comes after the current one.
func (l *Log) goesOn() (bool, error) {
	if err := l.list(); err != nil {
		return false, err
	}
	l.number = sort.Search(len(l.names), func(i int) bool { return l.names[i].base >= *l.last })
	for _, name := range l.names[l.number:] {
		if l.refused[name.name] {
			continue
		}
		s, err := l.openOwn(name)
		if errors.Is(err, ErrVersion) {
			return true, nil // refused when the reading comes there
		}
		if err != nil {
			return false, err
		}
		if s == nil {
			continue
		}
		visited := l.visited[visit{s.base, s.whose.salt}]
		s.close()
		if !visited {
			return true, nil
		}
	}
	return false, nil
}

// beginSegment opens a segment, if it is one that is read.
func (l *Log) beginSegment(name segmentName) {
	if l.refused[name.name] {
		return
	}
	s, err := l.open(name)
	if errors.Is(err, errNotPlain) {
		l.refused[name.name] = true
		l.passOver(Skip{First: l.expected, File: name.name, Reason: "not a plain file"})
		return
	}
	if errors.Is(err, os.ErrNotExist) {
		l.listAnew() // a writer renamed the segment, or removed it
		return
	}
	if err != nil {
		l.err = err
		return
	}
	if !l.isOwn(s) {
		if s.valid || !s.isBlank() {
			l.refused[name.name] = true
			l.passOver(Skip{First: l.expected, File: name.name, Bytes: s.size, Reason: "no segment of this log"})
		}
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
	l.last, l.listedLast = &s.base, false
	if forgotten, err := l.isForgotten(s); err != nil || forgotten {
		l.err = err
		s.close()
		return
	}
	l.current, l.complete, l.askedRing = s, s.sealed, false
	l.beginOffsets(s)
	if b := s.sealFromEnd(s.whose, false); b != nil {
		l.definitions.take(b.opening, b.seal().definitions)
	}
}

// isForgotten says whether a recovery under the ring's boot wrote a segment, and the machine went down before the seal:
// the lanes have its events still, and give them with other offsets.
func (l *Log) isForgotten(s *segment) (bool, error) {
	if s.sealed || !s.headerValid || s.flags&(flagRecovered|flagLeftOut) != flagRecovered {
		return false, nil
	}
	place := l.findRing()
	r := place.ring
	defer r.close()
	if place.err != nil && !saysNothing(place.err) {
		return false, l.fault(place.err)
	}
	if r == nil || r.closed || r.opening != s.whose.opening || !isOtherBoot(r.bootID) {
		return false, nil
	}
	anothers, err := l.isAnothers(r.logID, r.opening, r.baseOffset, false)
	return !anothers, err
}

// beginOffsets tells of the offsets before a segment, and of its header if that is damaged.
func (l *Log) beginOffsets(s *segment) {
	l.passOverRemoved(s.baseOffset)
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
	b, damage := s.step(l.expected, l.complete)
	if s.window.err != nil {
		l.err = l.fault(s.window.err)
		return
	}
	if b == nil && damage.isTail && !l.complete {
		l.atTail()
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

// atTail is at the end of what the current segment has so far. If a writer is at work and has begun no other segment,
// that is the end of the log, for now. Otherwise no block will come any more; blocks that came since the last look are
// read, and what is no block counts as damage.
func (l *Log) atTail() {
	// Asked before the look at the names: a writer that is dead by now has written nothing after it.
	live, err := l.isLive()
	goesOn := false
	if err == nil && live {
		goesOn, err = l.goesOn()
	}
	switch {
	case err != nil:
		l.err = err
	case live && !goesOn:
		l.endSegment()
		l.stage = stageDone
	default:
		l.complete = true
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
	case !d.isBroken:
		return // as a kill leaves it
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
		l.expected, l.listings = offset+1, 0
		return true
	}
	return false
}

// defineByRing takes the definitions of a ring, if that is of the opening.
func (l *Log) defineByRing(r *ring, opening uint64) {
	if r == nil || r.opening != opening {
		return
	}
	l.definitions.begin(opening)
	r.define(&l.definitions, isOtherBoot(r.bootID) && !r.closed)
	if r.window.err != nil {
		l.err = l.fault(r.window.err)
	}
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
	if l.lanes != nil {
		l.defineByRing(l.lanes.place.ring, opening)
		return
	}
	place := l.findRing()
	if place.err != nil && !saysNothing(place.err) {
		l.err = l.fault(place.err)
	}
	l.defineByRing(place.ring, opening)
	place.ring.close()
	if l.current.sealed {
		return
	}
	s := l.current.again() // the bytes of the current block are still in use
	for {
		b, damage := s.step(0, true)
		if s.window.err != nil {
			l.err = l.fault(s.window.err)
			return
		}
		if b != nil && b.kind == blockSeal {
			l.definitions.take(b.opening, b.seal().definitions)
		}
		if b == nil && damage.isTail || b != nil && b.kind == blockSeal {
			return
		}
	}
}
