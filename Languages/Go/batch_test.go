package weir_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"weir"
)

const (
	batchName = "00000000000000000000.weir.lz4"
	allEvents = 93 // of v1-batched
	inBatch   = 27 // of these, those in the batch segment
)

// putBatch puts a batch segment in the place of that of a copy of v1-batched.
func putBatch(t testing.TB, content []byte) string {
	t.Helper()
	directory := copyLog(t, "v1-batched")
	change(t, directory, batchName, func([]byte) []byte { return content })
	return directory
}

func goldenBatch(t testing.TB) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(golden, "v1-batched", "log", batchName))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// withIndexSum makes the checksum of the index at the file's end right.
func withIndexSum(b []byte) []byte {
	length := int(binary.LittleEndian.Uint64(b[len(b)-16:]))
	index := b[len(b)-length:]
	binary.LittleEndian.PutUint32(index[12:], sum(index[:12], index[16:]))
	return b
}

// TestIndexesThatCount damages the size in front of a block, so that the block's events are there if the index counts.
func TestIndexesThatCount(t *testing.T) {
	for name, each := range map[string]struct {
		events int
		how    func(b, index []byte)
	}{
		"as it is":                 {allEvents, func(b, index []byte) {}},
		"another skippable magic":  {allEvents, func(b, index []byte) { b[len(b)-len(index)-8] ^= 1 }},
		"another skippable size":   {allEvents, func(b, index []byte) { b[len(b)-len(index)-4] ^= 1 }},
		"another legacy magic":     {allEvents, func(b, index []byte) { b[len(b)-len(index)-12] ^= 1 }},
		"reserved bytes":           {allEvents, func(b, index []byte) { index[84] = 1 }},
		"a higher minor":           {allEvents, func(b, index []byte) { index[10] = 9 }},
		"major 0":                  {allEvents - inBatch, func(b, index []byte) { index[8] = 0 }},
		"major 2":                  {allEvents - inBatch, func(b, index []byte) { index[8] = 2 }},
		"no blocks":                {allEvents - inBatch, func(b, index []byte) { index[80] = 0 }},
		"a next_offset below base": {allEvents - inBatch, func(b, index []byte) { index[40], index[48] = 2, 1 }},
	} {
		b := goldenBatch(t)
		length := int(binary.LittleEndian.Uint64(b[len(b)-16:]))
		each.how(b, b[len(b)-length:])
		b[17] ^= 0x80 // in the size in front of the block, which is then larger than any
		if all := read(t, putBatch(t, withIndexSum(b))); len(all.offsets) != each.events || all.err != nil {
			t.Errorf("%s: %d events, want %d, %v", name, len(all.offsets), each.events, all.err)
		}
	}
}

// TestIndexOfANewerVersion refuses an unknown flag, be the index found from the file's end or behind whatever frame.
func TestIndexOfANewerVersion(t *testing.T) {
	b := goldenBatch(t)
	length := int(binary.LittleEndian.Uint64(b[len(b)-16:]))
	b[len(b)-length+16] |= 4
	withIndexSum(b)
	if all := read(t, putBatch(t, b)); !errors.Is(all.err, weir.ErrVersion) {
		t.Errorf("%d events, %v", len(all.offsets), all.err)
	}
	index := append([]byte{}, b[len(b)-length:]...)
	frame := frameOf(make([]byte, 10000), 0, 997)
	binary.LittleEndian.PutUint64(index[64:], uint64(len(frame)))
	frame = append(frame, b[len(b)-length-12:len(b)-length]...)
	frame = append(withIndexSum(append(frame, index...)), 0)
	if all := read(t, putBatch(t, frame)); !errors.Is(all.err, weir.ErrVersion) {
		t.Errorf("behind a frame of small blocks: %d events, %v", len(all.offsets), all.err)
	}
}

