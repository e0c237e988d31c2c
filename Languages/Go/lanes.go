package weir

import (
	"encoding/binary"
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
	said      *word
	otherBoot bool
	lane      uint32 // the next one
	current   uint32 // that of the items
	items     []item
	gaps      bool // the gap records that are due were listed
	offset    uint64
	synthetic []byte
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

// beginLanes finds out what the lanes have to give.
func (l *Log) beginLanes() {
	l.stage = stageDone
	r := l.ring
	if l.refused != "" {
		l.err = l.newer(l.refused)
		return
	}
	if l.ringNewer {
		l.err = l.newer("ring")
		return
	}
	// A writer that lived when the reading began may have drained more since, and died.
	if l.live || l.isLive() {
		return
	}
	if l.ringDamaged {
		l.skip(Skip{File: "ring", Reason: "the ring is damaged"})
		return
	}
	if r == nil {
		if at := l.locator; at == nil || at.inUse {
			return
		} else if at.logID != l.id || !ringIsOfLog(at.opening, at.nextOffset, true, l.segments) {
			l.skip(Skip{File: "ring.at", Reason: "the locator is of another opening, or of another log"})
		} else {
			l.missing(at.nextOffset, Skip{File: "ring.at", Reason: "missing before the ring's close"})
		}
		return
	}
	if r.logID != l.id || !ringIsOfLog(r.opening, r.baseOffset, r.closed, l.segments) {
		l.skip(Skip{File: "ring", Reason: "the ring is of another opening, or of another log"})
		return
	}
	if l.otherBoot && r.closed {
		offset := l.named
		if r.logEnd > offset && r.logEnd <= openingMax {
			offset = r.logEnd
		}
		if r.baseOffset > offset {
			offset = r.baseOffset
		}
		l.missing(offset, Skip{File: "ring", Reason: "missing before the ring's close"})
		return
	}
	said, err := l.wordOn(r, l.otherBoot)
	if err != nil {
		l.err = err
		return
	}
	if l.definitions.opening != r.opening {
		l.definitions = definitionsOf(r.opening)
	}
	r.define(&l.definitions, l.otherBoot)
	if !r.clockKnown {
		r.clock = said.clock
	}
	offset := l.end()
	if r.logEnd <= openingMax && r.logEnd > offset {
		offset = r.logEnd
	}
	if r.baseOffset > offset {
		offset = r.baseOffset
	}
	if l.named > offset {
		offset = l.named
	}
	l.lanes = &lanes{ring: r, said: said, otherBoot: l.otherBoot, offset: offset}
	if l.otherBoot && !said.leftOut {
		l.lanes.offset += restartOffsets
		l.lanes.notice(typeHole, holePayload(holeUnknown, noLane, 0, -1))
	} else {
		l.missing(offset, Skip{File: "ring", Reason: "missing before the lanes"})
	}
	l.stage = stageLanes
}

// end is the offset after the last segments, from the last sealed one on.
func (l *Log) end() uint64 {
	end := l.start.firstOffset
	if l.leftover > end {
		end = l.leftover
	}
	for i := len(l.segments) - 1; i >= 0; i-- {
		if l.segments[i].end > end {
			end = l.segments[i].end
		}
		if l.isSealedUpTo(&l.segments[i]) {
			break
		}
	}
	return end
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
			if !n.listNext() {
				l.stage = stageDone
				return false
			}
			if err := n.ring.window.err; err != nil {
				l.err = l.fault(err)
				return false
			}
			continue
		}
		next := n.items[0]
		n.items = n.items[1:]
		record, sequence := []byte(nil), uint64(0)
		if next.number != 0 {
			record = n.noticeRecord(next)
			sequence = noLane<<48 | n.offset&(1<<48-1)
		} else {
			record = n.ring.record(n.current, next.position)
			sequence = uint64(n.current)<<48 | next.position/8&(1<<48-1)
		}
		offset := n.offset
		n.offset++
		// A damaged block may claim the offset; a record that changed since it was listed is none.
		if offset < l.expected || record == nil {
			continue
		}
		l.event.set(record, sequence, &n.ring.clock, &l.definitions)
		l.event.Offset, l.event.BootID, l.event.Host = offset, n.ring.bootID, ""
		l.expected = n.offset
		return true
	}
}

