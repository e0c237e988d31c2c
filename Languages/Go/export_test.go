package weir

import (
	"io"
	"os"
	"path/filepath"
)

// XXH32 is the checksum that a test needs to make an LZ4 frame.
var XXH32 = xxh32

// Settled answers the names of the segments in listings that are made until two are equal.
func Settled(list func() ([]string, error)) (segments []string, err error) {
	names, err := settled(list)
	found, _ := sortOut(names)
	for _, name := range found {
		segments = append(segments, name.name)
	}
	return segments, err
}

// FailOpening has the opening of files of a name fail, until the answer is called.
func FailOpening(name string, err error) (end func()) {
	openFile = func(path string, flags int, mode os.FileMode) (*os.File, error) {
		if filepath.Base(path) == name {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return os.OpenFile(path, flags, mode)
	}
	return func() { openFile = os.OpenFile }
}

// ReadBatch reads all of a batch segment, and answers the error of its reading.
func ReadBatch(from io.ReaderAt, size int64) error {
	b := openBatch(from, size)
	if b.file.err != nil {
		return b.file.err
	}
	w := window{from: b, size: b.length}
	for at := int64(0); at < w.size; at += windowBytes {
		w.bytes(at, 1)
	}
	return w.err
}

// BornNS is when a directory was made.
var BornNS = bornNS
