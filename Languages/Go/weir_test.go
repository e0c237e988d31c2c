package weir_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"testing"
	"time"

	"weir"
)

const golden = "../../Tests/Golden"

// copyLog copies a golden log to a directory that the test may damage.
func copyLog(t testing.TB, name string) string {
	t.Helper()
	to := t.TempDir()
	from := filepath.Join(golden, name, "log")
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, entry.Name()), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// change changes a file of a log.
func change(t testing.TB, directory, name string, how func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(directory, name)
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, how(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A found is what a log has: its events' offsets, and what was passed over.
type found struct {
	offsets  []uint64
	openings []uint64
	skips    []weir.Skip
	err      error
}

func read(t testing.TB, directory string) found {
	t.Helper()
	log, err := weir.Open(directory)
	if err != nil {
		return found{err: err}
	}
	defer log.Close()
	var all found
	all.take(log, -1)
	return all
}

// buildWeircat builds the program, and answers its path.
func buildWeircat(t *testing.T) string {
	t.Helper()
	weircat := filepath.Join(t.TempDir(), "weircat")
	if out, err := exec.Command("go", "build", "-o", weircat, "./cmd/weircat").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return weircat
}

// compareLines compares what was printed with the lines of a file.
func compareLines(t *testing.T, file string, lines []byte) {
	t.Helper()
	expected, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, got := bytes.Split(expected, []byte("\n")), bytes.Split(lines, []byte("\n"))
	if len(want) != len(got) {
		t.Errorf("%s: %d lines, want %d", file, len(got), len(want))
		return
	}
	for i := range want {
		if !bytes.Equal(want[i], got[i]) {
			t.Errorf("%s: line %d is\n%s\nwant\n%s", file, i, got[i], want[i])
			return
		}
	}
}

func TestGoldenLogs(t *testing.T) {
	weircat := buildWeircat(t)
	for _, name := range []string{"v1-closed", "v1-killed", "v1-damaged", "v1-batched"} {
		cat := exec.Command(weircat, "--raw", filepath.Join(golden, name, "log"))
		lines, err := cat.Output()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", name, err)
		}
		if want := map[bool]int{true: 1}[name == "v1-damaged"]; cat.ProcessState.ExitCode() != want {
			t.Errorf("%s: weircat exits with %d, want %d", name, cat.ProcessState.ExitCode(), want)
		}
		compareLines(t, filepath.Join(golden, name, "expected.jsonl"), lines)
	}
}

// TestSensitiveValues prints them, and what is lost or does not fit, as weir cat does. Fields gives them as stored.
func TestSensitiveValues(t *testing.T) {
	weircat, directory := buildWeircat(t), filepath.Join(golden, "v1-sensitive")
	for option, file := range map[string]string{"": "cat.jsonl", "--show-sensitive": "shown.jsonl"} {
		arguments := []string{filepath.Join(directory, "log")}
		if option != "" {
			arguments = append([]string{option}, arguments...)
		}
		lines, err := exec.Command(weircat, arguments...).Output()
		if err != nil {
			t.Fatal(err)
		}
		compareLines(t, filepath.Join(directory, file), lines)
	}
	log, err := weir.Open(filepath.Join(directory, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if !log.Next() {
		t.Fatal("no event")
	}
	if fields, err := log.Event().Fields(); err != nil || fields[1] != (weir.Field{Name: "email", Value: "a@b.c"}) {
		t.Errorf("fields %v, %v", fields, err)
	}
}

func TestFieldsAndTimes(t *testing.T) {
	log, err := weir.Open(filepath.Join(golden, "v1-closed", "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for log.Next() && log.Event().Offset != 22 {
	}
	event := log.Event()
	if event.ID.String() != "abf20d90aa262ef90002000000000000" || event.Name != "été.optional" {
		t.Errorf("event %v %q", event.ID, event.Name)
	}
	if at := event.Time(); !at.Equal(time.Unix(0, 1795421480953285149)) || event.MonotonicNS != 30265864340423 {
		t.Errorf("at %v, %d of the boot", at, event.MonotonicNS)
	}
	fields, err := event.Fields()
	if want := []weir.Field{{Name: "größe"}, {Name: "名前"}}; err != nil || !reflect.DeepEqual(fields, want) {
		t.Errorf("fields %v, %v", fields, err)
	}
}

func TestValuesOfEachKind(t *testing.T) {
	log, err := weir.Open(filepath.Join(golden, "v1-closed", "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if !log.Next() {
		t.Fatal("no event")
	}
	fields, err := log.Event().Fields()
	want := []weir.Field{
		{"bool", false}, {"i8", int8(-128)}, {"i16", int16(-32768)}, {"i32", int32(math.MinInt32)},
		{"i64", int64(math.MinInt64)}, {"u8", uint8(0)}, {"u16", uint16(0)}, {"u32", uint32(0)}, {"u64", uint64(0)},
		{"f32", float32(math.Inf(-1))}, {"f64", math.Copysign(0, -1)}, {"string", ""}, {"bytes", []byte{}},
		{"uuid", weir.UUID{}}, {"date", weir.Date(-978307200)},
	}
	if err != nil || !reflect.DeepEqual(fields, want) {
		t.Errorf("fields %v, %v\nwant   %v", fields, err, want)
	}
}

func TestPayloadThatDoesNotFit(t *testing.T) {
	log, err := weir.Open(filepath.Join(golden, "v1-closed", "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if !log.Next() {
		t.Fatal("no event")
	}
	event := *log.Event()
	whole := append([]byte{}, event.Payload...)
	for _, payload := range [][]byte{nil, {2}, whole[:len(whole)-1], append(whole[:len(whole):len(whole)], 0)} {
		event.Payload = payload
		if fields, err := event.Fields(); err == nil {
			t.Errorf("the payload %x gives %v", payload, fields)
		}
	}
	event.Definition = nil
	if _, err := event.Fields(); err == nil {
		t.Error("fields without a definition")
	}
	for _, tagged := range []string{
		"\x01\x00\x00\x00", "\x00\x00\x00\x00\x00", "\xff\xff\xff\xff", "\x01\x00\x00\x00\x00\x00\x00\x00\x10",
	} {
		if fields, err := weir.Object([]byte(tagged)); err == nil {
			t.Errorf("the object %x gives %v", tagged, fields)
		}
	}
}

func TestNoLog(t *testing.T) {
	for _, directory := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		if _, err := weir.Open(directory); !errors.Is(err, weir.ErrMissing) {
			t.Errorf("%s: %v", directory, err)
		}
	}
}

// TestLinkIsNoLog opens links, and what is no directory, as the other readers do: not at all.
func TestLinkIsNoLog(t *testing.T) {
	directory, scratch := copyLog(t, "v1-closed"), t.TempDir()
	link, dangling := filepath.Join(scratch, "link"), filepath.Join(scratch, "dangling")
	file := filepath.Join(scratch, "file")
	err := os.Symlink(directory, link)
	if err == nil {
		err = os.Symlink("/nowhere", dangling)
	}
	if err == nil {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, link + "/", link + "//", dangling, file} {
		if all := read(t, path); !errors.Is(all.err, weir.ErrDirectory) || !strings.Contains(all.err.Error(), path) {
			t.Errorf("%s: %d events, %v", path, len(all.offsets), all.err)
		}
	}
	if all := read(t, directory+"//"); len(all.offsets) != 59 || all.err != nil {
		t.Errorf("%d events, %v", len(all.offsets), all.err)
	}
	for _, path := range []string{"/", ""} {
		if _, err := weir.Open(path); !errors.Is(err, weir.ErrMissing) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestNewerVersion(t *testing.T) {
	directory := copyLog(t, "v1-closed")
	change(t, directory, "00000000000000000032.weir", func(b []byte) []byte { b[8] = 2; return b })
	if all := read(t, directory); !errors.Is(all.err, weir.ErrVersion) || len(all.offsets) != 32 {
		t.Errorf("%d events, %v", len(all.offsets), all.err)
	}
}

func TestDamagedBlockIsPassedOverAndTold(t *testing.T) {
	directory := copyLog(t, "v1-closed")
	const position = 4816 // of the block of event 22
	change(t, directory, "00000000000000000000.weir", func(b []byte) []byte { b[position+170] ^= 1; return b })
	all := read(t, directory)
	if len(all.offsets) != 58 || all.err != nil {
		t.Errorf("%d events, %v", len(all.offsets), all.err)
	}
	var missing []weir.Skip
	for _, skip := range all.skips {
		if skip.Count > 0 {
			missing = append(missing, skip)
		}
	}
	if len(missing) != 1 || missing[0].First != 22 || missing[0].Count != 1 || len(all.skips) != 1 {
		t.Errorf("passed over: %+v", all.skips)
	}
}

func TestCutSegmentsGiveWhatIsLeft(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(golden, "v1-batched", "log", "00000000000000000000.weir.lz4"))
	if err != nil {
		t.Fatal(err)
	}
	directory := copyLog(t, "v1-batched")
	for length := len(whole); length >= 0; length -= 97 {
		change(t, directory, "00000000000000000000.weir.lz4", func([]byte) []byte { return whole[:length] })
		all := read(t, directory)
		if all.err != nil || len(all.offsets) < 93-27 {
			t.Fatalf("cut to %d bytes: %d events, %v", length, len(all.offsets), all.err)
		}
	}
}

func TestLeftOutIsNotMissing(t *testing.T) {
	skips := read(t, copyLog(t, "v1-killed")).skips
	if len(skips) != 1 || !skips[0].LeftOut || skips[0].First != 38 || skips[0].Count != 1<<32 {
		t.Errorf("passed over in a log without damage: %+v", skips)
	}
}

// startOf makes a `start` that begins at an offset, of a log.
func startOf(t testing.TB, directory string, offset, logID uint64) {
	t.Helper()
	slot := make([]byte, 4096)
	copy(slot, "WEIRSTRT\x01")
	binary.LittleEndian.PutUint64(slot[16:], 1)
	binary.LittleEndian.PutUint64(slot[24:], offset)
	binary.LittleEndian.PutUint64(slot[104:], logID)
	sum := crc32.Update(crc32.Checksum(slot[:12], crc32.MakeTable(crc32.Castagnoli)),
		crc32.MakeTable(crc32.Castagnoli), slot[16:512])
	binary.LittleEndian.PutUint32(slot[12:], sum)
	if err := os.WriteFile(filepath.Join(directory, "start"), append(slot, slot...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStart reads what a `start` says, and tells of one that counts as absent.
func TestStart(t *testing.T) {
	const logID, offset = 0x6381fadcff874ae9, 32
	directory := copyLog(t, "v1-closed")
	startOf(t, directory, offset, logID)
	all := read(t, directory)
	if len(all.skips) != 1 || !all.skips[0].Removed || all.skips[0].Count != offset || all.offsets[0] != offset {
		t.Errorf("its own: %+v, from offset %d", all.skips, all.offsets[0])
	}
	startOf(t, directory, offset, logID+1)
	all = read(t, directory)
	if len(all.skips) != 1 || all.skips[0].File != "start" || all.skips[0].Count != 0 || len(all.offsets) != 59 {
		t.Errorf("another log's: %+v, %d events", all.skips, len(all.offsets))
	}
	startOf(t, directory, offset, logID)
	change(t, directory, "start", func(b []byte) []byte { b[30], b[4096+30] = 1, 1; return b })
	all = read(t, directory)
	if len(all.skips) != 1 || all.skips[0].File != "start" || all.skips[0].Removed || len(all.offsets) != 59 {
		t.Errorf("damaged: %+v, %d events", all.skips, len(all.offsets))
	}
	change(t, directory, "start", func(b []byte) []byte { b[8] = 2; return b })
	if all = read(t, directory); !errors.Is(all.err, weir.ErrVersion) || len(all.offsets) != 0 {
		t.Errorf("a newer one: %d events, %v", len(all.offsets), all.err)
	}
}

func TestChecksumOfFrames(t *testing.T) {
	for text, want := range map[string]uint32{
		"": 0x02cc5d05, "abc": 0x32d153ff, "Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		if sum := weir.XXH32([]byte(text)); sum != want {
			t.Errorf("%q: %08x, want %08x", text, sum, want)
		}
	}
}

// frameOf packs a segment into stored blocks of a size. The flags are: 1 with a length, 2 with checksums, 4 not linked.
func frameOf(content []byte, flags byte, size int) []byte {
	header := []byte{0x40 | flags<<3, 0x40}
	if flags&1 != 0 {
		header = binary.LittleEndian.AppendUint64(header, uint64(len(content)))
	}
	frame := append([]byte{0x04, 0x22, 0x4d, 0x18}, header...)
	frame = append(frame, byte(weir.XXH32(header)>>8))
	for rest := content; len(rest) > 0; {
		piece := rest
		if len(piece) > size {
			piece = piece[:size]
		}
		rest = rest[len(piece):]
		frame = binary.LittleEndian.AppendUint32(frame, uint32(len(piece))|1<<31)
		frame = append(frame, piece...)
		if flags&2 != 0 {
			frame = binary.LittleEndian.AppendUint32(frame, weir.XXH32(piece))
		}
	}
	return append(frame, 0, 0, 0, 0)
}

// TestOtherFrames reads segments that were packed by another program than Weir: stored blocks of any size, linked or
// not, with checksums and a length or without, and no index.
func TestOtherFrames(t *testing.T) {
	name := "00000000000000000000.weir"
	content, err := os.ReadFile(filepath.Join(golden, "v1-closed", "log", name))
	if err != nil {
		t.Fatal(err)
	}
	for flags := byte(0); flags < 8; flags++ {
		for _, size := range []int{997, 65536} {
			frame := frameOf(content, flags, size)
			directory := copyLog(t, "v1-closed")
			if err := os.Rename(filepath.Join(directory, name), filepath.Join(directory, name+".lz4")); err != nil {
				t.Fatal(err)
			}
			change(t, directory, name+".lz4", func([]byte) []byte { return frame })
			if all := read(t, directory); len(all.offsets) != 59 || len(all.skips) > 0 || all.err != nil {
				t.Errorf("flags %x, blocks of %d: %d events, %+v, %v", flags, size, len(all.offsets), all.skips, all.err)
			}
		}
	}
}

func TestLanesOfALiveWriterAreNotRead(t *testing.T) {
	directory := copyLog(t, "v1-killed")
	locked := lock(t, directory)
	if all := read(t, directory); len(all.offsets) != 38 || len(all.skips) > 0 || all.err != nil {
		t.Errorf("with a writer: %d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
	locked.Close()
	if all := read(t, directory); len(all.offsets) != 66 || all.err != nil {
		t.Errorf("without one: %d events, %v", len(all.offsets), all.err)
	}
}

// TestRingOfThisBoot reads the lanes as after a kill, with heads and tails that are believed.
func TestRingOfThisBoot(t *testing.T) {
	directory := copyLog(t, "v1-killed")
	id := bootID(t)
	change(t, directory, "ring", func(b []byte) []byte {
		copy(b[112:], id)
		binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[16:512], crc32.MakeTable(crc32.Castagnoli)))
		return b
	})
	all := read(t, directory)
	if len(all.offsets) != 65 || all.offsets[64] != 64 || len(all.skips) > 0 || all.err != nil {
		t.Errorf("%d events, %+v, %v", len(all.offsets), all.skips, all.err)
	}
}

func TestMissingRingIsTold(t *testing.T) {
	directory := copyLog(t, "v1-killed")
	for _, step := range []struct {
		remove, make string
		told         int
	}{{remove: "ring", told: 1}, {make: "ring.new"}, {remove: "ring.new", told: 1}, {remove: "lock"}} {
		if step.remove != "" {
			if err := os.Remove(filepath.Join(directory, step.remove)); err != nil {
				t.Fatal(err)
			}
		}
		if step.make != "" {
			if err := os.WriteFile(filepath.Join(directory, step.make), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if all := read(t, directory); len(all.skips) != step.told || len(all.offsets) != 38 || all.err != nil {
			t.Errorf("%+v: %d events, %+v, %v", step, len(all.offsets), all.skips, all.err)
		}
	}
}

// TestRecoveryOfAnEarlierBoot reads a segment that a recovery left unsealed before the machine went down: what is in it
// comes from the lanes, once.
func TestRecoveryOfAnEarlierBoot(t *testing.T) {
	directory := copyLog(t, "v1-killed")
	change(t, directory, "00000000000000000027.weir.active", func(b []byte) []byte {
		b[20] = 1
		lanes := int(binary.LittleEndian.Uint32(b[104:]))
		sum := crc32.Checksum(b[20:512+16*lanes], crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(b[16:], sum)
		return b
	})
	log, err := weir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	seen := map[weir.ID]bool{}
	for log.Next() {
		if seen[log.Event().ID] {
			t.Errorf("%v comes twice", log.Event().ID)
		}
		seen[log.Event().ID] = true
	}
	if len(seen) != 63 || log.Err() != nil {
		t.Errorf("%d events, %v", len(seen), log.Err())
	}
}

// TestMutatedLogs reads logs with random damage: none of them may panic, or read on without an end.
func TestMutatedLogs(t *testing.T) {
	seed := time.Now().UnixNano()
	if text := os.Getenv("WEIR_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintf(os.Stderr, "WEIR_SEED=%d\n", seed) // at once: of a test that is killed no log is printed
	random := rand.New(rand.NewSource(seed))
	for _, name := range []string{"v1-closed", "v1-killed", "v1-damaged", "v1-batched"} {
		directory := copyLog(t, name)
		files, err := filepath.Glob(filepath.Join(directory, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for round := 0; round < 200; round++ {
			path := files[random.Intn(len(files))]
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			after := append([]byte{}, before...)
			for count := 1 + random.Intn(8); count > 0; count-- {
				after[random.Intn(len(after))] = byte(random.Intn(256))
			}
			if err := os.WriteFile(path, after[:len(after)-random.Intn(2)*random.Intn(len(after))], 0o600); err != nil {
				t.Fatal(err)
			}
			checkOrder(t, directory)
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkOrder reads a log and checks what holds of every one: offsets ascend, what is missing lies between them, and
// damage is no error.
func checkOrder(t testing.TB, directory string) {
	t.Helper()
	log, err := weir.Open(directory)
	if errors.Is(err, weir.ErrMissing) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	next := uint64(0)
	for {
		more := log.Next()
		for _, skip := range log.Skipped() {
			if skip.Count == 0 {
				continue
			}
			if skip.First < next {
				t.Fatalf("%+v after offset %d", skip, next-1)
			}
			next = skip.First + skip.Count
		}
		if !more {
			break
		}
		event := log.Event()
		if event.Offset < next {
			t.Fatalf("event %d after offset %d", event.Offset, next-1)
		}
		next = event.Offset + 1
		_, _ = event.Fields() // must not panic
	}
	if err := log.Err(); err != nil && !errors.Is(err, weir.ErrVersion) {
		t.Fatal(err)
	}
}

func FuzzSegment(f *testing.F) {
	for _, name := range []string{"00000000000000000000.weir.lz4", "00000000000000000027.weir"} {
		content, err := os.ReadFile(filepath.Join(golden, "v1-batched", "log", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		directory := t.TempDir()
		for _, name := range []string{
			"00000000000000000000.weir.lz4", "00000000000000000027.weir", "00000000000000000054.weir.active",
		} {
			if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checkOrder(t, directory)
	})
}

func FuzzRing(f *testing.F) {
	for _, name := range []string{"v1-killed", "v1-closed"} {
		content, err := os.ReadFile(filepath.Join(golden, name, "log", "ring"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content[:57344])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		directory := copyLog(t, "v1-killed")
		if len(content) < 303104 {
			content = append(content, make([]byte, 303104-len(content))...)
		}
		if err := os.WriteFile(filepath.Join(directory, "ring"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		checkOrder(t, directory)
	})
}
