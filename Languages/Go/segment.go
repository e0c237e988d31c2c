package weir

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const segmentHeaderBytes = 512

const (
	flagRecovered = 1 // a segment with what recovery drained from the lanes
	flagLeftOut   = 2 // the offsets before the segment were left out
)

// collectedBit is the one incompatible flag of a segment that has a meaning: its events come from another log.
const collectedBit = 1

// A segmentName is the name of a segment's file, taken apart.
type segmentName struct {
	name          string
	base          uint64
	sealed, batch bool
}

// parseSegmentName says whether a file's name is that of a segment.
func parseSegmentName(name string) (segmentName, bool) {
	digits, suffix, dot := strings.Cut(name, ".")
	parsed := segmentName{name: name, sealed: suffix != "weir.active", batch: suffix == "weir.lz4"}
	if !dot || len(digits) != 20 || suffix != "weir" && !parsed.batch && parsed.sealed {
		return parsed, false
	}
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			return parsed, false
		}
	}
	base, err := strconv.ParseUint(digits, 10, 64)
	parsed.base = base
	return parsed, err == nil && base <= offsetMax
}

// A segment is a segment's file, open.
type segment struct {
	segmentName
	file  *os.File
	batch *batch // of a batch segment
	size  int64  // of the content
	window

	headerValid  bool
	valid        bool // there is a valid header or a valid block
	whose        owner
	flags        uint32
	baseOffset   uint64
	previousSalt uint64
	incompatible uint64
	major        uint16
	bootID       [16]byte
	host         string
	collected    bool
	laterBoot    bool // it was written after a new start of the machine
	headerEnd    int64
	drained      []byte // 16 bytes for each lane

	next int64 // position of the next block
}

// openSegment opens a segment. A file without a valid header or block has valid false.
func openSegment(directory string, name segmentName) (*segment, error) {
	file, err := os.Open(filepath.Join(directory, name.name))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		file.Close()
		return &segment{segmentName: name}, nil
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	s := &segment{segmentName: name, file: file, size: info.Size()}
	s.window = window{from: file, size: s.size}
	if name.batch {
		s.batch = openBatch(file, s.size)
		s.size = s.batch.length
		s.window = window{from: s.batch, size: s.size}
	}
	s.readHeader()
	if s.window.err != nil {
		s.close()
		return nil, s.window.err
	}
	return s, nil
}

func (s *segment) close() {
	if s != nil && s.file != nil {
		s.file.Close()
	}
}

func (s *segment) readHeader() {
	if head := s.bytes(0, segmentHeaderBytes); head != nil {
		lanes := u32(head, 104)
		if string(head[:8]) == "WEIRSEGM" {
			s.major = u16(head, 8)
		}
		if lanes <= 256 {
			if all := s.bytes(0, segmentHeaderBytes+16*int(lanes)); all != nil {
				s.useHeader(all, lanes)
			}
		}
	}
	if !s.headerValid {
		s.findOwner()
	}
}

func (s *segment) useHeader(b []byte, lanes uint32) {
	if crc(b[20:]) != u32(b, 16) || u64(b, 24) == 0 || u64(b, 40) > offsetMax {
		return
	}
	s.headerValid, s.valid = true, true
	s.flags = u32(b, 20)
	s.whose = owner{logID: u64(b, 144), salt: u64(b, 24), opening: u64(b, 32), lanes: lanes}
	s.baseOffset, s.previousSalt, s.incompatible = u64(b, 40), u64(b, 56), u64(b, 80)
	copy(s.bootID[:], b[124:])
	s.laterBoot = string(b[108:124]) != string(b[124:140])
	s.collected = s.incompatible&collectedBit != 0
	if s.collected {
		s.host = string(bytes.TrimRight(b[184:248], "\x00"))
	}
	s.drained = append([]byte{}, b[segmentHeaderBytes:]...)
	s.headerEnd = int64(len(b))
	s.next = s.headerEnd
}

// findOwner finds whose the blocks are where the header does not say: the seal's, or those of the first valid block.
func (s *segment) findOwner() {
	s.next = segmentHeaderBytes
	anybody := owner{lanes: 256}
	if b := s.sealFromEnd(anybody, true); b != nil {
		s.whose = owner{b.logID, b.salt, b.opening, 256}
	} else {
		for at := int64(segmentHeaderBytes); ; at += 8 {
			if at = s.findMagic(at); at < 0 {
				return
			}
			b := s.blockAt(at, anybody, true)
			if b != nil && b.salt != 0 && (s.sealed || b.baseOffset >= s.base) {
				s.whose = owner{b.logID, b.salt, b.opening, 256}
				break
			}
		}
	}
	if first := s.findBlock(segmentHeaderBytes); first != nil {
		s.valid = true
		s.baseOffset = first.baseOffset
	}
}

