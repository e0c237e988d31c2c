package weir_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir"
)

// readSoon reads a log, and fails instead of waiting without an end.
func readSoon(t *testing.T, directory string) found {
	t.Helper()
	done := make(chan found, 1)
	go func() { done <- read(t, directory) }()
	select {
	case all := <-done:
		return all
	case <-time.After(time.Minute):
		t.Fatal("the reader waits")
	}
	return found{}
}

// strange puts what is no plain file under a name: a FIFO, a directory, a link that leads to a file, one that leads
// nowhere, and a socket.
var strange = map[string]func(path string) error{
	"a FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	"a link to the file": func(path string) error {
		return os.Symlink(filepath.Join(filepath.Dir(path), "moved"), path)
	},
	"a link to nowhere": func(path string) error { return os.Symlink("/nowhere", path) },
	"a socket": func(path string) error {
		socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer syscall.Close(socket)
		return syscall.Bind(socket, &syscall.SockaddrUnix{Name: path})
	},
}

// replace puts something else in the place of a file.
func replace(t *testing.T, directory, name string, with func(path string) error) {
	t.Helper()
	path := filepath.Join(directory, name)
	err := os.Rename(path, filepath.Join(directory, "moved"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := with(path); err != nil {
		t.Skip(err)
	}
}

func TestSegmentThatIsNoPlainFile(t *testing.T) {
	for what, with := range strange {
		for name, left := range map[string]int{
			"00000000000000000000.weir.lz4": allEvents - inBatch, "00000000000000000054.weir.active": 54,
		} {
			directory := copyLog(t, "v1-batched")
			replace(t, directory, name, with)
			// Without the lanes: what they have depends on the segment.
			if err := os.Remove(filepath.Join(directory, "ring")); err != nil {
				t.Fatal(err)
			}
			all := readSoon(t, directory)
			told := 0
			for _, skip := range all.skips {
				if skip.File == name && skip.Reason == "not a plain file" {
					told++
				}
			}
			if left > 54 {
				left = 38
			}
			if told != 1 || len(all.offsets) != left || all.err != nil {
				t.Errorf("%s in the place of %s: %d events, want %d; %+v; %v", what, name, len(all.offsets), left, all.skips,
					all.err)
			}
		}
	}
}

func TestOtherFilesThatAreNoPlainFiles(t *testing.T) {
	for what, with := range strange {
		for name, reason := range map[string]string{
			"lock": "", "ring": "the ring is damaged", "ring.at": "the ring is damaged", "start": "is damaged",
		} {
			directory := copyLog(t, "v1-batched")
			replace(t, directory, name, with)
			all := readSoon(t, directory)
			told := reason == ""
			for _, skip := range all.skips {
				told = told || strings.Contains(skip.Reason, reason)
			}
			if !told || len(all.offsets) < 65 || all.err != nil {
				t.Errorf("%s in the place of %s: %d events, %+v, %v", what, name, len(all.offsets), all.skips, all.err)
			}
		}
	}
}

// TestErrorsAreAnswered has the opening of each file fail as it does where a process has too many files open.
func TestErrorsAreAnswered(t *testing.T) {
	for _, name := range []string{
		"lock", "ring", "ring.at", "start", "00000000000000000000.weir.lz4", "00000000000000000027.weir",
		"00000000000000000054.weir.active",
	} {
		directory := copyLog(t, "v1-batched")
		end := weir.FailOpening(name, syscall.EMFILE)
		all := read(t, directory)
		end()
		if !errors.Is(all.err, syscall.EMFILE) {
			t.Errorf("%s: %d events, %+v, %v", name, len(all.offsets), all.skips, all.err)
		}
	}
}

// locate makes a locator that is in use and names a directory, as if the log's directory had made it.
func locate(t *testing.T, directory, ring string) {
	t.Helper()
	var status syscall.Stat_t
	if err := syscall.Stat(directory, &status); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	copy(b, "WEIRLOCA\x01")
	binary.LittleEndian.PutUint64(b[24:], 7)
	binary.LittleEndian.PutUint64(b[32:], status.Ino)
	binary.LittleEndian.PutUint64(b[40:], weir.BornNS(directory))
	binary.LittleEndian.PutUint32(b[64:], 1)
	binary.LittleEndian.PutUint32(b[68:], uint32(len(ring)))
	binary.LittleEndian.PutUint64(b[88:], ringLog(t, directory))
	copy(b[96:], ring)
	writeLocator(t, directory, b)
}

func writeLocator(t *testing.T, directory string, b []byte) {
	t.Helper()
	binary.LittleEndian.PutUint32(b[12:], sum(b[:12], b[16:]))
	if err := os.WriteFile(filepath.Join(directory, "ring.at"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRingElsewhere reads a ring where the locator says, and tells of one that is not there any more.
func TestRingElsewhere(t *testing.T) {
	directory, elsewhere := copyLog(t, "v1-killed"), t.TempDir()
	locate(t, directory, elsewhere)
	there := filepath.Join(elsewhere, "weir-0000000000000007.ring")
	if err := os.Rename(filepath.Join(directory, "ring"), there); err != nil {
		t.Fatal(err)
	}
	if all := read(t, directory); len(all.offsets) != 66 || len(all.skips) != 1 || all.err != nil {
		t.Errorf("%d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
	vanished := func(what, reason string) {
		t.Helper()
		all := read(t, directory)
		if len(all.offsets) != 38 || len(all.skips) != 1 || !strings.Contains(all.skips[0].Reason, reason) || all.err != nil {
			t.Errorf("%s: %d events, %+v, %v", what, len(all.offsets), all.skips, all.err)
		}
	}
	locator, err := os.ReadFile(filepath.Join(directory, "ring.at"))
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]int{"another directory's locator": 32, "an older directory's locator": 40} {
		other := append([]byte{}, locator...)
		other[at] ^= 1
		writeLocator(t, directory, other)
		vanished(what, "not where it was")
	}
	unborn := append([]byte{}, locator...)
	copy(unborn[40:], make([]byte, 8))
	writeLocator(t, directory, unborn)
	if weir.BornNS(directory) != 0 {
		vanished("a locator of a file system that tells no births", "not where it was")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	for path, reason := range map[string]string{elsewhere + "/nowhere": "not where it was", link: "the ring is damaged"} {
		other := append([]byte{}, locator...)
		copy(other[96:], make([]byte, 1000))
		copy(other[96:], path)
		binary.LittleEndian.PutUint32(other[68:], uint32(len(path)))
		writeLocator(t, directory, other)
		vanished("a locator that names "+path, reason)
	}
	writeLocator(t, directory, locator)
	if err := os.Rename(there, there+".moved"); err != nil {
		t.Fatal(err)
	}
	vanished("a ring that is gone", "not where it was")
	if err := os.WriteFile(there+".new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if all := read(t, directory); len(all.offsets) != 38 || len(all.skips) != 0 || all.err != nil {
		t.Errorf("a ring that is being made: %d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
}

// TestRingThatCannotBeReached has a locator name a directory that is none: that is an error, and no damage.
func TestRingThatCannotBeReached(t *testing.T) {
	directory := copyLog(t, "v1-batched")
	locate(t, directory, "/dev/null")
	if all := read(t, directory); !errors.Is(all.err, syscall.ENOTDIR) || len(all.skips) > 0 {
		t.Errorf("%d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
}
