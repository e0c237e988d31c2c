package weir

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"syscall"
	"unsafe"
)

// list answers the names of the segments, in the order in which they are read. Of a segment that is there raw and as a
// batch the raw one counts.
func list(directory string) (names []segmentName, others map[string]bool, err error) {
	opened, err := os.Open(directory)
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close()
	found, err := opened.Readdirnames(-1)
	if err != nil {
		return nil, nil, err
	}
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
	return kept, others, nil
}

// readFile answers the first bytes of a file of the directory: count at most, nil if there is none.
func (l *Log) readFile(name string, count int) []byte {
	if !l.others[name] {
		return nil
	}
	file, err := os.Open(filepath.Join(l.directory, name))
	if err != nil {
		return nil
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	bytes := make([]byte, count)
	n, _ := io.ReadFull(file, bytes)
	return bytes[:n]
}

// lockID is the log's id as the lock file has it; 0 if that has none to tell.
func (l *Log) lockID() uint64 {
	b := l.readFile("lock", 64)
	if len(b) < 64 || string(b[:8]) != "WEIRLOCK" || crc(b[:12], b[16:]) != u32(b, 12) {
		return 0
	}
	return u64(b, 16)
}

// isLive says whether a process has the log open: it holds an open-file-description lock on the lock file.
func (l *Log) isLive() bool {
	file, err := os.Open(filepath.Join(l.directory, "lock"))
	if err != nil {
		return false
	}
	defer file.Close()
	const getOpenFileDescriptionLock = 36 // F_OFD_GETLK, which package syscall has no name for
	lock := syscall.Flock_t{Type: syscall.F_RDLCK}
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), getOpenFileDescriptionLock,
		uintptr(unsafe.Pointer(&lock)))
	return errno == 0 && lock.Type != syscall.F_UNLCK
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

// readStart reads `start`. The zero slot says that there is none; then a problem, or that a newer version wrote it, is
// told.
func (l *Log) readStart() (slot startSlot, problem string, newer bool) {
	if !l.others["start"] {
		return startSlot{}, "", false
	}
	b := l.readFile("start", 8192)
	for at := 0; at+512 <= len(b) && at <= 4096; at += 4096 {
		s := b[at:][:512]
		if string(s[:8]) != "WEIRSTRT" {
			continue
		}
		right := crc(s[:12], s[16:]) == u32(s, 12)
		found := startSlot{u64(s, 16), u64(s, 24), u64(s, 104)}
		if major := u16(s, 8); major == 2 || right && (major > 2 || found.sequence != 0 && u64(s, 80) != 0) {
			return startSlot{}, "", true
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
	if slot.sequence == 0 {
		return slot, startDamaged, false
	}
	return slot, "", false
}

// A locator says where the ring is, if not in the log's directory.
type locator struct {
	opening, number, nextOffset, logID uint64
	homeInode, homeBornNS              uint64
	inUse                              bool
	path                               string
}

// readLocator reads `ring.at`. Without the file all three answers are nothing.
func (l *Log) readLocator() (found *locator, damaged, newer bool) {
	if !l.others["ring.at"] {
		return nil, false, false
	}
	b := l.readFile("ring.at", 4096)
	if len(b) < 4096 || string(b[:8]) != "WEIRLOCA" {
		return nil, true, false
	}
	right := crc(b[:12], b[16:]) == u32(b, 12)
	if major := u16(b, 8); major == 2 || major > 2 && right || right && u64(b, 56) != 0 {
		return nil, false, true
	}
	count, state := u32(b, 68), u32(b, 64)
	if !right || count < 1 || count > 3999 || state < 1 || state > 2 {
		return nil, true, false
	}
	path := b[96:][:count]
	if path[0] != '/' || !isZero(b[96+count:]) {
		return nil, true, false
	}
	for _, c := range path {
		if c == 0 {
			return nil, true, false
		}
	}
	return &locator{
		opening: u64(b, 16), number: u64(b, 24), homeInode: u64(b, 32), homeBornNS: u64(b, 40), nextOffset: u64(b, 48),
		inUse: state == 1, logID: u64(b, 88), path: string(path),
	}, false, false
}

// isForeign says whether a locator is another log's: the lock and a ring that lies here agree on an id that it has not.
func (l *Log) isForeign(at *locator) bool {
	here, _, _ := openRing(filepath.Join(l.directory, "ring"))
	defer here.close()
	return here != nil && here.logID != at.logID && here.logID == l.lockID()
}

// isHome says whether a locator lies in the directory that it was made for, and not in a copy.
func (l *Log) isHome(at *locator) bool {
	info, err := os.Stat(l.directory)
	if err != nil {
		return false
	}
	status, is := info.Sys().(*syscall.Stat_t)
	if !is || status.Ino != at.homeInode {
		return false
	}
	born, known := bornNS(l.directory)
	return !known || at.homeBornNS == 0 || born == at.homeBornNS
}

func (at *locator) ringPath() string {
	return filepath.Join(at.path, fmt.Sprintf("weir-%016x.ring", at.number))
}

// findID finds the log's id: the first that a second file says, or else the first that one says.
func (l *Log) findID(at *locator, start startSlot) uint64 {
	ids := []uint64{l.lockID()}
	for _, ring := range []*ring{l.ring, l.stray} {
		if ring != nil {
			ids = append(ids, ring.logID)
		}
	}
	if at != nil {
		ids = append(ids, at.logID)
	}
	ids = append(ids, start.logID)
	if count := len(l.names); count > 0 {
		ids = append(ids, l.segmentID(l.names[count-1]))
		if count > 1 {
			ids = append(ids, l.segmentID(l.names[0]))
		}
	}
	var first uint64
	asked := map[uint64]bool{}
	for _, id := range ids {
		if id == 0 {
			continue
		}
		if asked[id] {
			return id
		}
		asked[id] = true
		if first == 0 {
			first = id
		}
	}
	return first
}

func (l *Log) segmentID(name segmentName) uint64 {
	s, err := openSegment(l.directory, name)
	if err != nil {
		return 0
	}
	defer s.close()
	if !s.valid || s.isNewer() {
		return 0 // what a newer version wrote says nothing
	}
	return s.whose.logID
}
