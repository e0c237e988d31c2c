package weir

import "io"

const (
	frameMagic     = 0x184d2204
	legacyMagic    = 0x184c2102
	skippableMagic = 0x184d2a57
	indexBytes     = 112 // of an index without blocks
	flagColumns    = 1
	contentMax     = 1 << 31
	linkedBytes    = 64 << 10 // how far back a linked block may reach
)

// A batch is the content of a batch segment: what the LZ4 frame in the file gives. Blocks are unpacked as they are
// read, and two of them are held. What can't be unpacked reads as zeros, in which nothing is valid.
type batch struct {
	file io.ReaderAt
	size int64 // of the file

	length       int64 // of the content
	index        *batchIndex
	headerRight  bool // the frame's header
	headerBytes  int64
	blockMax     int
	linked, sums bool
	endBytes     int64 // of the end mark, and the content's checksum if there is one
	blocks       []packed

	held    [2]unpacked
	turn    int
	history []byte // of linked blocks: the end of the content before the block `next`
	next    int
}

// packed is an LZ4 block in the file.
type packed struct {
	at     int64 // of its bytes
	bytes  int
	stored bool
	exact  bool  // it makes so many bytes, or is damaged
	start  int64 // of its content
	length int
	lost   bool // its content has no end, or its place is not known
}

type unpacked struct {
	block   int // one more than its number
	content []byte
}

// A batchIndex is the index behind the frame.
type batchIndex struct {
	flags         uint32
	blockBytes    uint32
	whose         owner
	baseOffset    uint64
	nextOffset    uint64
	contentLength int64
	frameBytes    int64
	positions     []int64
}

func openBatch(file io.ReaderAt, size int64) *batch {
	b := &batch{file: file, size: size, length: -1}
	b.headerBytes = b.readHeader(b.read(0, 19))
	if !b.headerRight {
		// The frame is taken for one as Weir writes it; what is in the content says whether that is so.
		b.headerBytes, b.linked, b.sums, b.blockMax = 15, false, true, 1<<20
	}
	if b.index = b.findIndex(size); b.index != nil {
		b.useIndex()
	} else if end, exact := b.walk(b.headerBytes); exact && end > 0 {
		b.index = b.indexBehind(end)
	}
	return b
}

// read answers the bytes at a position of the file, fewer at its end.
func (b *batch) read(at int64, count int) []byte {
	if at < 0 || at >= b.size {
		return nil
	}
	if int64(count) > b.size-at {
		count = int(b.size - at)
	}
	bytes := make([]byte, count)
	n, _ := b.file.ReadAt(bytes, at)
	return bytes[:n]
}

// readHeader reads the frame's header and answers where it ends.
func (b *batch) readHeader(header []byte) int64 {
	b.endBytes = 4
	if len(header) < 7 || u32(header, 0) != frameMagic {
		return 0
	}
	flags, size := header[4], header[5]>>4&7
	end := 6
	if flags&8 != 0 {
		end += 8
	}
	if flags&1 != 0 || flags>>6 != 1 || flags&2 != 0 || size < 4 || header[5]&0x8f != 0 || len(header) <= end {
		return 0
	}
	if header[end] != byte(xxh32(header[4:end])>>8) {
		return 0
	}
	if flags&8 != 0 {
		length := u64(header, 6)
		if length > 1<<62 {
			return 0
		}
		b.length = int64(length)
	}
	b.headerRight = true
	b.blockMax = 1 << (8 + 2*size)
	b.linked, b.sums = flags&32 == 0, flags&16 != 0
	if flags&4 != 0 {
		b.endBytes = 8
	}
	return int64(end + 1)
}

// findIndex looks for the index that ends where the file does.
func (b *batch) findIndex(end int64) *batchIndex {
	tail := b.read(end-16, 16)
	if len(tail) < 16 || string(tail[8:]) != "WEIRBTCH" {
		return nil
	}
	length := u64(tail, 0)
	if length < indexBytes || length > uint64(end)-8 {
		return nil
	}
	return b.indexAt(end-int64(length)-8, end)
}

