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
			if !l.nextBlock() {
				l.endSegment()
			}
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

// beginSegment opens a segment, if it is one that is read.
func (l *Log) beginSegment(name segmentName) {
	s, err := openSegment(l.directory, name)
	if errors.Is(err, os.ErrNotExist) {
		// A writer renamed it, or removed it, since the directory was listed.
		s, err = l.openRenamed(name)
	}
	if err != nil {
		l.err = l.fault(err)
		return
	}
	if s == nil {
		return
	}
	if s.isNewer() {
		l.err = l.newer(name.name)
		s.close()
		return
	}
	if s.valid && l.id == 0 {
		l.id = s.whose.logID // nothing else says whose the log is
	}
	if !s.valid || s.whose.logID != l.id {
		if s.valid || !s.isBlank() {
			l.skip(Skip{File: name.name, Bytes: s.size, Reason: "no segment of this log"})
		}
		s.close()
		return
	}
	if l.isForgotten(s) {
		s.close()
		return
	}
	if s.sealed {
		l.leftover = 0
	}
	sealedToo := l.isSealedToo(s)
	l.current, l.sealed, l.extra = s, false, false
	l.definitions = definitionsOf(s.whose.opening)
	l.segments = append(l.segments, summary{
		segmentName: s.segmentName, opening: s.whose.opening, salt: s.whose.salt, previousSalt: s.previousSalt,
		baseOffset: s.baseOffset, end: s.baseOffset, flags: s.flags, collected: s.collected,
	})
	if sealedToo {
		l.current = nil
		s.close()
		return
	}
	if b := s.sealFromEnd(s.whose, false); b != nil {
		l.definitions.addAll(b.seal().definitions)
		l.extra = true
	}
	if (s.sealed || s.base != s.baseOffset) && s.base >= l.named {
		l.named = s.base + 1
	}
	skip := Skip{File: s.name, Reason: "missing before the segment"}
	if s.flags&flagLeftOut != 0 {
		skip.LeftOut, skip.Reason = true, "left out after a new start of the machine"
	}
	reached := s.base >= l.expected
	l.missing(s.baseOffset, skip)
	if !s.headerValid {
		l.segments[len(l.segments)-1].end = s.base
	}
	if !s.headerValid && reached {
		l.skip(Skip{File: s.name, Bytes: segmentHeaderBytes, Reason: "the segment's header is damaged"})
	}
}

// skipRemoved passes over what retention removed and did not unlink yet: all up to the last segment that has the log's
// first offset, or one behind it.
func (l *Log) skipRemoved() error {
	first := l.start.firstOffset
	begin := 0
	for i := 0; i < len(l.names) && l.names[i].base <= first; i++ {
		s, err := openSegment(l.directory, l.names[i])
		if err != nil {
			return err
		}
		if s.valid && (l.id == 0 || s.whose.logID == l.id) {
			end := s.baseOffset
			seal := s.sealFromEnd(s.whose, false)
			if seal != nil {
				end = seal.baseOffset
			}
			within := (s.baseOffset <= first || !s.headerValid) && (seal == nil || end > first)
			if within && (i == 0 || l.names[i].base > l.names[begin].base) {
				begin = i
			}
			// No offset is given twice, whatever became of the segment.
			if s.sealed {
				l.leftover = end
			}
			if s.sealed && s.baseOffset > end {
				l.leftover = s.baseOffset
			}
			if s.isNewer() {
				l.refused = s.name
			}
		}
		s.close()
	}
	for begin > 0 && l.names[begin-1].base == l.names[begin].base {
		begin--
	}
	l.number = begin
	return nil
}

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

// isForgotten says whether recovery wrote a segment under another boot than the ring's and did not seal it: the ring
// still has all of it, and it is written again.
func (l *Log) isForgotten(s *segment) bool {
	return l.ring != nil && l.otherBoot && !l.ring.closed && !s.sealed && s.flags&flagRecovered != 0 && s.laterBoot &&
		s.whose.opening == l.ring.opening
}

