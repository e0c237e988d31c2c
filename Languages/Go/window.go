package weir

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc is the CRC32C of its arguments, one after the other.
func crc(parts ...[]byte) uint32 {
	var sum uint32
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum
}

func u16(b []byte, at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

func isZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// windowBytes is what is read at once where less is asked for.
const windowBytes = 256 << 10

// A window shows a file, or the content of a batch segment, a stretch at a time. It takes as much memory as the longest
// stretch that was asked for, whatever the size of the file.
type window struct {
	from io.ReaderAt
	size int64
	held []byte // the bytes at `at`
	at   int64
	err  error // the first error of the file system, which is no damage of the log
}

// bytes answers count bytes at a position, nil if the file has fewer. They are good until the next call.
func (w *window) bytes(at int64, count int) []byte {
	if at < 0 || count < 0 || at > w.size || int64(count) > w.size-at {
		return nil
	}
	if at >= w.at && at+int64(count) <= w.at+int64(len(w.held)) {
		return w.held[at-w.at:][:count]
	}
	stretch := int64(count)
	if stretch < windowBytes {
		stretch = windowBytes
	}
	if stretch > w.size-at {
		stretch = w.size - at
	}
	if int64(cap(w.held)) < stretch {
		w.held = make([]byte, stretch)
	}
	w.held, w.at = w.held[:stretch], at
	n, err := w.from.ReadAt(w.held, at)
	if isFault(err) {
		w.fail(err)
	}
	if n < len(w.held) {
		// The file became shorter, or a page of the disk can't be read: nothing that is zero is valid, and the reading
		// goes on behind it.
		for i := n; i < len(w.held); i++ {
			w.held[i] = 0
		}
	}
	return w.held[:count]
}

// fail keeps the first error.
func (w *window) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// rest answers what the window shows from a position on: at least one byte, nil behind the end.
func (w *window) rest(at int64) []byte {
	if at >= w.size {
		return nil
	}
	if w.bytes(at, 1) == nil {
		return nil
	}
	return w.held[at-w.at:]
}
