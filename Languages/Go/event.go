package weir

import (
	"fmt"
	"math/bits"
	"time"
)

// An ID names an event for ever: the opening that captured it, and within that the lane in the top 16 bits of the
// sequence and an eighth of the record's position below them. The reader, the recovery and every later reading give the
// same event the same id.
type ID struct {
	Opening, Sequence uint64
}

// String is the id in 32 hexadecimal digits, as all of Weir prints ids.
func (id ID) String() string { return fmt.Sprintf("%016x%016x", id.Opening, id.Sequence) }

// An Event is one event of a log, or a notice of what was lost: "weir.gap" and "weir.hole".
type Event struct {
	Offset     uint64 // numbers the events of the log, from 0
	ID         ID
	TimeNS     int64       // of the capture: nanoseconds since 1970-01-01T00:00:00Z
	Name       string      // not checked to be UTF-8; empty if the definition is lost
	Definition *Definition // nil if it is lost
	Payload    []byte      // the fields, as the format has them

	Context       []byte // what held for the whole process, a tagged object; nil without one, or if it is lost
	ContextNumber uint32 // within the opening; 0: there was no context
	Scope         []byte // what held for this event alone; nil without one

	MonotonicNS    int64 // CLOCK_MONOTONIC of the boot, in nanoseconds
	MonotonicKnown bool
	BootID         [16]byte // of the kernel's boot in which the event was captured; zeros where it is not known
	Host           string   // the host of an event that was collected from there; empty for the log's own
}

// Time is the time of the capture, in UTC.
func (e *Event) Time() time.Time { return time.Unix(0, e.TimeNS).UTC() }

// Fields decodes the payload. It is an error if the payload does not fit the definition, or the definition is lost.
// Costs an allocation for each field that is not an empty or a small number.
func (e *Event) Fields() ([]Field, error) {
	if e.Definition == nil {
		return nil, fmt.Errorf("the definition of event %d (%v) is lost: take Event.Payload as bytes", e.Offset, e.ID)
	}
	d := decoder{bytes: e.Payload}
	var fields []Field
	if e.Definition.isTagged() {
		fields = d.taggedObject(1)
	} else {
		fields = d.object(e.Definition.fields)
	}
	if d.failed || len(d.bytes) > 0 {
		return nil, errPayload
	}
	return fields, nil
}

// A calibration turns ticks into time.
type calibration struct {
	baseTicks   uint64
	wallNS      int64
	multiplier  uint64
	monotonicNS int64
}

func calibrationIn(b []byte) calibration {
	return calibration{u64(b, 0), int64(u64(b, 8)), u64(b, 16), int64(u64(b, 24))}
}

// since is how many nanoseconds after the base the ticks are: a signed difference times an unsigned multiplier in 128
// bits, divided by 2³² and rounded down, of which the lower 64 bits count.
func (c *calibration) since(ticks uint64) int64 {
	difference := ticks - c.baseTicks
	high, low := bits.Mul64(difference, c.multiplier)
	if int64(difference) < 0 {
		high -= c.multiplier
	}
	return int64(high<<32 | low>>32)
}

// set fills an event from a record, whose bytes the event refers to.
func (e *Event) set(record []byte, id ID, clock *calibration, known *definitions) {
	kind := u32(record, 8)
	payload := record[recordBytes:][:u32(record, 4)]
	since := clock.since(u64(record, 16))
	e.ID = id
	e.TimeNS = clock.wallNS + since
	e.MonotonicNS, e.MonotonicKnown = 0, clock.multiplier != 0
	if e.MonotonicKnown {
		e.MonotonicNS = clock.monotonicNS + since
	}
	e.Context, e.Scope, e.Name = nil, nil, ""
	e.ContextNumber = kind >> 16 & 0x7fff
	if e.ContextNumber != 0 {
		if context := known.named(id.Opening, e.ContextNumber, true); context != nil {
			e.Context = context.Attributes
		}
	}
	if kind>>31 != 0 && len(payload) >= 4 {
		end := len(payload) - 4
		if count := u32(payload, end); uint64(count) <= uint64(end) {
			e.Scope = payload[end-int(count) : end : end]
			payload = payload[:end-int(count)]
		}
	}
	e.Payload = payload
	e.Definition = known.named(id.Opening, kind&0xffff, false)
	if e.Definition == nil {
		return
	}
	e.Name = e.Definition.Name
	if kind&0xffff == typeDynamic {
		d := decoder{bytes: payload}
		name := d.text()
		e.Name = ""
		if !d.failed {
			e.Name, e.Payload = string(name), d.bytes
		}
	}
}
