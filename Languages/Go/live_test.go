package weir_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"weir"
)

const (
	testLog     = 0x1111
	testOpening = 0x2222
)

// open opens a log that the test ends.
func open(t testing.TB, directory string) *weir.Log {
	t.Helper()
	log, err := weir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// take reads events, as many as count or, if count is negative, all that are left.
func (all *found) take(log *weir.Log, count int) {
	for ; count != 0; count-- {
		there := log.Next()
		all.skips = append(all.skips, log.Skipped()...)
		if !there {
			break
		}
		all.offsets = append(all.offsets, log.Event().Offset)
		all.openings = append(all.openings, log.Event().ID.Opening)
	}
	all.err = log.Err()
}

// check says what is not right about events that begin at an offset and have no gap between them.
func (all *found) check(t testing.TB, first uint64, count int) {
	t.Helper()
	if all.err != nil || len(all.skips) > 0 || len(all.offsets) != count {
		t.Fatalf("%d events, want %d; passed over %+v; %v", len(all.offsets), count, all.skips, all.err)
	}
	for i, offset := range all.offsets {
		if offset != first+uint64(i) {
			t.Fatalf("event %d has the offset %d", i, offset)
		}
	}
}

// TestBlocksThatAreWrittenMeanwhile has a writer fill a segment behind the reader, which holds the bytes as they were.
func TestBlocksThatAreWrittenMeanwhile(t *testing.T) {
	directory := t.TempDir()
	defer lock(t, directory).Close()
	w := beginSegment(t, directory, testLog, testOpening, 1, 0)
	w.append(100)
	log := open(t, directory)
	var all found
	all.take(log, 50)
	w.append(3000)
	all.take(log, -1)
	all.check(t, 0, 3100)
}

// TestSegmentsThatAreBegunMeanwhile has a writer seal the segment that is read, and go on in other ones.
func TestSegmentsThatAreBegunMeanwhile(t *testing.T) {
	directory := t.TempDir()
	locked := lock(t, directory)
	w := beginSegment(t, directory, testLog, testOpening, 1, 0)
	w.append(10)
	log := open(t, directory)
	var all found
	all.take(log, 5)
	w.append(10)
	w.seal()
	w = beginSegment(t, directory, testLog, testOpening, 2, w.next)
	w.append(10)
	all.take(log, 20)
	w.append(10)
	w.seal()
	w = beginSegment(t, directory, testLog, testOpening, 3, w.next)
	w.append(5)
	all.take(log, -1)
	all.check(t, 0, 45)
	locked.Close()
}

// TestHalfABlockOfALiveWriter ends the reading at a block that is not whole, whatever lies behind it, and tells of
// damage once a later segment shows that the block will never be whole.
func TestHalfABlockOfALiveWriter(t *testing.T) {
	directory := t.TempDir()
	defer lock(t, directory).Close()
	w := beginSegment(t, directory, testLog, testOpening, 1, 0)
	w.append(10)
	half, end := w.at, []byte{1}
	w.append(10)
	w.write(end, half+4)
	all := read(t, directory)
	all.check(t, 0, 10)
	next := beginSegment(t, directory, testLog, testOpening, 2, w.next)
	next.append(5)
	all = read(t, directory)
	if len(all.offsets) != 24 || len(all.skips) != 1 || all.skips[0].First != 10 || all.skips[0].Count != 1 {
		t.Errorf("with a later segment: %d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
}

// TestWriterThatDiesMeanwhile gives what a writer wrote between the reader's coming to the end and the writer's death.
func TestWriterThatDiesMeanwhile(t *testing.T) {
	directory := t.TempDir()
	locked := lock(t, directory)
	w := beginSegment(t, directory, testLog, testOpening, 1, 0)
	w.append(10)
	log := open(t, directory)
	var all found
	all.take(log, 10)
	w.append(20)
	locked.Close()
	all.take(log, -1)
	// No segment had what was in the ring.
	if len(all.offsets) != 30 || len(all.skips) != 1 || all.skips[0].File != "ring" || all.err != nil {
		t.Errorf("%d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
}

// TestWriterThatOpensMeanwhile has a writer open a log while its lanes are read: the writer writes what was in the
// lanes into a segment, and takes the ring for its own events.
func TestWriterThatOpensMeanwhile(t *testing.T) {
	whole := read(t, copyLog(t, "v1-killed"))
	const inSegments = 38
	for taken := inSegments + 1; taken < len(whole.offsets); taken++ {
		directory := copyLog(t, "v1-killed")
		log := open(t, directory)
		var all found
		all.take(log, taken)
		locked := lock(t, directory)
		w := beginSegment(t, directory, ringLog(t, directory), testOpening, 1, whole.offsets[inSegments])
		w.append(len(whole.offsets) - inSegments)
		changeRing(t, directory, func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[16:], testOpening)
			for i := 8192; i < len(b); i++ {
				b[i] = ^b[i]
			}
			return b
		})
		all.take(log, -1)
		locked.Close()
		if all.err != nil || len(all.offsets) != len(whole.offsets) || len(all.skips) != len(whole.skips) {
			t.Fatalf("after %d events: %d events, %+v, %v", taken, len(all.offsets), all.skips, all.err)
		}
		for i, offset := range all.offsets {
			if offset != whole.offsets[i] {
				t.Fatalf("after %d events: event %d has the offset %d, want %d", taken, i, offset, whole.offsets[i])
			}
		}
		if last := all.openings[len(all.openings)-1]; last != testOpening && taken < len(whole.offsets)-3 {
			t.Errorf("after %d events: the last one is of the opening %x", taken, last)
		}
	}
}

func ringLog(t testing.TB, directory string) uint64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(directory, "ring"))
	if err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[136:])
}

