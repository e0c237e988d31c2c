package weir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// errNotPlain says that a name is that of a link, a directory, a FIFO, a socket or a device.
var errNotPlain = errors.New("not a plain file")

// openFile is os.OpenFile, but in tests that force an error.
var openFile = os.OpenFile

// openPlain opens a plain file for reading. A link is not followed, and nobody is waited for at a FIFO or a device.
func openPlain(path string) (*os.File, os.FileInfo, error) {
	file, err := openFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, nil, errNotPlain
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotPlain
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// isAbsent says whether an error of openPlain means that no file of a log lies there.
func isAbsent(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, errNotPlain) }

// isFault says whether an error of a read is one of the file system. A page of the disk that can't be read is none: it
// is damage.
func isFault(err error) bool { return err != nil && err != io.EOF && !errors.Is(err, syscall.EIO) }

// readFile answers the first bytes of a file of the directory, count at most.
func (l *Log) readFile(name string, count int) ([]byte, error) {
	file, _, err := openPlain(filepath.Join(l.directory, name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	bytes := make([]byte, count)
	n, err := file.ReadAt(bytes, 0)
	if isFault(err) {
		return nil, err
	}
	return bytes[:n], nil
}
