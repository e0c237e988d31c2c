package weir

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
)

// The reasons of holes.
const (
	holeDamaged  = "damaged in the ring"
	holePowerCut = "lost in a power cut"
	holeUnknown  = "unknown tail"
)

// restartOffsets are left out after a new start of the machine, so that no offset is given twice.
const restartOffsets = 1 << 32

// openingMax is where an opening may begin at most.
const openingMax = offsetMax - 1<<48

// An item is what a lane gives: a record, or a notice.
type item struct {
	position uint64
	notice   []byte // the payload of a notice
	number   uint32 // its type
}

// lanes are a dead writer's lanes, read one after the other.
type lanes struct {
	ring      *ring
	place     ringPlace
	said      *word
	controls  []laneControl // of all lanes, as they were when nobody was at work
	otherBoot bool
	empty     bool
	lane      uint32 // the next one
	current   uint32 // that of the items
	items     []item
	gaps      bool // the gap records that are due were listed
	offset    uint64
	synthetic []byte
	copied    []byte
}

func gapPayload(lane uint32, reason int, dropped, total uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, lane)
	b = appendText(b, reasonNames[reason])
	b = binary.LittleEndian.AppendUint64(b, dropped)
	return binary.LittleEndian.AppendUint64(b, total)
}

// holePayload is that of a hole; events is negative where it is not known how many are missing.
func holePayload(reason string, lane uint32, bytes uint64, events int64) []byte {
	b := appendText(nil, reason)
	b = binary.LittleEndian.AppendUint32(b, lane)
	b = binary.LittleEndian.AppendUint64(b, bytes)
	if events < 0 {
		return append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(append(b, 1), uint64(events))
}

func appendText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// isOtherBoot says whether a ring is of another boot than the running one.
func isOtherBoot(id [16]byte) bool {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return true
	}
	var running [16]byte
	digits := strings.ReplaceAll(strings.TrimSpace(string(text)), "-", "")
	for i := range running {
		if len(digits) < 32 {
			return true
		}
		for _, c := range []byte(digits[2*i : 2*i+2]) {
			running[i] = running[i]<<4 | (c&15 + c>>6*9)
		}
	}
	return id != running || id == [16]byte{}
}

// beginLanes goes on behind the segments, if no writer is at work.
func (l *Log) beginLanes() {
	l.stage = stageDone
	live, err := l.isLive()
	if err != nil || live {
		l.err = err
		return
	}
	place := l.findRing()
	begin, err := l.endOf(&place)
	still := false
	if err == nil {
		still, err = l.isStill(&place)
	}
	switch {
	case err != nil:
		l.err = err
	case still:
		begin()
	default:
		l.backToSegments()
	}
	if l.lanes == nil {
		place.ring.close()
	}
}

// isStill says whether no writer has been at work since the directory was listed and the ring was looked for.
func (l *Log) isStill(place *ringPlace) (bool, error) {
	names := l.names
	if err := l.list(); err != nil || !areEqual(names, l.names) {
		return false, err
	}
	return l.isCurrent(place)
}

// backToSegments reads on in the segments: a writer has been at work, and took what was in the lanes into segments,
// under the same offsets.
func (l *Log) backToSegments() {
	l.endLanes()
	l.stage, l.listedLast = stageSegments, true
	l.listAnew()
}

func (l *Log) endLanes() {
	if l.lanes != nil {
		l.lanes.place.ring.close()
		l.lanes = nil
	}
}

// endOf finds out how the log goes on behind its segments. Until begin is called nothing is told, and nothing changes.
func (l *Log) endOf(place *ringPlace) (begin func(), err error) {
	tell := func(file string, problem error) func() {
		return func() { l.passOver(Skip{First: l.expected, File: file, Reason: problem.Error()}) }
	}
	r := place.ring
	switch {
	case errors.Is(place.err, errDamaged):
		return tell("ring", place.err), nil
	case errors.Is(place.err, errVanished):
		return tell("ring.at", place.err), nil
	case errors.Is(place.err, ErrVersion):
		return nil, place.err
	case place.err != nil:
		return nil, l.fault(place.err)
	case r == nil && place.locator != nil && !place.locator.inUse:
		at := place.locator
		anothers, err := l.isAnothers(at.logID, at.opening, at.nextOffset, true)
		if anothers {
			return tell("ring.at", errAnothers), err
		}
		return func() {
			l.passOverRemoved(at.nextOffset)
			l.missing(at.nextOffset, Skip{File: "ring.at", Reason: "missing before the ring's close"})
		}, err
	case r == nil && len(l.visited) > 0 && l.others["lock"] && !place.isBeingMade():
		// A copy of segments alone lacks no ring, nor does a log whose writer died while it made one.
		return tell("ring", errNoRing), nil
	case r == nil:
		return func() {}, nil
	}
	anothers, err := l.isAnothers(r.logID, r.opening, r.baseOffset, r.closed)
	if err != nil {
		return nil, err
	}
	if anothers {
		return tell("ring", errAnothers), nil
	}
	n, err := l.lanesOf(place)
	return func() { l.useLanes(n) }, err
}