// changeRing changes the ring where it lies, with a checksum that is right.
func changeRing(t testing.TB, directory string, how func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(directory, "ring")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = how(b)
	binary.LittleEndian.PutUint32(b[12:], sum(b[16:512]))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = file.WriteAt(b, 0)
		file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecordThatChangesMeanwhile tells of a record that is damaged between the look at the lane and the record's turn.
// The lane is longer than what the reader holds at once.
func TestRecordThatChangesMeanwhile(t *testing.T) {
	const count, damaged = 12000, 10000
	directory := t.TempDir()
	lock(t, directory).Close()
	makeRing(t, directory, count)
	log := open(t, directory)
	var all found
	all.take(log, 5)
	changeRing(t, directory, func(b []byte) []byte {
		b[4096+4096+recordBytes*damaged+24] ^= 1
		return b
	})
	all.take(log, -1)
	want := []weir.Skip{{First: damaged, Count: 1, File: "ring", Reason: "the ring changed while it was read"}}
	if len(all.offsets) != count-1 || !reflect.DeepEqual(all.skips, want) || all.err != nil {
		t.Errorf("%d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
}

// TestSegmentsThatAreRemovedMeanwhile has retention remove what comes next: that is no damage.
func TestSegmentsThatAreRemovedMeanwhile(t *testing.T) {
	directory := copyLog(t, "v1-batched")
	log := open(t, directory)
	var all found
	all.take(log, 5)
	startOf(t, directory, 54, ringLog(t, directory))
	if err := os.Remove(filepath.Join(directory, "00000000000000000027.weir")); err != nil {
		t.Fatal(err)
	}
	all.take(log, -1)
	removed := 0
	for _, skip := range all.skips {
		if skip.Removed {
			removed++
		}
		if skip.Removed && (skip.First != 27 || skip.Count != 27) || !skip.Removed && !skip.LeftOut {
			t.Errorf("%+v", skip)
		}
	}
	if len(all.offsets) != 93-27 || removed != 1 || all.err != nil {
		t.Errorf("%d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
}

// TestNamesThatChangeMeanwhile has a segment packed between the listing and the reader's coming; what was read before
// is there, or removed.
func TestNamesThatChangeMeanwhile(t *testing.T) {
	for _, removed := range []bool{false, true} {
		directory := copyLog(t, "v1-batched")
		log := open(t, directory)
		var all found
		all.take(log, 5)
		packed := filepath.Join(directory, "00000000000000000027.weir")
		content, err := os.ReadFile(packed)
		if err == nil {
			err = os.WriteFile(packed+".lz4", frameOf(content, 2, 65536), 0o600)
		}
		if err == nil {
			err = os.Remove(packed)
		}
		if err == nil && removed {
			err = os.Remove(filepath.Join(directory, batchName))
		}
		if err != nil {
			t.Fatal(err)
		}
		all.take(log, 65-5) // all but the lanes'
		all.check(t, 0, 65)
	}
}

// TestListingThatMissesAName takes two equal listings: one alone may miss a file that is renamed meanwhile.
func TestListingThatMissesAName(t *testing.T) {
	const base = "00000000000000000000.weir"
	listings := [][]string{{"lock", base}, {"lock"}, {"lock", base}, {"lock", base}, {"lock"}}
	asked := 0
	names, err := weir.Settled(func() ([]string, error) {
		asked++
		return listings[asked-1], nil
	})
	if err != nil || strings.Join(names, " ") != base || asked != 4 {
		t.Errorf("%v after %d listings, %v", names, asked, err)
	}
	asked = 0
	names, err = weir.Settled(func() ([]string, error) {
		asked++
		return listings[asked%2], nil
	})
	if err != nil || asked < 2 || asked > 1001 {
		t.Errorf("%v after %d listings, %v", names, asked, err)
	}
}
