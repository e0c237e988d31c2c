package weir

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const segmentHeaderBytes = 512

// baseDigits is how many digits a segment's name begins with.
const baseDigits = 20

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
	if !dot || len(digits) != baseDigits || suffix != "weir" && !parsed.batch && parsed.sealed {
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
	start        int64  // where the blocks begin
	drained      []byte // 16 bytes for each lane

	next      int64  // position of the next block
	following uint64 // the offset after all blocks so far
}

// openSegment opens a segment. A file without a valid header or block has valid false.
func openSegment(directory string, name segmentName) (*segment, error) {
	file, info, err := openPlain(filepath.Join(directory, name.name))
	if err != nil {
		return nil, err
	}
	s := &segment{segmentName: name, file: file, size: info.Size()}
	s.window = window{from: file, size: s.size}
	if name.batch {
		s.batch = openBatch(file, s.size)
		if err := s.batch.file.err; err != nil {
			file.Close()
			return nil, err
		}
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
		s.start = s.next
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
	s.collected = s.incompatible&collectedBit != 0
	if s.collected {
		s.host = string(bytes.TrimRight(b[184:248], "\x00"))
	}
	s.drained = append([]byte{}, b[segmentHeaderBytes:]...)
	s.start = int64(len(b))
	s.next, s.following = s.start, s.baseOffset
	if s.batch != nil {
		s.batch.disownIndex(s.whose, s.baseOffset)
	}
}

// findOwner finds whose the blocks are where the header does not say: the seal's, or those of the first valid block, or
// of a batch without either those of its index.
func (s *segment) findOwner() {
	s.whose = owner{lanes: 256}
	s.baseOffset, s.next = s.base, s.size
	if s.sealed && s.batch == nil {
		if b := s.sealFromEnd(s.whose, true); b != nil {
			s.whose = owner{b.logID, b.salt, b.opening, 256}
		}
	}
	first := s.findBlock(segmentHeaderBytes, s.whose.salt == 0)
	// The name of a file that is being written is right: blocks of lower offsets are old bytes of the disk.
	for first != nil && !s.sealed && first.baseOffset < s.base {
		first = s.findBlock(first.position+8, s.whose.salt == 0)
	}
	if first != nil {
		s.valid, s.baseOffset, s.next = true, first.baseOffset, first.position
		s.whose = owner{first.logID, first.salt, first.opening, 256}
	} else if s.batch != nil && s.batch.index != nil && s.batch.index.baseOffset == s.base {
		s.valid, s.whose = true, s.batch.index.whose
		if s.next > segmentHeaderBytes {
			s.next = segmentHeaderBytes
		}
	} else {
		s.whose = owner{lanes: 256}
	}
	s.following = s.baseOffset
}

// sealFromEnd answers the seal that the last eight bytes of the file name.
func (s *segment) sealFromEnd(whose owner, anybody bool) *block {
	end := s.bytes(s.size-8, 8)
	if end == nil || s.size%8 != 0 {
		return nil
	}
	at := u64(end, 0)
	if at%8 != 0 || at > uint64(s.size) || s.valid && at < uint64(s.start) {
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

// findMagic answers the first position, from `at` on, at which a block's magic lies; -1 if there is none.
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

// findBlock answers the first valid block from a position on, a multiple of 8; nil if there is none. With `anybody` a
// block of any segment counts.
func (s *segment) findBlock(at int64, anybody bool) *block {
	for ; ; at += 8 {
		if at = s.findMagic(at); at < 0 {
			return nil
		}
		if b := s.blockAt(at, s.whose, anybody); b != nil && b.salt != 0 {
			return b
		}
	}
}

// damage is bytes that are no valid block, and the offsets that are missing for them.
type damage struct {
	position, end int64
	first, count  uint64
	isTail        bool // no valid block follows
	isBroken      bool // of a tail: a kill does not leave such bytes
}

// refresh has the next look at a segment that is not sealed see the file as it is then: its writer fills it in place.
func (s *segment) refresh() {
	info, err := s.file.Stat()
	if err != nil {
		s.window.fail(err)
		return
	}
	s.size = info.Size()
	s.window.size, s.window.held = s.size, s.window.held[:0]
}

// again is the segment from its first block on, in the same open file.
func (s *segment) again() *segment {
	again := *s
	again.window = window{from: s.window.from, size: s.size}
	again.next, again.following = s.start, s.baseOffset
	return &again
}

// step goes to the next valid block, or to the damage before it, which at the end is the tail. Blocks of events below
// the offset `passed` are passed over by their headers. Without `resync` all that is no valid block is the tail: what
// lies behind it is not looked at, because a writer may be at work, and write the block before the blocks behind it.
func (s *segment) step(passed uint64, resync bool) (*block, damage) {
	for s.following < passed {
		head := s.headerAt(s.next)
		if head == nil || head.count == 0 || head.nextOffset() > passed {
			break
		}
		s.next, s.following = head.end(), max64(s.following, head.nextOffset())
	}
	if b := s.nextBlock(); b != nil {
		return b, damage{}
	}
	found := damage{position: s.next, end: s.size, first: s.following, isTail: true}
	if !s.sealed {
		// Valid blocks never change. A block that was not valid may have been written since.
		s.refresh()
		if b := s.nextBlock(); b != nil {
			return b, damage{}
		}
		found.end = s.size
	}
	if !resync {
		return nil, found
	}
	b := s.findBlock(s.next, false)
	if b != nil && !s.sealed {
		// A recovery may have written the block meanwhile; the block behind it came later.
		at, base := b.position, b.baseOffset
		s.refresh()
		if now := s.nextBlock(); now != nil {
			return now, damage{}
		}
		b = &block{position: at, baseOffset: base}
	}
	if b == nil {
		return nil, s.tail(found)
	}
	found.isTail = false
	found.end = b.position
	if b.baseOffset > s.following {
		found.count = b.baseOffset - s.following
		s.following = b.baseOffset
	}
	s.next = b.position
	return nil, found
}

// nextBlock answers the block that comes next, and goes behind it; nil if there is no valid one.
func (s *segment) nextBlock() *block {
	b := s.blockAt(s.next, s.whose, false)
	if b != nil {
		s.next, s.following = b.end(), max64(s.following, b.nextOffset())
	}
	return b
}

// tail says what is missing behind the last block.
func (s *segment) tail(found damage) damage {
	if broken := s.brokenAt(s.next); broken != nil {
		found.isBroken = true
		if end := broken.nextOffset(); end > s.following {
			found.count = end - s.following
		}
	}
	if s.batch != nil && s.batch.index != nil && s.next < s.size {
		next := s.batch.index.nextOffset
		if next > s.following && next-s.following <= uint64(s.size-s.next)/recordBytes {
			found.count = next - s.following
		}
	}
	return found
}

// headerAt answers the header of a block of the segment, valid whatever its payload is; nil if there is none.
func (s *segment) headerAt(at int64) *block {
	head := s.bytes(at, blockBytes)
	if head == nil {
		return nil
	}
	return headerIn(head, at, s.size, s.whose, false)
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
	if s.batch != nil && s.batch.isNewer {
		return true
	}
	if !s.headerValid {
		return false
	}
	if s.incompatible&^collectedBit != 0 {
		return true
	}
	if s.major < 2 {
		return false
	}
	if s.batch != nil && (s.batch.index != nil || !s.batch.vouches()) {
		return false
	}
	if s.major == 2 {
		return true
	}
	if s.blockAt(s.start, s.whose, false) != nil {
		return false
	}
	behind := s.bytes(s.start, blockBytes)
	return behind != nil && !isZero(behind)
}

// isBlank says whether nothing was written to the file yet.
func (s *segment) isBlank() bool {
	if s.batch != nil {
		return s.batch.file.size == 0
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
