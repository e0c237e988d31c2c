package weir

import (
	"math/bits"
	"os"
)

const (
	ringHeaderBytes  = 4096
	ringFixedBytes   = 512 // they never change
	laneControlBytes = 4096
	recordMax        = 1<<20 + 32
	reasons          = 16
)

// The words that gap records have for reasons.
var reasonNames = [reasons]string{
	"", "full", "no_lane", "too_large", "closed", "detached", "storage", "invalid", "overwritten", "expired", "displaced",
	"sampled", "reason_12", "reason_13", "reason_14", "reason_15",
}

const reasonOverwritten = 8

// A ring is the ring's file, open: the lanes, with the events that are captured and not yet in a segment.
type ring struct {
	file *os.File
	info os.FileInfo
	window
	fixed [ringFixedBytes]byte

	opening, logID, baseOffset, logEnd uint64
	laneCount, overflowLanes           uint32
	laneBytes, recordBytes             uint64
	lanesAt, laneStride                uint64
	typesAt, typesBytes, typesEnd      uint64
	bootID                             [16]byte
	closed                             bool
	lanesInPlay                        uint32
	clock                              calibration
	clockKnown                         bool
	dropped, reported                  [reasons]uint64 // of captures without a lane
}

// openRing opens a ring. An error is errDamaged if the file is no valid ring, ErrVersion if a newer version wrote the
// ring, or the file system's.
func openRing(path string) (*ring, error) {
	file, info, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	r := &ring{file: file, info: info, window: window{from: file, size: info.Size()}}
	if err := r.read(); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

func (r *ring) read() error {
	head := r.bytes(0, ringHeaderBytes)
	if r.window.err != nil {
		return r.window.err
	}
	if head == nil || string(head[:8]) != "WEIRRING" {
		return errDamaged
	}
	copy(r.fixed[:], head)
	right := crc(head[16:512]) == u32(head, 12)
	if major := u16(head, 8); major == 2 || major > 2 && !right || right && u64(head, 96) != 0 {
		return ErrVersion
	}
	if !right || !r.use(head) {
		return errDamaged
	}
	return nil
}

// use takes the header over, if it is valid.
func (r *ring) use(b []byte) bool {
	fileBytes, spares := u64(b, 24), u32(b, 36)
	r.opening, r.laneCount, r.laneBytes, r.recordBytes = u64(b, 16), u32(b, 32), u64(b, 40), u64(b, 48)
	r.lanesAt, r.laneStride, r.typesAt, r.typesBytes = u64(b, 56), u64(b, 64), u64(b, 72), u64(b, 80)
	r.baseOffset, r.overflowLanes, r.logID = u64(b, 88), u32(b, 132), u64(b, 136)
	copy(r.bootID[:], b[112:])
	r.logEnd, r.typesEnd, r.closed = u64(b, 512), u64(b, 520), u64(b, 528) == 1
	if fileBytes > uint64(r.size) || r.laneCount < 1 || r.laneCount > 256 || spares > r.laneCount ||
		r.overflowLanes > spares || r.overflowLanes >= r.laneCount || r.recordBytes < recordBytes ||
		r.recordBytes > recordMax || bits.OnesCount64(r.laneBytes) != 1 || r.laneBytes < r.recordBytes ||
		r.laneBytes > 1<<32 || r.laneStride > uint64(fileBytes) ||
		r.laneStride < laneControlBytes+r.laneBytes+r.recordBytes+8 || r.laneStride%4096 != 0 || r.lanesAt%4096 != 0 ||
		r.typesAt%8 != 0 || r.lanesAt < 4096 || r.typesAt < 4096 || r.typesBytes > 64<<20 || r.baseOffset > offsetMax {
		return false
	}
	lanes := uint64(r.laneCount) * r.laneStride
	if lanes/uint64(r.laneCount) != r.laneStride || lanes > fileBytes || r.lanesAt > fileBytes-lanes ||
		r.typesBytes > fileBytes || r.typesAt > fileBytes-r.typesBytes {
		return false
	}
	r.lanesInPlay = u32(b, 544)
	if r.lanesInPlay != ^u32(b, 548) || r.lanesInPlay > r.laneCount || r.lanesInPlay < r.laneCount-r.overflowLanes {
		r.lanesInPlay = r.laneCount
	}
	var newest uint32
	for at := 560; at < 640; at += 40 {
		if sequence := u32(b, at+32); crc(b[at:at+36]) == u32(b, at+36) && sequence != 0 &&
			(!r.clockKnown || int32(sequence-newest) > 0) { // sequences wrap around
			newest, r.clock, r.clockKnown = sequence, calibrationIn(b[at:]), true
		}
	}
	for i := 1; i < reasons; i++ {
		r.dropped[i], r.reported[i] = u64(b, 640+8*i), u64(b, 768+8*i)
	}
	return true
}

// define adds the definitions of the type region: those in use, or, where the page that says how many those are may be
// older than they, all that are valid.
func (r *ring) define(known *definitions, all bool) {
	end := r.typesEnd
	if all || end > r.typesBytes {
		end = r.typesBytes
	}
	opening := openingBytes(r.opening)
	for at := uint64(0); at+definitionBytes <= end; {
		step := 8
		head := r.bytes(int64(r.typesAt+at), definitionBytes)
		if size := uint64(u32(head, 0)); size >= definitionBytes && size <= 32768 && size <= end-at {
			entry := r.bytes(int64(r.typesAt+at), int(size))
			if definition, size := definitionIn(entry, opening); size > 0 {
				known.add(definition)
				step = size
			}
		}
		at += uint64(step)
	}
}

// A laneControl is the page in front of a lane's records.
type laneControl struct {
	tail, head           uint64
	dropped, reported    [reasons]uint64
	opening              uint64
	evictedTo, evictions uint64
}

func (r *ring) control(lane uint32, otherBoot bool) laneControl {
	b := r.bytes(int64(r.lanesAt+uint64(lane)*r.laneStride), laneControlBytes)
	c := laneControl{tail: u64(b, 0), head: u64(b, 128) &^ 7, opening: u64(b, 312)}
	if otherBoot && lane >= r.laneCount-r.overflowLanes && c.opening != r.opening {
		return laneControl{}
	}
	for i := 1; i < reasons; i++ {
		c.dropped[i], c.reported[i] = u64(b, 8*i), u64(b, 192+8*(i-1))
	}
	c.evictedTo, c.evictions = u64(b, 336), u64(b, 344)
	if u64(b, 128)&2 != 0 && u64(b, 320) == c.head {
		c.evictedTo, c.evictions = u64(b, 320), u64(b, 328)
	}
	return c
}

// isValid says whether head and tail of a lane are believed.
func (c *laneControl) isValid(laneBytes uint64) bool {
	return c.head <= c.tail && c.tail-c.head <= laneBytes && c.tail%8 == 0
}

// record answers the record at a position of a lane, nil if there is no valid one. It lies in the lane and runs on into
// the overhang.
func (r *ring) record(lane uint32, position uint64) []byte {
	at := int64(r.lanesAt + uint64(lane)*r.laneStride + laneControlBytes + position&(r.laneBytes-1))
	head := r.bytes(at, recordBytes)
	if head == nil {
		return nil
	}
	if uint64(u32(head, 4)) > r.recordBytes-recordBytes {
		return nil
	}
	record := r.bytes(at, int(recordSize(head)))
	if record == nil || recordAt(record, openingBytes(r.opening), lane, position) == 0 {
		return nil
	}
	return record
}

func (r *ring) close() {
	if r != nil {
		r.file.Close()
	}
}
