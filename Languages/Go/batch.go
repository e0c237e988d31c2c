package weir

import "io"

const (
	frameMagic     = 0x184d2204
	legacyMagic    = 0x184c2102
	skippableMagic = 0x184d2a57
	indexBytes     = 112 // of an index without blocks
	flagColumns    = 1
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
	blockMax     int
	linked, sums bool
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
	nextOffset    uint64
	contentLength int64
	frameBytes    int64
	positions     []int64
}

func openBatch(file io.ReaderAt, size int64) *batch {
	b := &batch{file: file, size: size}
	header := b.read(0, 19)
	end := b.readHeader(header)
	b.index = b.findIndex(size)
	if b.index == nil && b.headerRight {
		if last := b.walk(int64(end)); last > 0 {
			if b.index = b.indexBehind(last); b.index != nil {
				b.blocks = b.blocks[:0]
			}
		}
	}
	if b.index != nil {
		b.useIndex()
		return b
	}
	if !b.headerRight {
		// The frame is taken for one as Weir writes it; what is in the content says whether that is so.
		b.linked, b.sums, b.blockMax = false, true, 4<<20
		b.walk(15)
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
func (b *batch) readHeader(header []byte) int {
	b.length = -1
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
	return end + 1
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

// indexBehind looks for the index that follows the frame.
func (b *batch) indexBehind(end int64) *batchIndex {
	return b.indexAt(end+4, b.size)
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
		frameBytes: int64(u64(p, 64)),
	}
	if length != indexBytes+24*count || found.frameBytes+4 != at || found.contentLength < 0 {
		return nil
	}
	if found.blockBytes == 0 || found.blockBytes > 4<<20 {
		return nil
	}
	if (found.contentLength+int64(found.blockBytes)-1)/int64(found.blockBytes) != count {
		return nil
	}
	if b.headerRight && b.length >= 0 && b.length != found.contentLength {
		return nil
	}
	before := int64(0)
	for i := int64(0); i < count; i++ {
		position := int64(u64(p, int(96+24*i)))
		if position <= before || position > found.frameBytes-8 {
			return nil
		}
		found.positions = append(found.positions, position)
		before = position
	}
	return found
}

// useIndex lists the blocks where the index has them, so that a damaged size in front of one costs that block alone.
func (b *batch) useIndex() {
	b.length = b.index.contentLength
	if !b.headerRight {
		b.linked, b.sums = false, true
	}
	b.blockMax = int(b.index.blockBytes)
	sum := int64(0)
	if b.sums {
		sum = 4
	}
	for i, position := range b.index.positions {
		end := b.index.frameBytes - 4
		if i+1 < len(b.index.positions) {
			end = b.index.positions[i+1]
		}
		block := packed{at: position + 4, start: int64(i) * int64(b.blockMax), length: b.blockMax}
		if rest := b.length - block.start; int64(block.length) > rest {
			block.length = int(rest)
		}
		bytes := end - position - 4 - sum
		if block.lost = bytes < 0 || bytes > int64(b.blockMax)+1024; !block.lost {
			block.bytes, block.stored = int(bytes), bytes == int64(block.length)
		}
		b.blocks = append(b.blocks, block)
	}
}

// walk lists the blocks from the sizes in front of them, and answers where the frame ends; 0 if it has no end. To know
// how much content each block has it unpacks them all, one after the other.
func (b *batch) walk(at int64) int64 {
	known := b.length
	start := int64(0)
	for {
		head := b.read(at, 4)
		if len(head) < 4 {
			break
		}
		size := u32(head, 0)
		if size == 0 {
			b.finish(known, start)
			return at + 4
		}
		block := b.packedAt(at)
		block.start = start
		if known >= 0 && int64(block.length) > known-start {
			block.length = int(known - start)
		}
		if block.bytes > b.blockMax || block.length < 0 {
			break
		}
		b.blocks = append(b.blocks, block)
		content, whole := b.unpack(len(b.blocks) - 1)
		last := &b.blocks[len(b.blocks)-1]
		if whole || known < 0 || block.stored {
			last.length = len(content)
		}
		start += int64(last.length)
		at += 4 + int64(block.bytes)
		if b.sums {
			at += 4
		}
	}
	b.finish(known, start)
	return 0
}

// finish sets the length of the content: what the frame says, but no more than its blocks have, so that a forged length
// costs nothing.
func (b *batch) finish(known, found int64) {
	b.length = found
	if known >= 0 && known < found {
		b.length = known
	}
	b.held, b.history, b.next = [2]unpacked{}, nil, 0
}

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
	if block.stored {
		return from[:min(len(from), block.length)], len(from) == block.bytes
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
