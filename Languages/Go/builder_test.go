package weir_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(parts ...[]byte) uint32 {
	var all uint32
	for _, part := range parts {
		all = crc32.Update(all, castagnoli, part)
	}
	return all
}

// lock locks a log as a writer does, until the answer is closed.
func lock(t testing.TB, directory string) *os.File {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(directory, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	const setOpenFileDescriptionLock = 37 // F_OFD_SETLK
	whole := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(file.Fd(), setOpenFileDescriptionLock, &whole); err != nil {
		t.Fatal(err)
	}
	return file
}

// A segmentWriter writes a segment beside a reader, as a drainer does.
type segmentWriter struct {
	t              testing.TB
	directory      string
	name           string
	file           *os.File
	log, opening   uint64
	salt, base     uint64
	next, position uint64 // the offset and the place in the lane that come next
	at             int64
}

const segmentCapacity = 1 << 20

// beginSegment makes an active segment of one lane.
func beginSegment(t testing.TB, directory string, log, opening, salt, base uint64) *segmentWriter {
	t.Helper()
	w := &segmentWriter{
		t: t, directory: directory, name: fmt.Sprintf("%020d.weir.active", base), log: log, opening: opening, salt: salt,
		base: base, next: base, at: 512 + 16,
	}
	header := make([]byte, w.at)
	copy(header, "WEIRSEGM\x01")
	binary.LittleEndian.PutUint32(header[12:], uint32(w.at))
	binary.LittleEndian.PutUint64(header[24:], salt)
	binary.LittleEndian.PutUint64(header[32:], opening)
	binary.LittleEndian.PutUint64(header[40:], base)
	binary.LittleEndian.PutUint64(header[96:], segmentCapacity)
	binary.LittleEndian.PutUint32(header[104:], 1)
	binary.LittleEndian.PutUint64(header[144:], log)
	binary.LittleEndian.PutUint32(header[16:], sum(header[20:]))
	file, err := os.OpenFile(filepath.Join(directory, w.name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	w.file = file
	w.write(header, 0)
	if err := file.Truncate(segmentCapacity); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *segmentWriter) write(bytes []byte, at int64) {
	w.t.Helper()
	if _, err := w.file.WriteAt(bytes, at); err != nil {
		w.t.Fatal(err)
	}
}

// block makes the block that comes next.
func (w *segmentWriter) block(kind, count uint32, payload []byte) []byte {
	b := make([]byte, 160)
	copy(b, "WBLK")
	binary.LittleEndian.PutUint64(b[8:], w.salt)
	binary.LittleEndian.PutUint64(b[16:], uint64(w.at))
	binary.LittleEndian.PutUint64(b[24:], w.opening)
	binary.LittleEndian.PutUint32(b[32:], kind)
	binary.LittleEndian.PutUint32(b[36:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(b[40:], sum(payload))
	binary.LittleEndian.PutUint32(b[44:], count)
	binary.LittleEndian.PutUint64(b[48:], w.next)
	binary.LittleEndian.PutUint64(b[128:], w.log)
	if kind == 1 {
		binary.LittleEndian.PutUint64(b[64:], w.position)
		binary.LittleEndian.PutUint64(b[72:], w.position+uint64(len(payload)))
	} else {
		binary.LittleEndian.PutUint32(b[56:], 65535)
	}
	binary.LittleEndian.PutUint32(b[4:], sum(b[8:]))
	return append(b, payload...)
}

// append writes blocks of one event each.
func (w *segmentWriter) append(count int) {
	w.t.Helper()
	for ; count > 0; count-- {
		record := make([]byte, 24)
		binary.LittleEndian.PutUint32(record[8:], 17)
		block := w.block(1, 1, record)
		w.write(block, w.at)
		w.at, w.next, w.position = w.at+int64(len(block)), w.next+1, w.position+uint64(len(record))
	}
}

// seal writes the seal, cuts the file behind it, and gives it its sealed name.
func (w *segmentWriter) seal() {
	w.t.Helper()
	payload := make([]byte, 232)
	binary.LittleEndian.PutUint64(payload, w.next)
	binary.LittleEndian.PutUint64(payload[8:], w.next-w.base)
	binary.LittleEndian.PutUint64(payload[224:], uint64(w.at))
	block := w.block(4, 0, payload)
	w.write(block, w.at)
	w.at += int64(len(block))
	err := w.file.Truncate(w.at)
	if err == nil {
		path := filepath.Join(w.directory, w.name)
		err = os.Rename(path, path[:len(path)-len(".active")])
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

const recordBytes = 32 // of the records that makeRing makes

// makeRing makes the ring of a writer that died in this boot, with so many records in the one lane.
func makeRing(t testing.TB, directory string, count int) {
	t.Helper()
	const laneBytes, lanesAt, overhang = 512 << 10, 4096, 4096
	const typesAt = lanesAt + 4096 + laneBytes + overhang
	b := make([]byte, typesAt+4096)
	copy(b, "WEIRRING\x01")
	put64 := func(at int, values ...uint64) {
		for i, value := range values {
			binary.LittleEndian.PutUint64(b[at+8*i:], value)
		}
	}
	put64(16, testOpening, uint64(len(b)), 1)
	put64(40, laneBytes, 64, lanesAt, typesAt-lanesAt, typesAt, 4096, 0)
	copy(b[112:], bootID(t))
	put64(136, testLog)
	put64(lanesAt, uint64(count*recordBytes))
	for i := 0; i < count; i++ {
		record := b[lanesAt+4096+i*recordBytes:][:recordBytes]
		binary.LittleEndian.PutUint32(record[4:], 8)
		binary.LittleEndian.PutUint32(record[8:], 17)
		binary.LittleEndian.PutUint32(record[12:], uint32(i))
		var seed [24]byte
		binary.LittleEndian.PutUint64(seed[:], testOpening)
		binary.LittleEndian.PutUint64(seed[16:], uint64(i*recordBytes))
		binary.LittleEndian.PutUint32(record, sum(seed[:], record[24:], record[4:24]))
	}
	binary.LittleEndian.PutUint32(b[12:], sum(b[16:512]))
	if err := os.WriteFile(filepath.Join(directory, "ring"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// bootID is that of the running boot.
func bootID(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skip(err)
	}
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	return id
}