// indexBehind looks for the index that follows the frame. Its blocks are where the frame has them, or it is none.
func (b *batch) indexBehind(end int64) *batchIndex {
	if legacy := b.read(end, 4); len(legacy) < 4 || u32(legacy, 0) != legacyMagic {
		return nil
	}
	found := b.indexAt(end+4, b.size)
	if found == nil || len(found.positions) != len(b.blocks) {
		return nil
	}
	for i, position := range found.positions {
		if position != b.blocks[i].at-4 {
			return nil
		}
	}
	return found
}

func (b *batch) indexAt(at, limit int64) *batchIndex {
	head := b.read(at, 8)
	if len(head) < 8 || u32(head, 0) != skippableMagic {
		return nil
	}
	length := int64(u32(head, 4))
	if length < indexBytes || length > limit-at-8 {
		return nil
	}
	p := b.read(at+8, int(length))
	if int64(len(p)) < length || string(p[:8]) != "WEIRBTCH" || u16(p, 8) > 1 || crc(p[:12], p[16:]) != u32(p, 12) {
		return nil
	}
	if string(p[length-8:]) != "WEIRBTCH" || u64(p, int(length)-16) != uint64(length) || u32(p, 84) != 0 {
		return nil
	}
	count := int64(u32(p, 80))
	found := &batchIndex{
		flags: u32(p, 16), blockBytes: u32(p, 20), nextOffset: u64(p, 48), contentLength: int64(u64(p, 56)),
		frameBytes: int64(u64(p, 64)), baseOffset: u64(p, 40),
		whose: owner{logID: u64(p, 88), salt: u64(p, 24), opening: u64(p, 32), lanes: 256},
	}
	if found.whose.salt == 0 || found.nextOffset > offsetMax || found.nextOffset < found.baseOffset {
		return nil
	}
	if length != indexBytes+24*count || found.frameBytes+4 != at || found.contentLength < 0 {
		return nil
	}
	if found.blockBytes < 64<<10 || found.blockBytes > 4<<20 || found.contentLength > contentMax {
		return nil
	}
	if (found.contentLength+int64(found.blockBytes)-1)/int64(found.blockBytes) != count {
		return nil
	}
	if b.headerRight && (b.linked || int64(found.blockBytes) != int64(b.blockMax) ||
		b.length > 0 && b.length != found.contentLength) {
		return nil
	}
	for i := int64(0); i < count; i++ {
		found.positions = append(found.positions, int64(u64(p, int(96+24*i))))
	}
	for i, position := range found.positions {
		end := found.frameBytes - b.endBytes
		if i+1 < len(found.positions) {
			end = found.positions[i+1]
		}
		least := position + 4 + 1 + b.sumBytes()
		if position < 0 || i == 0 && position != b.headerBytes || end > found.frameBytes || end < least ||
			end-least >= int64(found.blockBytes) {
			return nil
		}
	}
	return found
}

// disownIndex forgets the index if it is that of another segment than the header in the content.
func (b *batch) disownIndex(whose owner, baseOffset uint64) {
	if b.index == nil {
		return
	}
	whose.lanes = b.index.whose.lanes
	if b.index.whose != whose || b.index.baseOffset != baseOffset {
		b.index = nil
	}
}