// sealFromEnd answers the seal that the last eight bytes of the file name.
func (s *segment) sealFromEnd(whose owner, anybody bool) *block {
	end := s.bytes(s.size-8, 8)
	if end == nil || s.size < segmentHeaderBytes+blockBytes {
		return nil
	}
	at := u64(end, 0)
	if at > uint64(s.size) {
		return nil
	}
	b := s.blockAt(int64(at), whose, anybody)
	if b == nil || b.kind != blockSeal || b.end() != s.size {
		return nil
	}
	return b
}

// blockAt answers the block at a position; nil if there is no valid one.
func (s *segment) blockAt(at int64, whose owner, anybody bool) *block {
	head := s.bytes(at, blockBytes)
	if head == nil {
		return nil
	}
	found := headerIn(head, at, s.size, whose, anybody)
	if found == nil {
		return nil
	}
	sum := u32(head, 40)
	whole := s.bytes(at, blockBytes+found.payloadBytes)
	if whole == nil {
		return nil
	}
	found.payload = whole[blockBytes:]
	if crc(found.payload) != sum {
		if found.kind != blockEvents {
			return nil
		}
		found.payload = inRows(found.payload, int(found.count))
		if found.payload == nil || crc(found.payload) != sum {
			return nil
		}
	}
	if !found.holds() {
		return nil
	}
	return found
}

// findMagic answers the first position, from one on, at which a block's magic lies; -1 if there is none.
func (s *segment) findMagic(at int64) int64 {
	for {
		// Not less than a magic is asked for, so that one across the end of the window is seen.
		if s.bytes(at, 4) == nil {
			return -1
		}
		shown := s.rest(at)
		found := bytes.Index(shown, []byte("WBLK"))
		if found < 0 {
			at = (at + int64(len(shown)) - 3 + 7) &^ 7
			continue
		}
		position := at + int64(found)
		if position%8 == 0 {
			return position
		}
		at = (position + 7) &^ 7
	}
}

// findBlock answers the first valid block of the segment from a position on.
func (s *segment) findBlock(at int64) *block {
	for at = (at + 7) &^ 7; ; at += 8 {
		if at = s.findMagic(at); at < 0 {
			return nil
		}
		b := s.blockAt(at, s.whose, false)
		// Without a header the file's name says what is of this segment, and not what the disk held before.
		if b != nil && (s.headerValid || s.sealed || b.baseOffset >= s.base) {
			return b
		}
	}
}

// brokenAt answers the header of a block whose payload is damaged, or that is valid but for one byte. A kill leaves no
// such block.
func (s *segment) brokenAt(at int64) *block {
	head := s.bytes(at, blockBytes)
	if head == nil {
		return nil
	}
	if found := headerIn(head, at, s.size, s.whose, false); found != nil {
		return found
	}
	head = append([]byte{}, head...)
	for i := range head {
		was := head[i]
		for change := 1; change < 256; change++ {
			head[i] = was ^ byte(change)
			if string(head[:4]) != "WBLK" || u64(head, 8) != s.whose.salt {
				continue
			}
			if found := headerIn(head, at, s.size, s.whose, false); found != nil {
				return found
			}
		}
		head[i] = was
	}
	return nil
}

// isNewer says whether the segment is of a newer version, whose bytes may mean something else.
func (s *segment) isNewer() bool {
	if s.batch != nil && s.batch.index != nil && s.batch.index.flags&^flagColumns != 0 {
		return true
	}
	if s.headerValid && s.incompatible&^collectedBit != 0 {
		return true
	}
	if s.major < 2 {
		return false
	}
	if s.batch != nil && (s.batch.index != nil || !s.batch.headerRight || !s.batch.isRight(0)) {
		return false
	}
	if s.major == 2 {
		return true
	}
	if !s.headerValid {
		return false
	}
	if s.blockAt(s.headerEnd, s.whose, false) != nil {
		return false
	}
	behind := s.bytes(s.headerEnd, blockBytes)
	return behind == nil || !isZero(behind)
}

// isBlank says whether nothing was written to the file yet.
func (s *segment) isBlank() bool {
	if s.batch != nil {
		return s.batch.size == 0
	}
	return s.restIsZero(0)
}

// restIsZero says whether nothing but zeros lies from a position on.
func (s *segment) restIsZero(at int64) bool {
	for {
		shown := s.rest(at)
		if shown == nil {
			return true
		}
		if !isZero(shown) {
			return false
		}
		at += int64(len(shown))
	}
}