// TestIndexOfOtherBlocks reads a frame whose index has the blocks elsewhere than they are: that is none.
func TestIndexOfOtherBlocks(t *testing.T) {
	const block, events = 64 << 10, 1000
	directory := t.TempDir()
	w := beginSegment(t, directory, testLog, testOpening, 1, 0)
	w.append(events)
	w.seal()
	path := filepath.Join(directory, "00000000000000000000.weir")
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	frame := frameOf(content, 1|2|4, block)
	index := make([]byte, 112+24*3)
	copy(index, "WEIRBTCH\x01")
	binary.LittleEndian.PutUint32(index[20:], block)
	copy(index[24:], content[24:48]) // salt, opening and base_offset
	binary.LittleEndian.PutUint64(index[48:], events)
	binary.LittleEndian.PutUint64(index[56:], uint64(len(content)))
	binary.LittleEndian.PutUint64(index[64:], uint64(len(frame)))
	binary.LittleEndian.PutUint32(index[80:], 3)
	copy(index[88:], content[144:152])
	binary.LittleEndian.PutUint64(index[168:], uint64(len(index)))
	copy(index[176:], "WEIRBTCH")
	for _, moved := range []int{0, 8} {
		for i, position := range []int{15, 15 + block + 8, 15 + 2*(block+8) - moved} {
			binary.LittleEndian.PutUint64(index[96+24*i:], uint64(position))
		}
		whole := append(append([]byte{}, frame...), "\x02\x21\x4c\x18\x57\x2a\x4d\x18"...)
		whole = binary.LittleEndian.AppendUint32(whole, uint32(len(index)))
		whole = withIndexSum(append(whole, index...))
		if err := os.WriteFile(path+".lz4", whole, 0o600); err != nil {
			t.Fatal(err)
		}
		all := read(t, directory)
		all.check(t, 0, events)
	}
}

// TestFrameOfTinyBlocks takes no more memory for a frame of a million blocks than for one of a few: what is counted is
// all that was ever allocated.
func TestFrameOfTinyBlocks(t *testing.T) {
	name := "00000000000000000000.weir"
	content, err := os.ReadFile(filepath.Join(golden, "v1-closed", "log", name))
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, make([]byte, 1<<20-len(content))...)
	for flags := byte(0); flags < 8; flags++ {
		directory := copyLog(t, "v1-closed")
		if err := os.Rename(filepath.Join(directory, name), filepath.Join(directory, name+".lz4")); err != nil {
			t.Fatal(err)
		}
		frame := frameOf(content, flags, 1)
		change(t, directory, name+".lz4", func([]byte) []byte { return frame })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all := read(t, directory)
		runtime.ReadMemStats(&after)
		if len(all.offsets) != 59 || all.err != nil {
			t.Errorf("flags %x: %d events, %+v, %v", flags, len(all.offsets), all.skips, all.err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<20 {
			t.Errorf("flags %x: %d MiB were allocated", flags, taken>>20)
		}
	}
}

// A failingFile fails to read from a position on.
type failingFile struct {
	from  *bytes.Reader
	fails int64
	with  error
}

func (f failingFile) ReadAt(into []byte, at int64) (int, error) {
	if at+int64(len(into)) > f.fails {
		return 0, f.with
	}
	return f.from.ReadAt(into, at)
}

// TestBatchThatCannotBeRead has each read of a batch segment fail: a page that can't be read is damage, any other error
// is answered.
func TestBatchThatCannotBeRead(t *testing.T) {
	zeros := make([]byte, 3<<20)
	for _, content := range [][]byte{goldenBatch(t), frameOf(zeros, 7, 997), frameOf(zeros, 0, 997)} {
		for at := int64(0); at < int64(len(content)); at += int64(len(content)/64) + 1 {
			for _, with := range []error{syscall.EIO, syscall.ENOMEM} {
				file := failingFile{bytes.NewReader(content), at, &os.PathError{Op: "read", Err: with}}
				err := weir.ReadBatch(file, int64(len(content)))
				if want := with != syscall.EIO; want != (err != nil) || want && !errors.Is(err, with) {
					t.Fatalf("%v from %d on of %d bytes is answered with %v", with, at, len(content), err)
				}
			}
		}
	}
}