// lanesOf finds out where the lanes begin, and what their control pages say.
func (l *Log) lanesOf(place *ringPlace) (*lanes, error) {
	r := place.ring
	// Of another boot and not closed: no two pages need be of one moment. Closed: there is nothing to give.
	otherBoot := isOtherBoot(r.bootID)
	n := &lanes{ring: r, place: *place, otherBoot: otherBoot && !r.closed, empty: otherBoot && r.closed}
	var err error
	if n.said, err = l.wordOn(r, n.otherBoot); err != nil {
		return nil, err
	}
	if !r.clockKnown {
		r.clock = n.said.clock
	}
	n.offset = max64(n.said.end, r.baseOffset)
	if r.logEnd > r.baseOffset && r.logEnd <= openingMax {
		n.offset = max64(n.said.end, r.logEnd)
	}
	for lane := uint32(0); lane < r.laneCount && !n.empty; lane++ {
		n.controls = append(n.controls, r.control(lane, n.otherBoot))
	}
	if r.window.err != nil {
		return nil, l.fault(r.window.err)
	}
	return n, nil
}

// useLanes goes to the first offset of the lanes.
func (l *Log) useLanes(n *lanes) {
	l.lanes, l.askedRing = n, false
	if n.otherBoot && !n.said.leftOut {
		n.offset += restartOffsets
		n.notice(typeHole, holePayload(holeUnknown, noLane, 0, -1))
		l.passOverRemoved(n.offset)
		l.leaveOut(n.offset, "ring")
	} else {
		l.passOverRemoved(n.offset)
		l.missing(n.offset, Skip{File: "ring", Reason: "missing before the lanes"})
	}
	if n.empty {
		l.endLanes()
	} else {
		l.stage = stageLanes
	}
}

func (n *lanes) notice(number uint32, payload []byte) {
	n.items = append(n.items, item{notice: payload, number: number})
}

func (n *lanes) record(position uint64) { n.items = append(n.items, item{position: position}) }

// nextInLanes fills the event with the next item of the lanes.
func (l *Log) nextInLanes() bool {
	n := l.lanes
	for {
		if len(n.items) == 0 {
			more := n.listNext()
			if !l.isGoingOn() {
				return false
			}
			if more {
				continue
			}
			l.endLanes()
			l.stage = stageDone
			return false
		}
		next := n.items[0]
		n.items = n.items[1:]
		record, id := []byte(nil), ID{n.ring.opening, 0}
		if next.number != 0 {
			record = n.noticeRecord(next)
			id.Sequence = noLane<<48 | n.offset&(1<<48-1)
		} else {
			record = n.ring.record(n.current, next.position)
			id.Sequence = uint64(n.current)<<48 | next.position/8&(1<<48-1)
		}
		offset := n.offset
		n.offset++
		// A damaged block may claim the offset.
		if offset < l.expected {
			continue
		}
		if record == nil {
			if !l.isGoingOn() {
				return false
			}
			l.passOver(Skip{First: offset, Count: 1, File: "ring", Reason: "the ring changed while it was read"})
			continue
		}
		record = append(n.copied[:0], record...) // the ring's window may move on while definitions are looked for
		n.copied = record
		l.define(id.Opening, u32(record, 8))
		l.event.set(record, id, &n.ring.clock, &l.definitions)
		l.event.Offset, l.event.BootID, l.event.Host = offset, n.ring.bootID, ""
		l.expected, l.listings = n.offset, 0
		return true
	}
}

// isGoingOn says whether the lanes are as they were. If a writer has been at work meanwhile, what was listed last is
// not to be believed, and the reading goes back to the segments.
func (l *Log) isGoingOn() bool {
	n := l.lanes
	if err := n.ring.window.err; err != nil {
		l.err = l.fault(err)
		return false
	}
	current, err := l.isCurrent(&n.place)
	if err != nil {
		l.err = l.fault(err)
		return false
	}
	if !current {
		l.backToSegments()
	}
	return current
}