// useIndex lists the blocks where the index has them, so that a damaged size in front of one costs that block alone.
func (b *batch) useIndex() {
	b.length = b.index.contentLength
	b.blockMax = int(b.index.blockBytes)
	for i, position := range b.index.positions {
		end := b.index.frameBytes - b.endBytes
		if i+1 < len(b.index.positions) {
			end = b.index.positions[i+1]
		}
		block := packed{at: position + 4, start: int64(i) * int64(b.blockMax), length: b.blockMax}
		if rest := b.length - block.start; int64(block.length) > rest {
			block.length = int(rest)
		}
		bytes := end - position - 4 - b.sumBytes()
		if block.lost = bytes <= 0 || bytes > int64(b.blockMax); !block.lost {
			block.bytes, block.exact = int(bytes), true
			if word := b.read(position, 4); len(word) == 4 {
				block.stored = u32(word, 0)>>31 != 0
			}
		}
		b.blocks = append(b.blocks, block)
	}
}

// walk lists the blocks from the sizes in front of them, and answers where the frame ends, 0 if it has no end, and
// whether the sizes said so. If the frame says how much content it has, and all blocks but the last are full, the sizes
// suffice. Otherwise each block is unpacked to know how much content it has; a damaged one counts as a full one.
func (b *batch) walk(at int64) (end int64, exact bool) {
	known := b.length
	if b.headerRight && !b.linked && known > 0 && known <= contentMax {
		if end, whole := b.walkFull(at, known); whole {
			return end, true
		}
	}
	b.blocks, b.length = b.blocks[:0], 0
	for {
		head := b.read(at, 4)
		if len(head) < 4 {
			break
		}
		size := u32(head, 0)
		if size == 0 {
			b.forget()
			return at + b.endBytes, false
		}
		block := b.packedAt(at)
		if block.bytes == 0 || block.bytes > b.blockMax {
			break
		}
		there := b.size - at - 4
		if int64(block.bytes)+b.sumBytes() > there {
			block.bytes = int(there)
		}
		if block.bytes <= 0 {
			break
		}
		block.start = b.length
		b.blocks = append(b.blocks, block)
		last := &b.blocks[len(b.blocks)-1]
		if content, whole := b.unpack(len(b.blocks) - 1); whole {
			last.length = len(content)
		} else if left := known - b.length; left > 0 && left < int64(last.length) {
			last.length = int(left)
		}
		if b.length+int64(last.length) > contentMax {
			b.blocks = b.blocks[:len(b.blocks)-1]
			break
		}
		b.length += int64(last.length)
		at += 4 + int64(block.bytes) + b.sumBytes()
		if at > b.size {
			at = b.size
		}
	}
	b.forget()
	return 0, false
}

// walkFull lists the blocks of a frame whose content is known to be so long, if all of them but the last are full.
func (b *batch) walkFull(at, known int64) (end int64, whole bool) {
	b.blocks, b.length = b.blocks[:0], 0
	for {
		head := b.read(at, 4)
		if len(head) < 4 {
			return 0, true
		}
		if u32(head, 0) == 0 {
			return at + b.endBytes, b.length == known
		}
		if b.length == known {
			return 0, false
		}
		block := b.packedAt(at)
		if block.bytes == 0 || block.bytes > b.blockMax {
			return 0, true
		}
		block.exact, block.start = true, b.length
		if left := known - b.length; left < int64(block.length) {
			block.length = int(left)
		}
		next := block.at + int64(block.bytes) + b.sumBytes()
		cut := next > b.size
		if cut {
			block.bytes = int(b.size - block.at)
		}
		b.blocks = append(b.blocks, block)
		b.length += int64(block.length)
		if cut {
			return 0, true
		}
		at = next
	}
}

func (b *batch) sumBytes() int64 {
	if b.sums {
		return 4
	}
	return 0
}

func (b *batch) forget() { b.held, b.history, b.next = [2]unpacked{}, nil, 0 }

// unpack answers the content of a block, and whether that is all of it: of a damaged one it is what comes before the
// damage.
func (b *batch) unpack(number int) (content []byte, whole bool) {
	block := &b.blocks[number]
	if block.lost {
		return nil, false
	}
	if b.linked {
		return b.unpackLinked(number)
	}
	return b.unpackAfter(nil, block)
}

