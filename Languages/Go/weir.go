// Package weir reads the logs of Weir: what was captured, in order, whatever became of the process and of the disk.
//
// It is written from the description of the format, in Go alone. A log whose writer was killed is read with what its
// lanes still have, as the next opening will find it. The reader writes nothing and takes no lock.
package weir

import (
	"errors"
	"fmt"
	"os"
)

// ErrMissing says that there is no log: no such directory, or one without a file of a log.
var ErrMissing = errors.New("there is no log")

// ErrVersion says that a file is of a newer version of the format, whose bytes may mean something else.
var ErrVersion = errors.New("a newer version of Weir wrote the log")

// A Skip is what was passed over on the way to an event.
type Skip struct {
	First, Count uint64 // offsets that no event has; Count is 0 where none is, or none is known
	File         string // name in the directory
	Position     int64  // in the file; of a batch segment in what it unpacks to
	Bytes        int64
	Reason       string
	Removed      bool // retention removed the events: it is no damage
	LeftOut      bool // the offsets were never given to events, after a new start of the machine: it is no damage
}

type stage int

const (
	stageSegments stage = iota
	stageLanes
	stageDone
)

// A Log is a log's directory, open for reading. It belongs to one goroutine at a time. It takes memory for a block of
// at most 2 MiB, for the definitions of one opening, for a line for each segment, and, at a dead writer's lanes, for a
// line for each record of a lane; of a batch segment for two LZ4 blocks besides.
type Log struct {
	directory string
	names     []segmentName
	others    map[string]bool // the names of other files
	id        uint64
	stage     stage
	err       error

	locator     *locator // nil without a valid one
	ring        *ring
	stray       *ring // one in the directory, that counts for the log's id alone
	ringDamaged bool
	ringNewer   bool
	otherBoot   bool
	live        bool // a writer had the log open when it was opened here

	number      int // of the segment that comes next
	visited     map[visit]bool
	current     *segment
	block       *block
	rest        []byte // the records of the block that are to come
	lanePos     uint64
	index       uint64
	expected    uint64 // the offset of the next event
	definitions definitions
	askedRing   bool // for definitions that the segment, or the lanes, lack
	lanes       *lanes

	event   Event
	skips   []Skip
	started bool
}

// A visit is that of a segment: under one base there may be several, and one may be there under two names.
type visit struct{ base, salt uint64 }

// Open opens a directory for reading. Errors: ErrMissing, and those of the file system. A log that is damaged opens:
// Skipped tells of the damage.
func Open(directory string) (*Log, error) {
	l := &Log{directory: directory, visited: map[visit]bool{}}
	l.live = l.isLive()
	var err error
	if l.names, l.others, err = list(directory); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", directory, ErrMissing)
		}
		return nil, err
	}
	if !l.others["lock"] && !l.others["ring"] && len(l.names) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no lock, no ring and no segment", directory, ErrMissing)
	}
	start, problem, newer := l.readStart()
	at, atDamaged, atNewer := l.readLocator()
	if at != nil && l.isForeign(at) {
		at = nil
	}
	l.locator = at
	l.openRing(at, atDamaged, atNewer)
	l.id = l.findID(at, start)
	if err := l.begin(start, problem, newer); err != nil {
		l.Close()
		return nil, err
	}
	if l.ring != nil {
		l.otherBoot = isOtherBoot(l.ring.bootID)
	}
	return l, nil
}

// begin goes to the log's first offset.
func (l *Log) begin(start startSlot, problem string, newer bool) error {
	if newer {
		l.err = l.newer("start")
		return nil
	}
	if start.sequence != 0 && l.id != 0 && start.logID != l.id {
		start, problem = startSlot{}, startForeign
	}
	if problem != "" {
		l.passOver(Skip{File: "start", Reason: problem})
	}
	if start.firstOffset > 0 {
		l.passOver(Skip{Count: start.firstOffset, File: "start", Reason: "removed", Removed: true})
	}
	return l.skipToStart()
}

// openRing opens the ring that is in force.
func (l *Log) openRing(at *locator, damaged, newer bool) {
	path := l.directory + "/ring"
	if damaged || newer {
		// Where the ring is can't be told; the one that lies here still says whose it is.
		l.stray, _, _ = openRing(path)
		l.ringDamaged, l.ringNewer = damaged, newer
		return
	}
	if at != nil && at.inUse {
		path = at.ringPath()
		if !l.isHome(at) {
			l.ringDamaged = true
			return
		}
	}
	l.ring, l.ringDamaged, l.ringNewer = openRing(path)
	if at != nil && at.inUse && l.ring == nil && !l.ringDamaged && !l.ringNewer {
		l.ringDamaged = !l.isRingBeingMade()
	}
}

// isRingBeingMade says whether the writer died while it made the ring.
func (l *Log) isRingBeingMade() bool {
	path := l.directory + "/ring"
	if l.locator != nil && l.locator.inUse {
		path = l.locator.ringPath()
	}
	_, err := os.Lstat(path + ".new")
	return err == nil
}

func (l *Log) newer(file string) error { return fmt.Errorf("%s/%s: %w", l.directory, file, ErrVersion) }

func (l *Log) fault(err error) error { return fmt.Errorf("%s: %w", l.directory, err) }

// Close closes the log's files.
func (l *Log) Close() error {
	l.current.close()
	l.ring.close()
	l.stray.close()
	l.current, l.ring, l.stray, l.stage = nil, nil, nil, stageDone
	return nil
}

// Event is the event that Next went to. It, and the bytes that it refers to, are good until the next call of Next.
func (l *Log) Event() *Event { return &l.event }

// Skipped tells what was passed over between the event before and this one; after the last event, what was passed over
// behind it. It is good until the next call of Next.
func (l *Log) Skipped() []Skip { return l.skips }

// Err is what ended the reading before the log's end: ErrVersion, or an error of the file system. Nil at the end.
func (l *Log) Err() error { return l.err }

// passOver tells of what is passed over, unless it lies before what is expected: that was told already.
func (l *Log) passOver(s Skip) {
	end := s.First + s.Count
	if s.Count > 0 && end <= l.expected || s.Count == 0 && s.First < l.expected {
		return
	}
	if s.Count > 0 {
		if s.First < l.expected {
			s.First, s.Count = l.expected, end-l.expected
		}
		l.expected = end
	}
	l.skips = append(l.skips, s)
}

// missing goes on to an offset, and tells which ones no event has.
func (l *Log) missing(offset uint64, s Skip) {
	if offset > l.expected {
		s.First, s.Count = l.expected, offset-l.expected
		l.passOver(s)
	}
}

// leaveOut goes on to an offset; those before it were never given to an event.
func (l *Log) leaveOut(offset uint64, file string) {
	if offset > l.expected {
		l.passOver(Skip{First: l.expected, Count: offset - l.expected, File: file, LeftOut: true,
			Reason: "left out after a new start of the machine"})
	}
}

// Next goes to the next event, and says whether there is one. With a writer that lives the events that it has not
// drained yet are not read.
func (l *Log) Next() bool {
	if l.started {
		l.skips = l.skips[:0]
	}
	l.started = true
	for l.err == nil {
		switch l.stage {
		case stageSegments:
			if l.nextInSegments() {
				return true
			}
		case stageLanes:
			if l.nextInLanes() {
				return true
			}
		default:
			return false
		}
	}
	return false
}