// listNext lists the items of the next lane, or, after the last one, the gap records that are due. False: that was all.
func (n *lanes) listNext() bool {
	switch {
	case n.lane < n.ring.laneCount:
		n.current = n.lane
		if n.otherBoot || n.lane < n.ring.lanesInPlay {
			n.list(n.lane)
		}
		n.lane++
	case !n.gaps:
		n.gaps = true
		n.listGaps()
	default:
		return false
	}
	return true
}

// noticeRecord makes the record that recovery would write; nobody asks for its checksum.
func (n *lanes) noticeRecord(next item) []byte {
	b := append(n.synthetic[:0], make([]byte, recordBytes)...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(next.notice)))
	binary.LittleEndian.PutUint32(b[8:], next.number)
	binary.LittleEndian.PutUint64(b[16:], n.ring.clock.baseTicks)
	n.synthetic = append(b, next.notice...)
	return n.synthetic
}

// A lane is what is left in one lane, while it is listed.
type lane struct {
	*lanes
	number        uint32
	tail, head    uint64
	evictedTo     uint64
	total, told   uint64 // evictions, and those of them that the log reports
	position, end uint64
	count         uint64 // of records before the position
	countKnown    bool
}

// list lists what a lane has.
func (n *lanes) list(number uint32) {
	c := n.controls[number]
	l := &lane{lanes: n, number: number, tail: c.tail, head: c.head, evictedTo: c.evictedTo, total: c.evictions}
	l.told = n.said.reported(number, reasonOverwritten, c.reported[reasonOverwritten])
	l.count, l.countKnown = n.said.countOf(number)
	l.position, l.end = l.bounds(&c)
	if l.total > l.told && !n.otherBoot {
		n.notice(typeGap, gapPayload(number, reasonOverwritten, l.total-l.told, l.total))
		l.count += l.total - l.told
	}
	for l.position < l.end {
		if record := l.next(l.position, l.end, l.count, l.countKnown); record != nil {
			n.record(l.position)
			l.count, l.countKnown = recordNumber(l.count, l.countKnown, u32(record, 12))+1, true
			l.position += uint64(len(record))
			continue
		}
		l.listHole()
	}
}

// bounds answers where the lane starts and ends.
func (l *lane) bounds(c *laneControl) (uint64, uint64) {
	place, lap := &l.said.places[l.number], l.ring.laneBytes
	if l.otherBoot {
		start := place.position
		end := l.lastRecord(start, l.tail)
		if end == start {
			end = l.lastRecord(start, l.head)
		}
		return start, end
	}
	unknownEviction := l.evictedTo%8 == 0 && l.total > l.told
	start := l.head
	if c.isValid(lap) {
		if place.known && (l.said.unsealed || place.position > l.head) {
			start = place.position
		}
		if start > l.tail {
			start = l.tail
		} else if l.tail-start > lap {
			start = l.tail - lap
		}
		if unknownEviction && l.evictedTo <= l.head && l.evictedTo > start {
			start = l.evictedTo
		}
		return start, l.tail
	}
	if place.known {
		start = place.position
	}
	if unknownEviction && l.evictedTo > start && l.evictedTo <= unknown64-lap &&
		l.record(l.evictedTo, l.evictedTo+lap) != nil {
		start = l.evictedTo
	}
	if l.tail%8 == 0 && l.tail >= start && l.tail-start <= lap {
		return start, l.tail
	}
	end := start
	if start > unknown64-lap {
		return start, end
	}
	for end < start+lap {
		record := l.record(end, start+lap)
		if record == nil {
			break
		}
		end += uint64(len(record))
	}
	return start, end
}

// listHole lists the notices of a stretch without a record.
func (l *lane) listHole() {
	stop, events, known := l.resync()
	skipped, overwritten := events, uint64(0)
	if l.otherBoot && known && l.position < l.evictedTo && l.evictedTo <= stop && l.total > l.told {
		overwritten = l.total - l.told
		if overwritten > events {
			overwritten = events
		}
	}
	if overwritten > 0 {
		l.notice(typeGap, gapPayload(l.number, reasonOverwritten, overwritten, l.told+overwritten))
		events -= overwritten
	}
	if overwritten == 0 || events > 0 {
		reason, told := holeDamaged, int64(events)
		if l.otherBoot {
			reason = holePowerCut
		}
		if !known {
			told = -1
		}
		l.notice(typeHole, holePayload(reason, l.number, stop-l.position, told))
	}
	l.count, l.countKnown = l.count+skipped, l.countKnown && known
	l.position = stop
}