func (b *batch) unpackAfter(history []byte, block *packed) (content []byte, whole bool) {
	from := b.read(block.at, block.bytes)
	if len(from) < block.bytes {
		return nil, false
	}
	content, whole = b.expand(history, block, from, block.stored)
	if block.exact && (!whole || len(content) != block.length) {
		// The size may be what is damaged, which also says whether the block is stored as it is.
		other, is := b.expand(history, block, from, !block.stored)
		if is && len(other) == block.length {
			return other, true
		}
		whole = false
	}
	return content, whole
}

func (b *batch) expand(history []byte, block *packed, from []byte, stored bool) (content []byte, whole bool) {
	if stored && len(from) > block.length {
		return nil, false
	}
	if stored {
		return from, true
	}
	room := make([]byte, len(history), len(history)+block.length)
	copy(room, history)
	content, err := decodeLZ4(room, from, block.length)
	return content[len(history):], err == nil
}

// unpackLinked unpacks a block that reaches back into the ones before it, from the last one on that was unpacked.
func (b *batch) unpackLinked(number int) (content []byte, whole bool) {
	if number < b.next {
		b.next, b.history = 0, nil
	}
	for {
		block := &b.blocks[b.next]
		content, whole := b.unpackAfter(b.history, block)
		history := append(b.history, content...)
		if !whole && !block.stored {
			// What follows reaches into content that is gone; the checksums in the content find that out.
			history = append(history, make([]byte, block.length-len(content))...)
		}
		if len(history) > linkedBytes {
			history = append([]byte{}, history[len(history)-linkedBytes:]...)
		}
		b.history = history
		b.next++
		if b.next > number {
			return content, whole
		}
	}
}

// block answers the content of a block, zeros if it is damaged.
func (b *batch) block(number int) []byte {
	for _, held := range b.held {
		if held.block == number+1 {
			return held.content
		}
	}
	content, _ := b.unpack(number)
	if len(content) < b.blocks[number].length {
		content = append(make([]byte, 0, b.blocks[number].length), content...)[:b.blocks[number].length]
	}
	b.held[b.turn] = unpacked{number + 1, content}
	b.turn ^= 1
	return content
}

// ReadAt reads from the content.
func (b *batch) ReadAt(into []byte, at int64) (int, error) {
	done := 0
	for number := b.blockWith(at); done < len(into) && at < b.length; number++ {
		rest := into[done:]
		if number >= len(b.blocks) {
			break
		}
		block := &b.blocks[number]
		if at >= block.start+int64(block.length) {
			continue
		}
		n := copy(rest, b.block(number)[at-block.start:])
		done, at = done+n, at+int64(n)
	}
	if done < len(into) {
		return done, io.EOF
	}
	return done, nil
}

// blockWith answers the number of the block that has the content at a position.
func (b *batch) blockWith(at int64) int {
	low, high := 0, len(b.blocks)
	for low < high {
		if middle := (low + high) / 2; b.blocks[middle].start+int64(b.blocks[middle].length) <= at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// packedAt reads the size in front of a block.
func (b *batch) packedAt(at int64) packed {
	head := b.read(at, 4)
	if len(head) < 4 {
		return packed{at: b.size}
	}
	size := u32(head, 0)
	return packed{at: at + 4, bytes: int(size &^ (1 << 31)), stored: size>>31 != 0, length: b.blockMax}
}

// isRight says whether the checksum of a block is right. Readers do not need it: the checksums in the content say what
// of it is right, also of a block that is damaged elsewhere.
func (b *batch) isRight(number int) bool {
	if number >= len(b.blocks) || b.blocks[number].bytes > 4<<20 {
		return false
	}
	block := &b.blocks[number]
	if !b.sums {
		_, whole := b.unpack(number)
		return whole
	}
	from := b.read(block.at, block.bytes+4)
	return len(from) == block.bytes+4 && xxh32(from[:block.bytes]) == u32(from, block.bytes)
}
