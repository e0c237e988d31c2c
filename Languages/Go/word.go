package weir

// A lanePlace is up to where the log has a lane, and how many of its records come before that.
type lanePlace struct {
	known, countKnown bool
	position          uint64
	count             uint64
}

func (p *lanePlace) raise(position uint64, count uint64, countKnown bool) {
	if !p.known || position > p.position {
		*p = lanePlace{true, countKnown, position, count}
	}
}

type laneReason struct{ lane, reason uint32 }

// A word is what the log says of a ring's lanes.
type word struct {
	opening, base uint64
	otherBoot     bool
	places        [256]lanePlace
	totals        map[laneReason]uint64 // the highest that gap records tell
	end           uint64                // the log's; new offsets begin at or behind it
	unsealed      bool                  // a segment of the opening is not sealed
	fromStart     bool                  // no sealed segment is of the opening, and the ring is of another boot
	sealIsLost    bool                  // that of a sealed segment of the opening
	leftOut       bool                  // a segment of the opening says that offsets before it were left out
	clock         calibration
}

// wordOn reads the segments again from which the log says something of the ring's lanes: the sealed ones back to one
// that settles the rest, and all from the first that is not sealed.
func (l *Log) wordOn(r *ring, otherBoot bool) (*word, error) {
	said := &word{
		opening: r.opening, base: r.baseOffset, otherBoot: otherBoot, fromStart: otherBoot,
		totals: map[laneReason]uint64{},
	}
	unsealed := 0
	for unsealed < len(l.names) && l.names[unsealed].sealed {
		unsealed++
	}
	for i := unsealed - 1; i >= 0; i-- {
		settled := false
		err := l.withOwn(l.names[i], func(s *segment) {
			said.takeSealed(s)
			settled = said.isSettledBy(s)
		})
		if err != nil {
			return nil, err
		}
		if settled {
			break
		}
	}
	for _, name := range l.names[unsealed:] {
		err := l.withOwn(name, func(s *segment) {
			if !said.forgets(s) {
				said.takeUnsealed(s)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return said, nil
}

// withOwn opens a segment of the log for a function; there is none for a file that is no segment of the log.
func (l *Log) withOwn(name segmentName, use func(*segment)) error {
	s, err := l.openOwn(name)
	if err != nil || s == nil {
		return err
	}
	defer s.close()
	use(s)
	if s.window.err != nil {
		return l.fault(s.window.err)
	}
	return nil
}

// isSettledBy says whether the segments before this one say nothing more.
func (said *word) isSettledBy(s *segment) bool {
	if s.baseOffset != s.base {
		return false
	}
	own := s.whose.opening == said.opening && s.headerValid
	return said.opening == 0 || own || s.collected || s.baseOffset < said.base
}

// forgets says whether recovery wrote a segment and did not seal it, while the ring is of another boot: the ring still
// has all of it.
func (said *word) forgets(s *segment) bool {
	return said.otherBoot && !s.sealed && s.headerValid && s.whose.opening == said.opening && s.flags&flagRecovered != 0
}

func (said *word) takeSealed(s *segment) {
	own := s.whose.opening == said.opening
	if own {
		said.fromStart = false
	}
	said.takeHeader(s)
	seal := s.sealFromEnd(s.whose, false)
	if seal != nil && !own {
		said.raiseEnd(seal.nextOffset())
		return
	}
	if seal != nil {
		said.takeTotals(seal.seal().totals)
		said.raiseEnd(seal.nextOffset())
	}
	for sealed := seal != nil; ; {
		b, damage := s.step(0, true)
		switch {
		case b != nil && b.kind == blockSeal:
			if own && !sealed {
				said.takeTotals(b.seal().totals)
			}
			said.raiseEnd(b.nextOffset())
			return
		case b != nil:
			said.raiseEnd(b.nextOffset())
			if own {
				said.takeBlock(b)
			}
		case damage.isTail:
			said.sealIsLost = said.sealIsLost || own && !sealed
			said.takeDamage(s, damage)
			return
		default:
			said.takeDamage(s, damage)
		}
	}
}

func (said *word) takeUnsealed(s *segment) {
	said.takeHeader(s)
	own := s.whose.opening == said.opening
	said.unsealed = said.unsealed || own
	for {
		b, damage := s.step(0, true)
		switch {
		case b == nil:
			said.takeDamage(s, damage)
			if damage.isTail {
				return
			}
		case b.kind == blockSeal:
			said.raiseEnd(b.nextOffset())
			return
		default:
			said.raiseEnd(b.nextOffset())
			if own {
				said.takeBlock(b)
			}
		}
	}
}

// takeDamage raises the end to the offsets that are missing between blocks, and in a batch also behind the last one.
func (said *word) takeDamage(s *segment, d damage) {
	if !d.isTail || s.batch != nil {
		said.raiseEnd(d.first + d.count)
	}
}

func (said *word) raiseEnd(end uint64) {
	if end > said.end {
		said.end = end
	}
}

func (said *word) takeHeader(s *segment) {
	said.raiseEnd(s.baseOffset)
	// No new segment may have the name of one that somebody renamed, or copied under another name.
	if s.sealed || s.base != s.baseOffset {
		said.raiseEnd(s.base + 1)
	}
	if !s.headerValid || s.whose.opening != said.opening {
		return
	}
	for lane := uint32(0); lane < s.whose.lanes; lane++ {
		position, count := u64(s.drained, int(16*lane)), u64(s.drained, int(16*lane)+8)
		if position%8 == 0 {
			said.places[lane].raise(position, count, count != unknown64)
		}
	}
	said.leftOut = said.leftOut || s.flags&flagLeftOut != 0
}

func (said *word) takeTotals(totals []byte) {
	for ; len(totals) > 0; totals = totals[16:] {
		if reason := u32(totals, 4); reason < reasons {
			said.raiseTotal(u32(totals, 0), reason, u64(totals, 8))
		}
	}
}

// countOf is how many records come before what the log has drained of a lane.
func (said *word) countOf(lane uint32) (count uint64, known bool) {
	if place := &said.places[lane]; place.known {
		return place.count, place.countKnown
	}
	return 0, said.fromStart
}

func (said *word) takeBlock(b *block) {
	said.clock = b.clock
	switch b.kind {
	case blockEvents:
		if b.count > 0 {
			said.takeEvents(b)
		}
	case blockNotices:
		said.takeNotices(b)
	}
}

func (said *word) takeEvents(b *block) {
	count, known := said.countOf(b.lane)
	first := recordNumber(count, known, u32(b.payload, 12))
	last := uint32(0)
	for rest := b.payload; len(rest) > 0; rest = rest[recordSize(rest):] {
		last = u32(rest, 12)
	}
	said.places[b.lane].raise(b.laneTo, recordNumber(first, true, last)+1, true)
}

func (said *word) takeNotices(b *block) {
	stands, known := uint64(0), true
	for rest := b.payload; len(rest) > 0; rest = rest[recordSize(rest):] {
		payload := rest[recordBytes:][:u32(rest, 4)]
		switch u32(rest, 8) {
		case typeGap:
			if gap, is := gapIn(payload); is {
				said.raiseTotal(gap.lane, gap.reason, gap.total)
				if gap.reason == reasonOverwritten {
					stands += gap.dropped
				}
			}
		case typeHole:
			events, is := eventsOfHole(payload)
			stands, known = stands+events, known && is
		}
	}
	if b.lane >= uint32(len(said.places)) {
		return
	}
	count, countKnown := said.countOf(b.lane)
	if b.index != 1<<32-1 {
		count, countKnown = recordNumber(count, countKnown, b.index), true
	}
	said.places[b.lane].raise(b.laneTo, count+stands, countKnown && known)
}

func (said *word) raiseTotal(lane, reason uint32, total uint64) {
	if lane >= uint32(len(said.places)) {
		lane = noLane
	}
	if key := (laneReason{lane, reason}); total > said.totals[key] {
		said.totals[key] = total
	}
}

// reported is how many losses of a lane the log reports. Under another boot the ring may count gap records that never
// reached the disk.
func (said *word) reported(lane, reason uint32, inRing uint64) uint64 {
	told := said.totals[laneReason{lane, reason}]
	if inRing > told && (!said.otherBoot || said.sealIsLost) {
		return inRing
	}
	return told
}

// recordNumber is how many records come before one of an index, given about how many they are.
func recordNumber(count uint64, known bool, index uint32) uint64 {
	if !known {
		return uint64(index)
	}
	return count + uint64(index-uint32(count))
}

type gap struct {
	lane, reason   uint32
	dropped, total uint64
}

// gapIn reads the payload of a gap record. False: it is none.
func gapIn(payload []byte) (gap, bool) {
	d := decoder{bytes: payload}
	found := gap{lane: uint32(d.number(4))}
	name := string(d.text())
	found.dropped, found.total = d.number(8), d.number(8)
	if d.failed || len(d.bytes) > 0 {
		return gap{}, false
	}
	for i, each := range reasonNames {
		if i > 0 && each == name {
			found.reason = uint32(i)
			return found, true
		}
	}
	return gap{}, false
}

// eventsOfHole reads from the payload of a hole how many events are missing. False: it does not say.
func eventsOfHole(payload []byte) (uint64, bool) {
	d := decoder{bytes: payload}
	d.text()
	d.take(4 + 8)
	known := d.number(1)
	events := d.number(8)
	if d.failed || known != 1 || len(d.bytes) > 0 {
		return 0, false
	}
	return events, true
}