// isSealedToo says whether an active segment is there under its sealed name as well.
func (l *Log) isSealedToo(s *segment) bool {
	if s.sealed || len(l.segments) == 0 {
		return false
	}
	last := &l.segments[len(l.segments)-1]
	return last.sealed && last.base == s.base && last.salt == s.whose.salt
}

// nextBlock goes to the next valid block. False: there is none.
func (l *Log) nextBlock() bool {
	s, last := l.current, &l.segments[len(l.segments)-1]
	if l.sealed {
		return false
	}
	at := s.next
	b := s.findBlock(at)
	if b == nil {
		return false
	}
	if b.position > at {
		// Where all offsets were read before, damage takes nothing.
		if last.end >= l.expected || b.baseOffset > l.expected {
			l.skip(Skip{File: s.name, Position: at, Bytes: b.position - at, Reason: "damaged"})
		}
	}
	s.next = b.end()
	l.missing(b.baseOffset, Skip{File: s.name, Position: at, Reason: "missing before the block"})
	if b.nextOffset() > last.end {
		last.end = b.nextOffset()
	}
	switch b.kind {
	case blockDefinitions:
		l.definitions.addAll(b.payload)
	case blockSeal:
		l.sealed, last.hasSeal, last.end = true, true, b.baseOffset
		if last.end < last.baseOffset {
			last.end = last.baseOffset
		}
	default:
		last.hasEvents = last.hasEvents || b.kind == blockEvents && b.count > 0
		l.block, l.rest, l.index, l.lanePos = b, b.payload, 0, b.laneFrom
	}
	return true
}

// endSegment closes the segment, and says whether its end is as a writer or a kill leaves it.
func (l *Log) endSegment() {
	s := l.current
	l.current = nil
	defer s.close()
	if s.window.err != nil {
		l.err = l.fault(s.window.err)
		return
	}
	if l.sealed {
		return
	}
	last := &l.segments[len(l.segments)-1]
	if last.end < l.expected {
		return
	}
	broken := s.brokenAt(s.next)
	if !s.sealed && (broken == nil || l.isLive()) {
		return
	}
	l.skip(Skip{File: s.name, Position: s.next, Bytes: s.size - s.next, Reason: "damaged at the segment's end"})
	if !s.sealed {
		return
	}
	end := uint64(0)
	if broken != nil {
		end = broken.nextOffset()
	}
	if s.batch != nil && s.batch.index != nil {
		next := s.batch.index.nextOffset
		if next > end && next-last.end <= uint64(s.size-s.next)/recordBytes {
			end = next
		}
	}
	l.missing(end, Skip{File: s.name, Position: s.next, Reason: "missing at the segment's end"})
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
		l.expected = offset + 1
		sequence := uint64(b.lane)<<48 | position/8&(1<<48-1)
		if b.kind == blockNotices {
			sequence = noLane<<48 | offset&(1<<48-1)
		}
		l.define(u32(record, 8))
		l.event.set(record, sequence, &b.clock, &l.definitions)
		l.event.Offset, l.event.BootID, l.event.Host = offset, l.current.bootID, l.current.host
		return true
	}
	return false
}

// define looks for definitions that an event needs and that no block had: in the seal of an active segment, which need
// not be at the file's end, and where there is none, in the ring.
func (l *Log) define(kind uint32) {
	known := l.definitions.known
	if l.extra || known[kind&0xffff] != nil && (kind>>16&0x7fff == 0 || known[kind>>16&0x7fff] != nil) {
		return
	}
	l.extra = true
	if !l.current.sealed {
		// The segment is opened once more: the bytes of the current block are still in use.
		s, err := openSegment(l.directory, l.current.segmentName)
		if err == nil {
			defer s.close()
			b := s.findBlock(l.current.next)
			for ; b != nil && b.kind != blockSeal; b = s.findBlock(b.end()) {
			}
			if b != nil {
				l.definitions.addAll(b.seal().definitions)
				return
			}
		}
	}
	if l.ring != nil && l.ring.opening == l.current.whose.opening {
		l.ring.define(&l.definitions, l.otherBoot)
	}
}
