package weir

import "unicode/utf8"

// Built-in types. Of an event of typeDynamic the name is in the payload.
const (
	typeGap     = 1
	typeHole    = 2
	typeDynamic = 3
)

const (
	definitionBytes = 32
	flagTagged      = 1
	flagContext     = 2
	typesMax        = 8192
)

// A Definition says what the events of a type are called and have in their payload. All events of a type in an opening
// share one: the pointer may serve as a key until an event of another opening comes.
type Definition struct {
	Name       string
	Tagged     bool   // events carry a tagged object in place of declared fields
	FieldBytes []byte // the fields, as the format has them
	Attributes []byte // a tagged object, of which the format says nothing; nil without one

	number    uint32
	context   bool
	fields    []fieldDescriptor
	sensitive sensitive
}

// definitionIn reads the definition that begins where b does, and answers its size. It is nil if none is valid there.
func definitionIn(b []byte, opening []byte) (*Definition, int) {
	if len(b) < definitionBytes {
		return nil, 0
	}
	size := int(u32(b, 0))
	number, flags := u32(b, 8), u32(b, 12)
	fieldBytes, nameBytes := int(u32(b, 16)), int(u16(b, 20))
	fieldCount, attributeBytes := int(u16(b, 22)), int(u32(b, 24))
	if size < definitionBytes || size > 32768 || size > len(b) || number >= typesMax || u32(b, 28) != 0 {
		return nil, 0
	}
	if fieldBytes > size || attributeBytes > size {
		return nil, 0
	}
	end := definitionBytes + nameBytes + fieldBytes + attributeBytes
	if (end+7)&^7 != size || !isZero(b[end:size]) || crc(opening, b[8:size]) != u32(b, 4) {
		return nil, 0
	}
	fieldsAt := definitionBytes + nameBytes
	own := append([]byte{}, b[fieldsAt:end]...)
	definition := &Definition{
		Name:       string(b[definitionBytes:fieldsAt]),
		Tagged:     flags&flagTagged != 0,
		FieldBytes: own[:fieldBytes:fieldBytes],
		number:     number,
		context:    flags&flagContext != 0,
	}
	if fieldCount > 1024 {
		return nil, 0
	}
	d := decoder{bytes: definition.FieldBytes}
	definition.fields = d.fields(fieldCount, 1)
	if d.failed || len(d.bytes) > 0 {
		return nil, 0
	}
	if attributeBytes > 0 {
		definition.Attributes = own[fieldBytes:]
		attributes, err := Object(definition.Attributes)
		if err != nil || !haveNames(attributes) {
			return nil, 0
		}
		definition.takeSensitive(attributes)
	}
	if definition.context && (attributeBytes == 0 || nameBytes > 0 || fieldBytes > 0) {
		return nil, 0
	}
	return definition, size
}

// haveNames says whether the names of an object's members are UTF-8, and those of the objects within.
func haveNames(value Value) bool {
	switch value := value.(type) {
	case []Field:
		for _, field := range value {
			if !utf8.ValidString(field.Name) || !haveNames(field.Value) {
				return false
			}
		}
	case []Value:
		for _, inner := range value {
			if !haveNames(inner) {
				return false
			}
		}
	}
	return true
}

// definitions are those of one opening, types and contexts, by number. They count for all segments of the opening,
// until definitions of another one are read.
type definitions struct {
	opening uint64
	known   map[uint32]*Definition
}

// begin forgets the definitions of another opening.
func (d *definitions) begin(opening uint64) {
	if d.opening != opening || d.known == nil {
		d.opening, d.known = opening, map[uint32]*Definition{}
	}
}

// take adds the definitions in b, of which the first that has a number counts.
func (d *definitions) take(opening uint64, b []byte) {
	d.begin(opening)
	seed := openingBytes(opening)
	for len(b) > 0 {
		definition, size := definitionIn(b, seed)
		if size == 0 {
			return
		}
		d.add(definition)
		b = b[size:]
	}
}

func (d *definitions) add(definition *Definition) {
	if d.known[definition.number] == nil {
		d.known[definition.number] = definition
	}
}

// find answers what an opening has under a number; nil if nothing.
func (d *definitions) find(opening uint64, number uint32) *Definition {
	if d.opening != opening {
		return nil
	}
	return d.known[number]
}

// builtIn are the types that are in every log, whatever became of their definitions.
var builtIn = [...]*Definition{
	typeGap: builtInType(typeGap, "weir.gap",
		"\x04\x00lane\x08\x06\x00reason\x0c\x07\x00dropped\x09\x05\x00total\x09"),
	typeHole: builtInType(typeHole, "weir.hole",
		"\x06\x00reason\x0c\x04\x00lane\x08\x05\x00bytes\x09\x06\x00events\x10\x09"),
	typeDynamic: builtInType(typeDynamic, "weir.dynamic", ""),
}

func builtInType(number uint32, name, fields string) *Definition {
	definition := &Definition{Name: name, FieldBytes: []byte(fields), number: number}
	d := decoder{bytes: definition.FieldBytes}
	for len(d.bytes) > 0 && !d.failed {
		definition.fields = append(definition.fields, d.fields(1, 1)...)
	}
	return definition
}

func (d *definitions) named(opening uint64, number uint32, context bool) *Definition {
	if found := d.find(opening, number); found != nil && found.context == context {
		return found
	} else if found == nil && !context && number < uint32(len(builtIn)) {
		return builtIn[number]
	}
	return nil
}