// listNext lists the items of the next lane, or, after the last one, the gap records that are due. False: that was all.
func (n *lanes) listNext() bool {
	switch {
	case n.lane < n.ring.laneCount:
		n.current = n.lane
		if n.otherBoot {
			n.listAfterPowerCut(n.lane)
		} else if n.lane < n.ring.lanesInPlay {
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

// evicted answers how many events of a lane were evicted that no gap record tells of.
func (n *lanes) evicted(lane uint32, c *laneControl) (unreported uint64, reported uint64) {
	reported = n.said.totals[laneReason{lane, reasonOverwritten}]
	if told := c.reported[reasonOverwritten]; n.believesReported() && told > reported {
		reported = told
	}
	if c.evictions <= reported {
		return 0, reported
	}
	return c.evictions - reported, reported
}

// believesReported says whether the ring's word counts for what gap records of the log report.
func (n *lanes) believesReported() bool { return !n.otherBoot || n.said.sealIsLost }

// list lists what a lane of this boot has.
func (n *lanes) list(lane uint32) {
	r := n.ring
	c := r.control(lane, false)
	place := n.said.places[lane]
	valid := c.isValid(r.laneBytes)
	position, tail, bounded := c.head, c.tail, valid
	if place.known {
		position = place.position
		if valid {
			if !n.said.unsealed && c.head > position {
				position = c.head
			}
			if lowest := c.tail - r.laneBytes; c.tail > r.laneBytes && position < lowest {
				position = lowest
			}
		}
	}
	if unreported, reported := n.evicted(lane, &c); unreported > 0 {
		if c.evictedTo%8 != 0 || c.evictedTo > c.head {
			// That is no place to read on from.
		} else if valid && c.evictedTo >= position || !valid && c.evictedTo > position && r.record(lane, c.evictedTo) != nil {
			position = c.evictedTo
		}
		n.notice(typeGap, gapPayload(lane, reasonOverwritten, unreported, reported+unreported))
	}
	if !valid && tail%8 == 0 && tail >= position && tail-position <= r.laneBytes {
		bounded = true
	}
	next, nextKnown := place.count, place.known && place.countKnown
	for !bounded || position < tail {
		record := r.record(lane, position)
		if record != nil && (!bounded || uint64(len(record)) <= tail-position) {
			n.record(position)
			next, nextKnown = u32(record, 12)+1, true
			position += uint64(len(record))
			continue
		}
		if !bounded {
			return
		}
		from := position
		record = nil
		for position += 8; position < tail; position += 8 {
			if record = r.record(lane, position); record != nil && uint64(len(record)) <= tail-position {
				break
			}
			record = nil
		}
		events := int64(-1)
		if record != nil && nextKnown {
			if missing := uint64(u32(record, 12) - next); missing >= 1 && missing <= (position-from)/recordBytes {
				events = int64(missing)
			}
		}
		n.notice(typeHole, holePayload(holeDamaged, lane, position-from, events))
		nextKnown = false
	}
}

// listAfterPowerCut lists what a lane of another boot has: neither head nor tail are believed.
func (n *lanes) listAfterPowerCut(lane uint32) {
	r := n.ring
	c := r.control(lane, true)
	place := n.said.places[lane]
	position, next := place.position, place.count
	unreported, reported := n.evicted(lane, &c)
	searchedTail, any := false, false
	for {
		if record := r.record(lane, position); record != nil && u32(record, 12)-next <= 16 {
			n.record(position)
			next, any = u32(record, 12)+1, true
			position += uint64(len(record))
			continue
		}
		if position+r.laneBytes < position {
			return // a forged position
		}
		found := n.search(lane, position, position+8, position+r.laneBytes, next)
		if found == nil && !searchedTail {
			searchedTail = true
			ends := []uint64{c.tail}
			if !any {
				ends = append(ends, c.head)
			}
			for _, end := range ends {
				if found == nil && end%8 == 0 && end > position+r.laneBytes {
					found = n.search(lane, position, end-r.laneBytes, end, next)
				}
			}
		}
		if found == nil {
			return
		}
		missing := found.index - next
		if unreported > 0 && c.evictedTo > position {
			told := unreported
			if told > uint64(missing) {
				told = uint64(missing)
			}
			n.notice(typeGap, gapPayload(lane, reasonOverwritten, told, reported+told))
			missing -= uint32(told)
			unreported, reported = unreported-told, reported+told
		}
		n.notice(typeHole, holePayload(holePowerCut, lane, found.position-position, int64(missing)))
		position, next = found.position, found.index
	}
}

type candidate struct {
	position uint64
	index    uint32
}

// search looks for a record that can be behind a hole, which begins at `after`.
func (n *lanes) search(lane uint32, after, from, to uint64, next uint32) *candidate {
	r := n.ring
	largest := (r.recordBytes + 7) &^ 7
	for position := from; position < to; position += 8 {
		record := r.record(lane, position)
		if record == nil {
			continue
		}
		hole, index := position-after, u32(record, 12)
		missing := uint64(index - next)
		if missing >= 1 && missing <= hole/recordBytes && missing >= hole/largest {
			return &candidate{position, index}
		}
	}
	return nil
}

// listGaps lists the gap records that are due.
func (n *lanes) listGaps() {
	r := n.ring
	for lane := uint32(0); lane < r.laneCount; lane++ {
		if !n.otherBoot && lane >= r.lanesInPlay {
			continue
		}
		c := r.control(lane, n.otherBoot)
		n.listGapsOf(lane, &c.dropped, &c.reported)
	}
	n.listGapsOf(noLane, &r.dropped, &r.reported)
}

func (n *lanes) listGapsOf(lane uint32, dropped, reported *[reasons]uint64) {
	for reason := 1; reason < reasons; reason++ {
		if lane != noLane && reason == reasonOverwritten {
			continue
		}
		told := n.said.totals[laneReason{lane, uint32(reason)}]
		if n.believesReported() && reported[reason] > told {
			told = reported[reason]
		}
		if dropped[reason] > told {
			n.notice(typeGap, gapPayload(lane, reason, dropped[reason]-told, dropped[reason]))
		}
	}
}
