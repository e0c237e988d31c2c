package weir

import (
	"io"
	"math"
	"sort"
)

const (
	frameMagic     = 0x184d2204
	legacyMagic    = 0x184c2102
	skippableMagic = 0x184d2a57
	skippableBytes = 12  // of an empty legacy frame, and what comes before the index
	indexBytes     = 112 // of an index without blocks
	flagColumns    = 1
	storedBit      = 1 << 31 // in a block's size: it is stored as it is
	contentMax     = 1 << 31
	linkedBytes    = 64 << 10 // how far back a linked block may reach
	spanMost       = 4 << 20  // of content in a span of several blocks
	indexMost      = indexBytes + 24*(contentMax/(64<<10))
)

// A batch is the content of a batch segment: what the LZ4 frame in the file gives. Spans are unpacked as they are read,
// and two of them are held. What can't be unpacked reads as zeros, in which nothing is valid.
type batch struct {
	file window

	length       int64 // of the content
	index        *batchIndex
	isNewer      bool // an index has a flag that only a newer version knows
	headerRight  bool // the frame's header
	headerBytes  int64
	known        int64 // the content's length as the frame's header has it; 0 if that says nothing
	blockMax     int
	linked, sums bool
	endBytes     int64 // of the end mark, and the content's checksum if there is one
	spans        []span
	exact        bool // each span is one LZ4 block, which makes so many bytes, or is damaged

	held    [2]unpacked
	turn    int
	history []byte // of linked blocks: the end of the content before the span `next`
	next    int
}

// A span is a stretch of the content, and the LZ4 blocks in the file that make the stretch. They are several, small
// ones, where only their content says how much each makes: so the list of spans is short, however small the blocks are.
type span struct {
	at, end int64 // in the file, from the size in front of the first block on
	start   int64 // of the content
	length  int
}

type unpacked struct {
	span    int // one more than its number
	content []byte
}

// A batchIndex is the index behind the frame.
type batchIndex struct {
	blockBytes    uint32
	whose         owner
	baseOffset    uint64
	nextOffset    uint64
	contentLength int64
	frameBytes    int64
	positions     []int64
}

func openBatch(file io.ReaderAt, size int64) *batch {
	b := &batch{file: window{from: file, size: size}}
	b.headerBytes = b.readHeader(b.read(0, 19))
	if !b.headerRight {
		// The frame is taken for one as Weir writes it; what is in the content says whether that is so.
		b.headerBytes, b.linked, b.sums, b.blockMax = 15, false, true, 1<<20
	}
	if b.index = b.findIndex(); b.index != nil {
		b.useIndex()
		b.reconsider()
		return b
	}
	end, whole := b.walk()
	if !whole {
		end = b.walkThrough()
	}
	if end > 0 {
		b.index = b.indexBehind(end)
	}
	return b
}

