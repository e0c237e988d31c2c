// Package weir reads the logs of Weir: what was captured, in order, whatever became of the process and of the disk.
//
// It is written from the description of the format, in Go alone. A log whose writer was killed is read with what its
// lanes still have, as the next opening will find it. The reader writes nothing and takes no lock.
package weir

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrMissing says that there is no log: no such directory, or one without a file of a log.
var ErrMissing = errors.New("there is no log")

// ErrDirectory says that the path is of no directory, or of a link, which is not followed.
var ErrDirectory = errors.New("not a directory, or a symbolic link; give the log's directory itself")

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
// at most 2 MiB, for the definitions of one opening, for a line for each segment, and, at a dead writer's lanes, for 40
// bytes for each record of one lane; of a batch segment for two stretches of at most 4 MiB, and the LZ4 block that they
// are made of, besides.
type Log struct {
	directory string
	names     []segmentName
	others    map[string]bool // the names of other files
	id        uint64
	stage     stage
	err       error

	number      int  // of the segment that comes next
	listedLast  bool // the directory was listed after the last segment was read
	listings    int  // since the last event: see listAnew
	visited     map[visit]bool
	last        *uint64         // the base of the segment that was visited last
	refused     map[string]bool // names of files that are no segments of this log: they were told
	current     *segment
	complete    bool // no block is appended to the current segment any more
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

// Open opens a directory for reading. Errors: ErrMissing, ErrDirectory, and those of the file system. A log that is
// damaged opens: Skipped tells of the damage.
func Open(directory string) (*Log, error) {
	l := &Log{directory: directory, visited: map[visit]bool{}, refused: map[string]bool{}}
	if err := l.list(); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", directory, ErrMissing)
		}
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
			return nil, fmt.Errorf("%s: %w", directory, ErrDirectory)
		}
		return nil, err
	}
	if !l.others["lock"] && !l.others["ring"] && len(l.names) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no lock, no ring and no segment", directory, ErrMissing)
	}
	start, problem, err := l.readStart()
	if err != nil && !errors.Is(err, ErrVersion) {
		return nil, err
	}
	if l.err = err; err != nil {
		return l, nil // a newer version's: there is no event that could be read
	}
	if l.id, err = l.findID(start); err == nil {
		err = l.begin(start, problem)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// begin goes to the log's first offset.
func (l *Log) begin(start startSlot, problem string) error {
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

func (l *Log) newer(file string) error { return fmt.Errorf("%s/%s: %w", l.directory, file, ErrVersion) }

func (l *Log) fault(err error) error { return fmt.Errorf("%s: %w", l.directory, err) }

// Close closes the log's files.
func (l *Log) Close() error {
	l.current.close()
	l.endLanes()
	l.current, l.stage = nil, stageDone
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

// passOverRemoved tells of what retention removed below an offset, be it since the reading began.
func (l *Log) passOverRemoved(below uint64) {
	if below <= l.expected {
		return
	}
	start, _, err := l.readStart()
	if err != nil {
		l.err = err
		return
	}
	if start.sequence == 0 || l.id != 0 && start.logID != l.id {
		return
	}
	if start.firstOffset < below {
		below = start.firstOffset
	}
	if below > l.expected {
		l.passOver(Skip{Count: below, File: "start", Reason: "removed", Removed: true})
	}
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
