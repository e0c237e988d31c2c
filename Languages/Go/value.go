package weir

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// A Field is a named value. Fields keep the order in which the event has them.
type Field struct {
	Name  string
	Value Value
}

// A Value is one of: nil, bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, string,
// []byte, UUID, Date, []Value (an array) and []Field (an object). A string is given as the bytes that it is: nothing
// checked that they are UTF-8.
type Value interface{}

// A UUID is 16 bytes, in the order in which they are written.
type UUID [16]byte

// A Date is a time in seconds since 2001-01-01T00:00:00Z.
type Date float64

// The kinds of values, as kind descriptors and tagged values have them.
const (
	kindNull = iota
	kindBool
	kindI8
	kindI16
	kindI32
	kindI64
	kindU8
	kindU16
	kindU32
	kindU64
	kindF32
	kindF64
	kindString
	kindBytes
	kindUUID
	kindDate
	kindOptional
	kindArray
	kindObject
	kindTagged
)

// deepest is how deep an optional, an array or an object may be.
const deepest = 16

var errPayload = errors.New("the payload does not fit the event's definition: take Event.Payload as bytes")

// A descriptor is a kind descriptor, taken apart.
type descriptor struct {
	kind   byte
	value  *descriptor       // of an optional and an array
	fields []fieldDescriptor // of an object
}

type fieldDescriptor struct {
	name string
	descriptor
}

// A decoder reads values and descriptors from bytes that may be anything. The first fault ends the reading.
type decoder struct {
	bytes  []byte
	failed bool
}

func (d *decoder) take(count uint64) []byte {
	if d.failed || count > uint64(len(d.bytes)) {
		d.failed = true
		return nil
	}
	taken := d.bytes[:count]
	d.bytes = d.bytes[count:]
	return taken
}

// number takes a number of 1, 2, 4 or 8 bytes; 0 if it is not there.
func (d *decoder) number(count uint64) uint64 {
	var sum uint64
	for i, b := range d.take(count) {
		sum |= uint64(b) << (8 * i)
	}
	return sum
}

func (d *decoder) text() []byte { return d.take(d.number(4)) }

// fields takes descriptors of fields. An object's depth is that of the value that it describes.
func (d *decoder) fields(count int, depth int) []fieldDescriptor {
	var fields []fieldDescriptor
	for ; count > 0 && !d.failed; count-- {
		name := d.take(d.number(2))
		if len(name) == 0 || len(name) > 1024 || !utf8.Valid(name) {
			d.failed = true
			return nil
		}
		fields = append(fields, fieldDescriptor{string(name), d.descriptor(depth)})
	}
	return fields
}

func (d *decoder) descriptor(depth int) descriptor {
	described := descriptor{kind: byte(d.number(1))}
	if described.kind == kindNull || described.kind > kindTagged {
		d.failed = true
		return described
	}
	if described.kind < kindOptional || described.kind == kindTagged {
		return described
	}
	if depth > deepest {
		d.failed = true
		return described
	}
	if described.kind == kindObject {
		count := int(d.number(2))
		if count < 1 || count > 1024 {
			d.failed = true
			return described
		}
		described.fields = d.fields(count, depth+1)
		return described
	}
	value := d.descriptor(depth + 1)
	described.value = &value
	return described
}

// scalar takes a value that is neither optional nor made of others.
func (d *decoder) scalar(kind byte) Value {
	switch kind {
	case kindNull:
		return nil
	case kindBool:
		b := d.number(1)
		if b > 1 {
			d.failed = true
		}
		return b == 1
	case kindI8:
		return int8(d.number(1))
	case kindI16:
		return int16(d.number(2))
	case kindI32:
		return int32(d.number(4))
	case kindI64:
		return int64(d.number(8))
	case kindU8:
		return uint8(d.number(1))
	case kindU16:
		return uint16(d.number(2))
	case kindU32:
		return uint32(d.number(4))
	case kindU64:
		return d.number(8)
	case kindF32:
		return math.Float32frombits(uint32(d.number(4)))
	case kindF64:
		return math.Float64frombits(d.number(8))
	case kindString:
		return string(d.text())
	case kindBytes:
		return append([]byte{}, d.text()...)
	case kindUUID:
		var uuid UUID
		copy(uuid[:], d.take(16))
		return uuid
	case kindDate:
		return Date(math.Float64frombits(d.number(8)))
	}
	d.failed = true
	return nil
}

// count takes the number of values that follow. Each has one byte at least, so what is read takes no more memory than
// a multiple of the payload.
func (d *decoder) count() uint64 {
	count := d.number(4)
	if count > uint64(len(d.bytes)) {
		d.failed = true
		return 0
	}
	return count
}

func (d *decoder) value(described *descriptor) Value {
	switch described.kind {
	case kindOptional:
		present := d.number(1)
		if present > 1 {
			d.failed = true
		}
		if d.failed || present == 0 {
			return nil
		}
		return d.value(described.value)
	case kindArray:
		values := []Value{}
		for count := d.count(); count > 0 && !d.failed; count-- {
			values = append(values, d.value(described.value))
		}
		return values
	case kindObject:
		return d.object(described.fields)
	case kindTagged:
		return d.tagged(1)
	}
	return d.scalar(described.kind)
}

func (d *decoder) object(described []fieldDescriptor) []Field {
	fields := make([]Field, 0, len(described))
	for i := range described {
		if d.failed {
			break
		}
		fields = append(fields, Field{described[i].name, d.value(&described[i].descriptor)})
	}
	return fields
}

func (d *decoder) tagged(depth int) Value {
	kind := byte(d.number(1))
	if kind != kindArray && kind != kindObject {
		return d.scalar(kind)
	}
	if depth > deepest {
		d.failed = true
		return nil
	}
	if kind == kindObject {
		return d.taggedObject(depth + 1)
	}
	values := []Value{}
	for count := d.count(); count > 0 && !d.failed; count-- {
		values = append(values, d.tagged(depth+1))
	}
	return values
}

// taggedObject takes an object without its kind byte, whose members' values have the depth.
func (d *decoder) taggedObject(depth int) []Field {
	fields := []Field{}
	for count := d.count(); count > 0 && !d.failed; count-- {
		name := string(d.text())
		fields = append(fields, Field{name, d.tagged(depth)})
	}
	return fields
}

// Object decodes a tagged object: an event's context or scope, or a definition's attributes. Bytes that are none, or
// that are not used up by one, give an error.
func Object(tagged []byte) ([]Field, error) {
	d := decoder{bytes: tagged}
	fields := d.taggedObject(1)
	if d.failed || len(d.bytes) > 0 {
		return nil, errors.New("the bytes are no tagged object: take them as bytes")
	}
	return fields, nil
}

// String is the UUID in 36 characters, in capital letters.
func (u UUID) String() string {
	return fmt.Sprintf("%X-%X-%X-%X-%X", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