// read answers the bytes at a position of the file, fewer at its end.
func (b *batch) read(at int64, count int) []byte {
	if at < 0 || at >= b.file.size {
		return nil
	}
	if int64(count) > b.file.size-at {
		count = int(b.file.size - at)
	}
	bytes := make([]byte, count)
	n, err := b.file.from.ReadAt(bytes, at)
	if isFault(err) {
		b.file.fail(err)
	}
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
		if b.known = int64(u64(header, 6)); b.known < 0 {
			b.known = math.MaxInt64
		}
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
func (b *batch) findIndex() *batchIndex {
	end := b.file.size
	tail := b.read(end-16, 16)
	if len(tail) < 16 || string(tail[8:]) != "WEIRBTCH" || u64(tail, 0) > uint64(end) {
		return nil
	}
	length := int64(u64(tail, 0))
	return b.indexAt(end-length, length)
}

// indexBehind looks for the index that follows the frame. Its blocks are where the frame has them, or it is none.
func (b *batch) indexBehind(end int64) *batchIndex {
	head := b.read(end, skippableBytes)
	if len(head) < skippableBytes || u32(head, 0) != legacyMagic || u32(head, 4) != skippableMagic {
		return nil
	}
	found := b.indexAt(end+skippableBytes, int64(u32(head, 8)))
	if found == nil || !b.exact || len(found.positions) != len(b.spans) {
		return nil
	}
	for i, position := range found.positions {
		if position != b.spans[i].at {
			return nil
		}
	}
	return found
}

// indexAt reads the index at a position, behind the magics and the size; nil if it is none of this file.
func (b *batch) indexAt(at, length int64) *batchIndex {
	if at < skippableBytes || length < indexBytes+24 || length > indexMost {
		return nil
	}
	p := b.read(at, int(length))
	if int64(len(p)) < length || string(p[:8]) != "WEIRBTCH" || u16(p, 8) != 1 || crc(p[:12], p[16:]) != u32(p, 12) {
		return nil
	}
	if string(p[length-8:]) != "WEIRBTCH" || u64(p, int(length)-16) != uint64(length) ||
		length != indexBytes+24*int64(u32(p, 80)) {
		return nil
	}
	if u32(p, 16)&^flagColumns != 0 {
		b.isNewer = true
		return nil
	}
	count := int64(u32(p, 80))
	found := &batchIndex{
		blockBytes: u32(p, 20), nextOffset: u64(p, 48), contentLength: int64(u64(p, 56)),
		frameBytes: int64(u64(p, 64)), baseOffset: u64(p, 40),
		whose: owner{logID: u64(p, 88), salt: u64(p, 24), opening: u64(p, 32), lanes: 256},
	}
	if found.whose.salt == 0 || found.nextOffset > offsetMax || found.nextOffset < found.baseOffset {
		return nil
	}
	if found.frameBytes != at-skippableBytes || found.frameBytes < 8 || found.contentLength < 0 {
		return nil
	}
	if found.blockBytes < 64<<10 || found.blockBytes > 4<<20 || found.contentLength > contentMax {
		return nil
	}
	if (found.contentLength+int64(found.blockBytes)-1)/int64(found.blockBytes) != count {
		return nil
	}
	if b.headerRight && (b.linked || int64(found.blockBytes) != int64(b.blockMax) ||
		b.known > 0 && b.known != found.contentLength) {
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
	b.begin(true)
	b.blockMax = int(b.index.blockBytes)
	for i, position := range b.index.positions {
		end := b.index.frameBytes - b.endBytes
		if i+1 < len(b.index.positions) {
			end = b.index.positions[i+1]
		}
		b.add(position, end, b.least(b.index.contentLength-b.length))
	}
}

// reconsider holds the index against the frame, if a block is damaged where the index has it: an index whose blocks are
// not where the frame has them is none.
func (b *batch) reconsider() {
	if !b.headerRight {
		return
	}
	frame := *b
	frame.file, frame.index = window{from: b.file.from, size: b.file.size}, nil
	end, whole := frame.walk()
	if whole && (end == 0 || areSame(frame.spans, b.spans)) || !b.isDamaged() {
		return
	}
	if !whole {
		end = frame.walkThrough()
	}
	frame.file.fail(b.file.err)
	b.file.fail(frame.file.err)
	if end > 0 && len(frame.spans) > 0 {
		*b = frame
	}
}

func areSame(one, other []span) bool {
	if len(one) != len(other) {
		return false
	}
	for i := range one {
		if one[i] != other[i] {
			return false
		}
	}
	return true
}

// isDamaged says whether a block does not make what it should.
func (b *batch) isDamaged() bool {
	var content []byte
	for i := range b.spans {
		var whole bool
		if content, whole = b.unpackExact(content, &b.spans[i]); !whole {
			return true
		}
	}
	return false
}

func (b *batch) begin(exact bool) {
	b.spans, b.length, b.exact = nil, 0, exact
	b.held, b.history, b.next = [2]unpacked{}, nil, 0
}

func (b *batch) add(at, end int64, length int) {
	b.spans = append(b.spans, span{at, end, b.length, length})
	b.length += int64(length)
}

// least is how much content a block can have where so much is left.
func (b *batch) least(left int64) int {
	if left < int64(b.blockMax) {
		return int(left)
	}
	return b.blockMax
}

// walk lists the blocks from the sizes in front of them, if the frame says how much content it has and all blocks but
// the last are full. It answers where the frame ends, 0 if it has no end. Not whole: each block has to be unpacked to
// know how much content it has.
func (b *batch) walk() (end int64, whole bool) {
	b.begin(true)
	if !b.headerRight || b.linked || b.known <= 0 || b.known > contentMax {
		return 0, false
	}
	for at := b.headerBytes; ; {
		head := b.read(at, 4)
		if len(head) < 4 {
			return 0, true
		}
		word := u32(head, 0)
		if word == 0 {
			return at + b.endBytes, b.length == b.known
		}
		if b.length == b.known {
			return 0, false
		}
		bytes := int64(word &^ storedBit)
		if bytes == 0 || bytes > int64(b.blockMax) {
			return 0, true
		}
		next := at + 4 + bytes + b.sumBytes()
		cut := next > b.file.size
		if cut {
			next = b.file.size + b.sumBytes()
		}
		b.add(at, next, b.least(b.known-b.length))
		if cut {
			return 0, true
		}
		at = next
	}
}

// walkThrough unpacks one block after the other to know how much content each has. A damaged one counts as a full one.
// It answers where the frame ends, 0 if it has no end.
func (b *batch) walkThrough() (end int64) {
	b.begin(false)
	var content []byte
	for at := b.headerBytes; ; {
		if head := b.file.bytes(at, 4); head != nil && u32(head, 0) == 0 {
			return at + b.endBytes
		}
		if !b.linked {
			content = content[:0]
		} else if len(content) > spanMost {
			content = append(content[:0], content[len(content)-linkedBytes:]...)
		}
		before := len(content)
		var next int64
		content, next, _ = b.unpackNext(content, at, b.known-b.length)
		length := len(content) - before
		if next == 0 || b.length+int64(length) > contentMax {
			return 0
		}
		if last := len(b.spans) - 1; last >= 0 && b.spans[last].length+length <= spanMost {
			b.spans[last].end = next
			b.spans[last].length += length
			b.length += int64(length)
		} else {
			b.add(at, next, length)
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

// unpack unpacks a span, and says whether all of it is whole: of a damaged block the content is what comes before the
// damage, and zeros. The memory of `into` is used.
func (b *batch) unpack(into []byte, number int) (content []byte, whole bool) {
	switch {
	case b.exact:
		return b.unpackExact(into, &b.spans[number])
	case b.linked:
		return b.unpackLinked(into, number)
	}
	return b.unpackThrough(into[:0], &b.spans[number])
}

// unpackExact unpacks a span that is one block.
func (b *batch) unpackExact(into []byte, s *span) (content []byte, whole bool) {
	content = into[:0]
	bytes := s.end - s.at - 4 - b.sumBytes()
	if bytes > 0 && bytes <= int64(b.blockMax) {
		if from := b.file.bytes(s.at, 4+int(bytes)); from != nil {
			stored := u32(from, 0)&storedBit != 0
			content, whole = expand(into, from[4:], stored, s.length)
			if !whole || len(content) != s.length {
				// The size may be what is damaged, which also says whether the block is stored as it is.
				other, is := expand(nil, from[4:], !stored, s.length)
				if is && len(other) == s.length {
					return other, true
				}
				whole = false
			}
		}
	}
	return zeros(content, s.length), whole
}

// zeros appends zeros up to a length.
func zeros(content []byte, length int) []byte {
	return append(content, make([]byte, length-len(content))...)
}

// expand copies or decompresses a block to the memory of `into`; of a damaged one what comes before the damage.
func expand(into, from []byte, stored bool, most int) (content []byte, whole bool) {
	if stored && len(from) > most {
		return into[:0], false
	}
	if stored {
		return append(into[:0], from...), true
	}
	if cap(into) < most {
		into = make([]byte, 0, most)
	}
	content, err := decodeLZ4(into[:0], from, most)
	return content, err == nil
}

// unpackThrough appends the content of a span of several blocks.
func (b *batch) unpackThrough(content []byte, s *span) (all []byte, whole bool) {
	before := len(content)
	whole = true
	for at := s.at; at < s.end; {
		var right bool
		content, at, right = b.unpackNext(content, at, b.known-s.start-int64(len(content)-before))
		whole = whole && right
		if at == 0 || len(content)-before > s.length {
			// The file is not what it was.
			content, whole = content[:before], false
			break
		}
	}
	return zeros(content, before+s.length), whole
}

// unpackNext appends the content of the block at a position, and answers where the next one is, 0 if there is no block.
// A linked block reaches back into the content. A damaged block has as much content as is left of the frame's, or as a
// block has at most; what it makes up to its damage comes first, then zeros.
func (b *batch) unpackNext(content []byte, at, left int64) (all []byte, next int64, whole bool) {
	head := b.file.bytes(at, 4)
	if head == nil {
		return content, 0, false
	}
	word, there := u32(head, 0), b.file.size-at-4
	bytes := int64(word &^ storedBit)
	if bytes == 0 || bytes > int64(b.blockMax) {
		return content, 0, false
	}
	if bytes+b.sumBytes() > there {
		bytes = there
	}
	if bytes <= 0 {
		return content, 0, false
	}
	if next = at + 4 + bytes + b.sumBytes(); next > b.file.size {
		next = b.file.size
	}
	from := b.file.bytes(at+4, int(bytes))
	if word&storedBit != 0 {
		return append(content, from...), next, true
	}
	// What is decoded is appended, as long as there is room behind what is there.
	if cap(content)-len(content) < b.blockMax {
		content = append(make([]byte, 0, 2*len(content)+b.blockMax), content...)
	}
	before, history := content, content
	if !b.linked {
		history = content[len(content):]
	}
	made, err := decodeLZ4(history, from, b.blockMax)
	if err == nil {
		return before[:len(before)+len(made)-len(history)], next, true
	}
	length := b.blockMax
	if left > 0 {
		length = b.least(left)
	}
	made, _ = decodeLZ4(history, from, length)
	return zeros(before[:len(before)+len(made)-len(history)], len(before)+length), next, false
}

// unpackLinked unpacks a span whose blocks reach back into the ones before, from the last one on that was unpacked.
func (b *batch) unpackLinked(into []byte, number int) (content []byte, whole bool) {
	if number < b.next {
		b.next, b.history = 0, nil
	}
	for {
		// What follows a damaged block reaches into content that is gone; the checksums in the content find that out.
		content, whole = b.unpackThrough(append(into[:0], b.history...), &b.spans[b.next])
		before := len(b.history)
		tail := content
		if len(tail) > linkedBytes {
			tail = tail[len(tail)-linkedBytes:]
		}
		b.history = append([]byte{}, tail...)
		if b.next++; b.next > number {
			return content[before:], whole
		}
		into = content
	}
}

// span answers the content of a span, zeros where it is damaged.
func (b *batch) span(number int) []byte {
	for _, held := range b.held {
		if held.span == number+1 {
			return held.content
		}
	}
	content, _ := b.unpack(b.held[b.turn].content, number)
	b.held[b.turn] = unpacked{number + 1, content}
	b.turn ^= 1
	return content
}

// ReadAt reads from the content. An error is the file system's.
func (b *batch) ReadAt(into []byte, at int64) (int, error) {
	done := 0
	for number := b.spanWith(at); done < len(into) && at < b.length && number < len(b.spans); number++ {
		s := &b.spans[number]
		if at >= s.start+int64(s.length) {
			continue
		}
		n := copy(into[done:], b.span(number)[at-s.start:])
		done, at = done+n, at+int64(n)
	}
	if b.file.err != nil {
		return done, b.file.err
	}
	if done < len(into) {
		return done, io.EOF
	}
	return done, nil
}

// spanWith answers the number of the span that has the content at a position.
func (b *batch) spanWith(at int64) int {
	return sort.Search(len(b.spans), func(i int) bool { return b.spans[i].start+int64(b.spans[i].length) > at })
}

// vouches says whether the frame's header is right, and its first block. Readers do not need that: the checksums in the
// content say what of it is right, also of a block that is damaged elsewhere.
func (b *batch) vouches() bool {
	head := b.read(b.headerBytes, 4)
	if !b.headerRight || len(head) < 4 {
		return false
	}
	word := u32(head, 0)
	bytes := int(word &^ storedBit)
	if bytes == 0 || bytes > b.blockMax {
		return false
	}
	from := b.file.bytes(b.headerBytes+4, bytes+int(b.sumBytes()))
	if from == nil || b.sums && xxh32(from[:bytes]) != u32(from, bytes) {
		return false
	}
	_, whole := expand(nil, from[:bytes], word&storedBit != 0, b.blockMax)
	return whole
}
