package weir

// A summary is what the pass over the segments keeps of each, to hold the ring against them.
type summary struct {
	segmentName
	opening, salt, previousSalt uint64
	baseOffset, end             uint64
	flags                       uint32
	hasEvents, hasSeal          bool
	collected                   bool
}

// isOfRecovery says whether recovery wrote a segment and did not seal it: a ring of another boot still has what is in
// it.
func (s *summary) isOfRecovery() bool { return !s.sealed && s.flags&flagRecovered != 0 }

// isSealedUpTo says whether a segment and all before it are sealed, so that the disk has them.
func (l *Log) isSealedUpTo(s *summary) bool {
	for _, name := range l.names {
		if name.base >= s.base {
			break
		}
		if !name.sealed {
			return false
		}
	}
	return s.sealed
}

// ringIsOfLog says whether the ring is that of the log's last opening, and not of an earlier one or of another log.
// A collected segment is written only while a closed ring lies beside it.
func ringIsOfLog(opening, baseOffset uint64, closed bool, segments []summary) bool {
	own, newest := -1, -1
	for i := range segments {
		s := &segments[i]
		if s.opening == opening {
			own = i
		}
		if hasWord(s, segments) {
			newest = i
		}
	}
	if newest < 0 {
		return true
	}
	s := &segments[newest]
	if s.opening == opening || s.sealed && s.end <= baseOffset || s.collected && closed {
		return true
	}
	// The newest came from a copy of the log that lived on by itself, if it does not follow on the ring's last one.
	return own >= 0 && own == newest-1 && s.previousSalt != segments[own].salt
}

// hasWord says whether a segment says whose the ring is.
func hasWord(s *summary, segments []summary) bool {
	if s.sealed && s.baseOffset != s.base {
		return false
	}
	if s.flags&flagRecovered != 0 && !s.hasEvents {
		return false
	}
	if !s.sealed {
		for i := range segments {
			if other := &segments[i]; other.sealed && other.base == s.base && other.salt == s.salt {
				return false
			}
		}
	}
	return true
}

// A lanePlace is up to where the log has a lane, and how many of its records come before that.
type lanePlace struct {
	known, countKnown bool
	position          uint64
	count             uint32
}

func (p *lanePlace) raise(position uint64, count uint32, countKnown bool) {
	switch {
	case !p.known || position > p.position:
		*p = lanePlace{true, countKnown, position, count}
	case position == p.position && !p.countKnown:
		p.count, p.countKnown = count, countKnown
	}
}

type laneReason struct{ lane, reason uint32 }

// A word is what the log says of a ring's lanes.
type word struct {
	places     [256]lanePlace
	totals     map[laneReason]uint64 // the highest that gap records tell
	unsealed   bool                  // a segment of the opening is not sealed
	sealed     bool                  // a sealed segment is of the opening
	sealIsLost bool                  // that of the last sealed segment
	leftOut    bool                  // a segment of the opening says that offsets before it were left out
	clock      calibration
}

// wordOn reads the segments again from which the log says something of the ring's lanes.
func (l *Log) wordOn(r *ring, otherBoot bool) (*word, error) {
	said := &word{totals: map[laneReason]uint64{}}
	from := -1
	ownSealed := -1
	for i := range l.segments {
		s := &l.segments[i]
		sealed := l.isSealedUpTo(s)
		if sealed {
			from = i
		}
		if s.opening != r.opening || otherBoot && s.isOfRecovery() {
			continue
		}
		if sealed {
			ownSealed, said.sealed = i, true
		} else {
			said.unsealed = true
		}
		said.leftOut = said.leftOut || s.flags&flagLeftOut != 0
	}
	if from >= 0 && l.segments[from].opening != r.opening && l.segments[from].base >= r.baseOffset {
		from = ownSealed
	}
	for i, summary := range l.segments {
		if summary.opening != r.opening || i < from || otherBoot && summary.isOfRecovery() {
			continue
		}
		s, err := openSegment(l.directory, summary.segmentName)
		if err != nil {
			return nil, l.fault(err)
		}
		said.read(s, r)
		s.close()
		if summary.sealed {
			said.sealIsLost = !summary.hasSeal
		}
		if s.window.err != nil {
			return nil, l.fault(s.window.err)
		}
	}
	return said, nil
}

func (said *word) read(s *segment, r *ring) {
	if s.headerValid && s.whose.opening == r.opening {
		for lane := uint32(0); lane < s.whose.lanes && lane < r.laneCount; lane++ {
			position, count := u64(s.drained, int(16*lane)), u64(s.drained, int(16*lane)+8)
			if position%8 == 0 {
				said.places[lane].raise(position, uint32(count), count != unknown64)
			}
		}
	}
	for b := s.findBlock(s.next); b != nil; b = s.findBlock(b.end()) {
		said.clock = b.clock
		switch b.kind {
		case blockSeal:
			totals := b.seal().totals
			for ; len(totals) > 0; totals = totals[16:] {
				said.raiseTotal(u32(totals, 0), u32(totals, 4), u64(totals, 8))
			}
			return
		case blockEvents:
			said.readEvents(b, r)
		case blockNotices:
			said.readNotices(b, r)
		}
	}
}

func (said *word) readEvents(b *block, r *ring) {
	if b.lane >= r.laneCount || b.count == 0 {
		return
	}
	rest, index := b.payload, uint32(0)
	for len(rest) > 0 {
		index = u32(rest, 12)
		rest = rest[recordSize(rest):]
	}
	said.places[b.lane].raise(b.laneTo, index+1, true)
}

func (said *word) readNotices(b *block, r *ring) {
	count, countKnown := b.index, b.index != 1<<32-1
	for rest := b.payload; len(rest) > 0; rest = rest[recordSize(rest):] {
		d := decoder{bytes: rest[recordBytes:][:u32(rest, 4)]}
		if u32(rest, 8) == typeGap {
			lane, reason, dropped, total := uint32(d.number(4)), string(d.text()), d.number(8), d.number(8)
			if d.failed {
				continue
			}
			for i, name := range reasonNames {
				if i > 0 && name == reason {
					said.raiseTotal(lane, uint32(i), total)
				}
			}
			if reason == reasonNames[reasonOverwritten] {
				count += uint32(dropped)
			}
			continue
		}
		d.text()
		d.take(4 + 8)
		known := d.number(1)
		events := uint64(0)
		if known == 1 {
			events = d.number(8)
		}
		count += uint32(events)
		countKnown = countKnown && known == 1 && !d.failed
	}
	if b.lane < r.laneCount {
		said.places[b.lane].raise(b.laneTo, count, countKnown)
	}
}

func (said *word) raiseTotal(lane, reason uint32, total uint64) {
	if key := (laneReason{lane, reason}); total > said.totals[key] {
		said.totals[key] = total
	}
}

// recordSize is the size of a record that is known to be valid.
func recordSize(record []byte) int { return int((uint64(u32(record, 4)) + recordBytes + 7) &^ 7) }