// record answers the record at a position that ends by `end`; nil if there is no valid one.
func (l *lane) record(position, end uint64) []byte {
	if end < position || end-position < recordBytes {
		return nil
	}
	record := l.ring.record(l.number, position)
	if uint64(len(record)) > end-position {
		return nil
	}
	return record
}

// next answers the record at a position, if it is there and, after a power cut, its index follows on: a thread that was
// cancelled within a commit leaves a number that no record has.
func (l *lane) next(position, end, count uint64, known bool) []byte {
	const cancelled = 16
	record := l.record(position, end)
	if record != nil && l.otherBoot && known && recordNumber(count, true, u32(record, 12))-count > cancelled {
		return nil
	}
	return record
}

// A candidate is a record behind a hole, and for how many records the hole stands.
type candidate struct {
	position, skipped uint64
	known             bool
}

// find looks in [from, to) for a record that can be behind a hole at `position`.
func (l *lane) find(from, to, end, position, count uint64, known bool) *candidate {
	largest := (l.ring.recordBytes + 7) &^ 7
	for at := from; at < to; at += 8 {
		record := l.record(at, end)
		if record == nil {
			continue
		}
		if !known {
			return &candidate{position: at}
		}
		skipped, hole := recordNumber(count, true, u32(record, 12))-count, at-position
		if skipped > 0 && skipped <= hole/recordBytes && skipped >= hole/largest {
			return &candidate{at, skipped, true}
		}
		if !l.otherBoot {
			return &candidate{position: at}
		}
	}
	return nil
}

// resync answers where the hole at the position ends, and for how many records it stands, if that is known.
func (l *lane) resync() (stop, events uint64, known bool) {
	lap, near := l.ring.laneBytes, l.end
	if l.end-l.position > lap {
		near = l.position + lap
	}
	found := l.find(l.position+8, near, l.end, l.position, l.count, l.countKnown)
	if found == nil && near < l.end {
		far := near
		if l.end-near > lap {
			far = l.end - lap
		}
		found = l.find(far, l.end, l.end, l.position, l.count, l.countKnown)
	}
	if found == nil {
		return l.end, 0, false
	}
	return found.position, found.skipped, found.known
}

// lastRecord answers the end of the last record that can be found from a position on; the position if there is none.
func (l *lane) lastRecord(position, hint uint64) uint64 {
	const lapsMost, positionMost = 256, unknown64 / 2
	if position > positionMost {
		return position
	}
	count, known := l.said.countOf(l.number)
	lap, searched := l.ring.laneBytes, uint64(0)
	look := func(from uint64) *candidate {
		if searched >= lapsMost*lap {
			return nil
		}
		found := l.find(from, from+lap, from+2*lap, position, count, known)
		if found == nil {
			searched += lap
		} else {
			searched += found.position - from
		}
		return found
	}
	for {
		if record := l.next(position, position+2*lap, count, known); record != nil {
			position += uint64(len(record))
			count, known = recordNumber(count, known, u32(record, 12))+1, true
			continue
		}
		found := look(position + 8)
		if found == nil && hint%8 == 0 && hint < positionMost && hint > position+lap {
			found = look(hint - lap)
			hint = 0
		}
		if found == nil {
			return position
		}
		position, count, known = found.position, count+found.skipped, known && found.known
	}
}

// listGaps lists the gap records that are due.
func (n *lanes) listGaps() {
	r := n.ring
	for lane := uint32(0); lane < r.laneCount; lane++ {
		if !n.otherBoot && lane >= r.lanesInPlay {
			continue
		}
		c := n.controls[lane]
		n.listGapsOf(lane, &c.dropped, &c.reported)
	}
	n.listGapsOf(noLane, &r.dropped, &r.reported)
}

func (n *lanes) listGapsOf(lane uint32, dropped, reported *[reasons]uint64) {
	for reason := 1; reason < reasons; reason++ {
		if lane != noLane && reason == reasonOverwritten {
			continue
		}
		told := n.said.reported(lane, uint32(reason), reported[reason])
		if dropped[reason] > told {
			n.notice(typeGap, gapPayload(lane, reason, dropped[reason]-told, dropped[reason]))
		}
	}
}
