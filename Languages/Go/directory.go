package weir

import (
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"unsafe"
)

// listingsMost is how often a directory is listed until two listings are equal, and how often the reading goes back to
// a new listing without an event in between. A busy writer renames some ten files a second.
const listingsMost = 1000

// list lists the directory. One listing may miss a file that is renamed meanwhile; two equal ones do not.
func (l *Log) list() error {
	names, err := settled(func() ([]string, error) {
		// A link is not followed: with a slash at the end of the path it would be.
		path := strings.TrimRight(l.directory, "/")
		if path == "" && l.directory != "" {
			path = "/"
		}
		opened, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		return opened.Readdirnames(-1)
	})
	if err != nil {
		return err
	}
	l.names, l.others = sortOut(names)
	return nil
}

// settled lists names until two listings have the same segments.
func settled(list func() ([]string, error)) (names []string, err error) {
	var before []segmentName
	for i := 0; i <= listingsMost; i++ {
		if names, err = list(); err != nil {
			return nil, err
		}
		segments, _ := sortOut(names)
		if i > 0 && areEqual(before, segments) {
			break
		}
		before = segments
	}
	return names, nil
}

func areEqual(one, other []segmentName) bool {
	if len(one) != len(other) {
		return false
	}
	for i, name := range one {
		if name != other[i] {
			return false
		}
	}
	return true
}

// sortOut answers the names of the segments, in the order in which they are read, and the other names. Of a segment
// that is there raw and as a batch the raw one counts.
func sortOut(found []string) (names []segmentName, others map[string]bool) {
	others = map[string]bool{}
	raw := map[uint64]bool{}
	for _, name := range found {
		if parsed, is := parseSegmentName(name); is {
			names = append(names, parsed)
			raw[parsed.base] = raw[parsed.base] || parsed.sealed && !parsed.batch
		} else {
			others[name] = true
		}
	}
	kept := names[:0]
	for _, name := range names {
		if !name.batch || !raw[name.base] {
			kept = append(kept, name)
		}
	}
	sort.Slice(kept, func(i, j int) bool {
		if kept[i].base != kept[j].base {
			return kept[i].base < kept[j].base
		}
		return kept[i].sealed && !kept[j].sealed
	})
	return kept, others
}

// lockID is the log's id as the lock file has it; 0 if that has none to tell.
func (l *Log) lockID() (uint64, error) {
	b, err := l.readFile("lock", 64)
	if err != nil || len(b) < 64 || string(b[:8]) != "WEIRLOCK" || crc(b[:12], b[16:]) != u32(b, 12) {
		return 0, err
	}
	return u64(b, 16), nil
}

// isLive says whether a process has the log open: it holds an open-file-description lock on the lock file.
func (l *Log) isLive() (bool, error) {
	file, _, err := openPlain(filepath.Join(l.directory, "lock"))
	if isAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, l.fault(err)
	}
	defer file.Close()
	const getOpenFileDescriptionLock = 36 // F_OFD_GETLK, which package syscall has no name for
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), getOpenFileDescriptionLock,
		uintptr(unsafe.Pointer(&lock)))
	if errno != 0 {
		return false, l.fault(errno)
	}
	return lock.Type != syscall.F_UNLCK, nil
}

// A startSlot is what the file `start` says: where the log begins.
type startSlot struct {
	sequence, firstOffset, logID uint64
}

// The problems of a `start`, which then counts as absent.
const (
	startDamaged = "the file that says what was removed is damaged: what retention removed counts as missing"
	startForeign = "the file that says what was removed is of another log: what retention removed counts as missing"
)

// readStart reads `start`. The zero slot says that there is none, or that the file has a problem, which is told. An
// error wraps ErrVersion if a newer version wrote the file.
func (l *Log) readStart() (slot startSlot, problem string, err error) {
	// A live log may write a slot during a read, but not twice in a row: that takes two syncs of the disk.
	for i := 0; i < 3; i++ {
		b, err := l.readFile("start", 8192)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return startSlot{}, "", nil
		case errors.Is(err, errNotPlain):
			return startSlot{}, startDamaged, nil
		case err != nil:
			return startSlot{}, "", l.fault(err)
		}
		slot, newer := newestSlot(b)
		if newer {
			return startSlot{}, "", l.newer("start")
		}
		if slot.sequence != 0 {
			return slot, "", nil
		}
	}
	return startSlot{}, startDamaged, nil
}

// newestSlot answers the valid slot with the highest sequence; zeros if neither is valid.
func newestSlot(b []byte) (slot startSlot, newer bool) {
	for at := 0; at+512 <= len(b) && at <= 4096; at += 4096 {
		s := b[at:][:512]
		if string(s[:8]) != "WEIRSTRT" {
			continue
		}
		right := crc(s[:12], s[16:]) == u32(s, 12)
		found := startSlot{u64(s, 16), u64(s, 24), u64(s, 104)}
		if major := u16(s, 8); major == 2 || right && (major > 2 || found.sequence != 0 && u64(s, 80) != 0) {
			return startSlot{}, true
		}
		if !right || found.sequence == 0 || found.firstOffset >= offsetMax {
			continue
		}
		events, notices, missing := u64(s, 64), u64(s, 72), u64(s, 96)
		if events > found.firstOffset || notices > found.firstOffset-events ||
			missing > found.firstOffset-events-notices {
			continue
		}
		if found.sequence > slot.sequence {
			slot = found
		}
	}
	return slot, false
}

// findID finds the log's id: the first that a second file says, or else the first that one says.
func (l *Log) findID(start startSlot) (uint64, error) {
	place := l.findRing()
	place.ring.close()
	files := []func() (uint64, error){
		l.lockID,
		func() (uint64, error) { return place.logID, place.err },
		func() (uint64, error) { return place.locatorID(), nil },
		func() (uint64, error) { return start.logID, nil },
	}
	if count := len(l.names); count > 0 {
		files = append(files, func() (uint64, error) { return l.segmentID(l.names[count-1]) })
	}
	if len(l.names) > 1 {
		files = append(files, func() (uint64, error) { return l.segmentID(l.names[0]) })
	}
	var first uint64
	asked := map[uint64]bool{}
	for _, ask := range files {
		id, err := ask()
		if err != nil && !saysNothing(err) {
			return 0, l.fault(err)
		}
		if id == 0 {
			continue
		}
		if asked[id] {
			return id, nil
		}
		asked[id] = true
		if first == 0 {
			first = id
		}
	}
	return first, nil
}

// saysNothing says whether an error means that a file is none of a log's, or that nobody can read the file. Any other
// error is answered: the file may have the only id.
func saysNothing(err error) bool {
	return isAbsent(err) || errors.Is(err, errDamaged) || errors.Is(err, errVanished) || errors.Is(err, ErrVersion) ||
		errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOTDIR)
}

func (l *Log) segmentID(name segmentName) (uint64, error) {
	s, err := openSegment(l.directory, name)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if !s.valid || s.isNewer() {
		return 0, nil // what a newer version wrote says nothing
	}
	return s.whose.logID, nil
}
