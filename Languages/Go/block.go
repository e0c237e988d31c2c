package weir

import "encoding/binary"

const (
	recordBytes = 24
	blockBytes  = 160
	payloadMax  = 2 << 20
	offsetMax   = 1 << 63
	noLane      = 65535
	unknown64   = 1<<64 - 1
)

const (
	blockEvents = 1 + iota
	blockDefinitions
	blockNotices
	blockSeal
)

// recordAt reads the record that begins where b does, and answers its size. It is 0 where no record of the opening (8
// bytes), the lane and the position is valid; then nothing of the record is believed.
func recordAt(b []byte, opening []byte, lane uint32, position uint64) int {
	if len(b) < recordBytes {
		return 0
	}
	length, size := u32(b, 4), recordSize(b)
	if size > uint64(len(b)) || !isZero(b[recordBytes+length:size]) {
		return 0
	}
	var at [24]byte
	copy(at[:], opening)
	binary.LittleEndian.PutUint64(at[8:], uint64(lane))
	binary.LittleEndian.PutUint64(at[16:], position)
	if crc(at[:], b[recordBytes:recordBytes+length], b[4:recordBytes]) != u32(b, 0) {
		return 0
	}
	return int(size)
}

// recordSize is the size of the record that begins where b does.
func recordSize(b []byte) uint64 { return (uint64(u32(b, 4)) + recordBytes + 7) &^ 7 }

// A block is a block of a segment whose checksums and content are right. The payload is good until the segment's
// window moves on.
type block struct {
	position         int64
	kind, count      uint32
	baseOffset       uint64
	lane, index      uint32
	laneFrom, laneTo uint64
	salt, opening    uint64
	logID            uint64
	payload          []byte
	payloadBytes     int
	clock            calibration
}

func (b *block) end() int64 { return b.position + blockBytes + int64(b.payloadBytes) }

// nextOffset is the offset after what the block holds.
func (b *block) nextOffset() uint64 { return b.baseOffset + uint64(b.count) }

// owner says whose blocks are meant: those of a segment.
type owner struct {
	logID, salt, opening uint64
	lanes                uint32
}

// headerIn reads a block's header. Nil: none is valid there. With `anybody` a block of any segment counts.
func headerIn(b []byte, position int64, size int64, whose owner, anybody bool) *block {
	if len(b) < blockBytes || string(b[:4]) != "WBLK" || crc(b[8:blockBytes]) != u32(b, 4) {
		return nil
	}
	return headerFields(b, position, size, whose, anybody)
}

// headerFields reads a block's header without its magic and its checksum.
func headerFields(b []byte, position int64, size int64, whose owner, anybody bool) *block {
	found := &block{
		position: position, kind: u32(b, 32), count: u32(b, 44), baseOffset: u64(b, 48), lane: u32(b, 56),
		index: u32(b, 60), laneFrom: u64(b, 64), laneTo: u64(b, 72), salt: u64(b, 8), opening: u64(b, 24),
		logID: u64(b, 128), payloadBytes: int(u32(b, 36)), clock: calibrationIn(b[96:]),
	}
	if u64(b, 16) != uint64(position) || u64(b, 136) != 0 || !isZero(b[144:160]) {
		return nil
	}
	if found.payloadBytes%8 != 0 || found.payloadBytes > payloadMax || found.end() > size {
		return nil
	}
	if found.baseOffset > offsetMax || uint64(found.count) > offsetMax-found.baseOffset {
		return nil
	}
	if !anybody && (found.salt != whose.salt || found.opening != whose.opening || found.logID != whose.logID) {
		return nil
	}
	lane := found.lane < whose.lanes
	positions := found.laneFrom%8 == 0 && found.laneTo%8 == 0
	switch found.kind {
	case blockEvents:
		if !lane || !positions || found.index != 0 || found.laneTo-found.laneFrom != uint64(found.payloadBytes) {
			return nil
		}
	case blockNotices:
		if found.lane == noLane {
			if found.index != 0 || found.laneFrom != 0 || found.laneTo != 0 {
				return nil
			}
		} else if !lane || !positions || found.laneFrom >= found.laneTo {
			return nil
		}
	case blockDefinitions, blockSeal:
		if found.lane != noLane || found.index != 0 || found.laneFrom != 0 || found.laneTo != 0 || found.count != 0 {
			return nil
		}
	default:
		return nil
	}
	return found
}

