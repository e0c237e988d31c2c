package weir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Why there is no ring where there ought to be one.
var (
	errDamaged  = errors.New("the ring is damaged: events that no segment had yet can't be read")
	errVanished = errors.New("the ring is not where it was: events that no segment had yet are lost, and how many is " +
		"not known")
	errAnothers = errors.New("the ring is of another opening, or another log: events that no segment had yet are lost, " +
		"unless the log's own ring is put back before it is opened")
	errNoRing = errors.New("the ring is missing: events that no segment had yet are lost")
)

// A locator says where the ring is, if not in the log's directory.
type locator struct {
	opening, number, nextOffset, logID uint64
	homeInode, homeBornNS              uint64
	inUse                              bool
	path                               string
}

// readLocator reads `ring.at`; nil without the file. An error is errDamaged if the locator is not valid, and wraps
// ErrVersion if a newer version wrote the locator.
func (l *Log) readLocator() (*locator, error) {
	b, err := l.readFile("ring.at", 4096)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, errNotPlain) {
		return nil, errDamaged
	}
	if err != nil {
		return nil, err
	}
	if len(b) < 4096 || string(b[:8]) != "WEIRLOCA" {
		return nil, errDamaged
	}
	right := crc(b[:12], b[16:]) == u32(b, 12)
	if major := u16(b, 8); major == 2 || major > 2 && right || right && u64(b, 56) != 0 {
		return nil, l.newer("ring.at")
	}
	count, state := u32(b, 68), u32(b, 64)
	if !right || count < 1 || count > 3999 || state < 1 || state > 2 {
		return nil, errDamaged
	}
	path := b[96:][:count]
	if path[0] != '/' || !isZero(b[96+count:]) {
		return nil, errDamaged
	}
	for _, c := range path {
		if c == 0 {
			return nil, errDamaged
		}
	}
	return &locator{
		opening: u64(b, 16), number: u64(b, 24), homeInode: u64(b, 32), homeBornNS: u64(b, 40), nextOffset: u64(b, 48),
		inUse: state == 1, logID: u64(b, 88), path: string(path),
	}, nil
}

// isForeign says whether a locator is another log's: the lock and a ring that lies here agree on an id that it has not.
func (l *Log) isForeign(at *locator) bool {
	id, err := l.lockID()
	if err != nil || id == 0 || id == at.logID {
		return false
	}
	here, err := openRing(filepath.Join(l.directory, "ring"))
	defer here.close()
	return err == nil && here.logID == id
}

// checkHome answers errVanished if a locator lies in another directory than the one that it was made for, which is a
// copy, or the ring's directory is gone.
func (l *Log) checkHome(at *locator) error {
	info, err := os.Stat(l.directory)
	if err != nil {
		return err
	}
	status, is := info.Sys().(*syscall.Stat_t)
	if !is || status.Ino != at.homeInode || bornNS(l.directory) != at.homeBornNS {
		return errVanished
	}
	there, err := os.Lstat(at.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errVanished
	case err == nil && there.Mode()&os.ModeSymlink != 0:
		return errDamaged
	}
	return err
}

func (at *locator) ringPath() string {
	return filepath.Join(at.path, fmt.Sprintf("weir-%016x.ring", at.number))
}

// A ringPlace says where the ring is at a moment.
type ringPlace struct {
	locator *locator // nil without a valid one of this log
	path    string   // of the ring
	ring    *ring    // nil without one
	logID   uint64   // of the ring, or of the one that lies here where the locator is not valid
	err     error    // why there is no ring although there ought to be one; nil if there need not be one
}

// findRing finds the ring that is in force, and opens it.
func (l *Log) findRing() ringPlace {
	place := l.lookForRing()
	// A live log may move its ring between the read of the locator and the opening of the ring.
	for i := 0; i < 100 && errors.Is(place.err, errVanished); i++ {
		before := *place.locator
		if again, err := l.readLocator(); err == nil && again != nil && *again == before {
			break
		}
		place = l.lookForRing()
	}
	return place
}

func (l *Log) lookForRing() ringPlace {
	place := ringPlace{path: filepath.Join(l.directory, "ring")}
	if place.locator, place.err = l.readLocator(); place.err != nil {
		if here, err := openRing(place.path); err == nil {
			place.logID = here.logID
			here.close()
		}
		return place
	}
	if place.locator != nil && l.isForeign(place.locator) {
		place.locator = nil
	}
	elsewhere := place.locator != nil && place.locator.inUse
	if elsewhere {
		place.path = place.locator.ringPath()
		if place.err = l.checkHome(place.locator); place.err != nil {
			return place
		}
	}
	place.ring, place.err = openRing(place.path)
	switch {
	case place.err == nil:
		place.logID = place.ring.logID
	case errors.Is(place.err, errNotPlain):
		place.err = errDamaged
	case errors.Is(place.err, ErrVersion):
		place.err = l.newer("ring")
	case errors.Is(place.err, os.ErrNotExist):
		place.err = nil
		if elsewhere && !place.isBeingMade() {
			place.err = errVanished
		}
	}
	return place
}

func (p *ringPlace) locatorID() uint64 {
	if p.locator == nil {
		return 0
	}
	return p.locator.logID
}

// isBeingMade says whether the writer died while it made the ring.
func (p *ringPlace) isBeingMade() bool {
	_, err := os.Lstat(p.path + ".new")
	return err == nil
}

// isCurrent says whether no writer has been at work since the ring was looked for: nobody holds the lock, and the ring
// is of the same opening. A new opening may use the ring's file again; then its own header is in there.
func (l *Log) isCurrent(place *ringPlace) (bool, error) {
	live, err := l.isLive()
	if err != nil || live {
		return false, err
	}
	r := place.ring
	if r == nil {
		return true, nil
	}
	now, err := os.Lstat(place.path)
	if err != nil || !os.SameFile(now, r.info) {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	var fixed [ringFixedBytes]byte
	n, err := r.file.ReadAt(fixed[:], 0)
	if n < len(fixed) {
		if !isFault(err) {
			err = nil
		}
		return false, err
	}
	return fixed == r.fixed, nil
}