// openingBytes are the eight bytes that checksums cover.
func openingBytes(opening uint64) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], opening)
	return b[:]
}

// holds says whether the block's payload is what its header says.
func (b *block) holds() bool {
	switch b.kind {
	case blockEvents, blockNotices:
		rest := b.payload
		for i := uint32(0); i < b.count; i++ {
			if len(rest) < recordBytes || recordSize(rest) > uint64(len(rest)) {
				return false
			}
			rest = rest[recordSize(rest):]
		}
		return len(rest) == 0
	case blockDefinitions:
		return areDefinitions(b.payload, openingBytes(b.opening))
	}
	return b.seal() != nil
}

func areDefinitions(b, opening []byte) bool {
	for len(b) > 0 {
		_, size := definitionIn(b, opening)
		if size == 0 {
			return false
		}
		b = b[size:]
	}
	return true
}

const sealBytes = 232

// A seal is the last block of a sealed segment.
type seal struct {
	events      uint64
	definitions []byte
	totals      []byte
}

// seal reads the payload of a seal; nil if it is none.
func (b *block) seal() *seal {
	p := b.payload
	if len(p) < sealBytes {
		return nil
	}
	definitionBytes, totals := uint64(u32(p, 180)), uint64(u32(p, 184))
	if definitionBytes%8 != 0 || sealBytes+definitionBytes+16*totals != uint64(len(p)) {
		return nil
	}
	if u32(p, 188) != 0 || !isZero(p[192:224]) || u64(p, len(p)-8) != uint64(b.position) {
		return nil
	}
	found := &seal{
		events:      u64(p, 8),
		definitions: p[224:][:definitionBytes], totals: p[224+definitionBytes:][:16*totals],
	}
	if !areDefinitions(found.definitions, openingBytes(b.opening)) {
		return nil
	}
	return found
}

// inRows puts a payload that is in columns back into rows; nil if it is in no columns.
func inRows(columns []byte, count int) []byte {
	if count == 0 || len(columns) < recordBytes*count || len(columns) > 128*count {
		return nil
	}
	type group struct {
		members []int
		same    bool
	}
	sizes := make([]int, count)
	groupOf := make([]int, count)
	groups := []group{{}}     // the first one is of those that do not go by themselves
	known := map[uint32]int{} // by type
	total := 0
	header := func(record, at int) byte { return columns[at*count+record] }
	for i := range sizes {
		length := int(header(i, 4)) | int(header(i, 5))<<8 | int(header(i, 6))<<16 | int(header(i, 7))<<24
		sizes[i] = (length+recordBytes+7)&^7 - recordBytes
		total += sizes[i]
		if total > len(columns) {
			return nil
		}
		number := uint32(header(i, 8)) | uint32(header(i, 9))<<8
		at, is := known[number]
		if !is && number < typesMax && len(groups) <= 64 {
			at = len(groups)
			known[number] = at
			groups = append(groups, group{same: true})
		}
		g := &groups[at]
		g.same = g.same && (len(g.members) == 0 || sizes[g.members[0]] == sizes[i])
		g.members = append(g.members, i)
		groupOf[i] = at
	}
	if recordBytes*count+total != len(columns) {
		return nil
	}
	starts := make([]int, count)
	at := 0
	for i, size := range sizes {
		starts[i] = at
		at += recordBytes + size
	}
	rows := make([]byte, len(columns))
	for i, start := range starts {
		for j := 0; j < recordBytes; j++ {
			rows[start+j] = header(i, j)
		}
	}
	rest := columns[recordBytes*count:]
	for _, g := range append(groups[1:], groups[0]) {
		if !g.same {
			for _, i := range g.members {
				rest = rest[copy(rows[starts[i]+recordBytes:][:sizes[i]], rest):]
			}
			continue
		}
		size, n := sizes[g.members[0]], len(g.members)
		for k, i := range g.members {
			for j := 0; j < size; j++ {
				rows[starts[i]+recordBytes+j] = rest[j*n+k]
			}
		}
		rest = rest[size*n:]
	}
	return rows
}
