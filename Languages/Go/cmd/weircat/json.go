package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir"
)

// appendCompared appends an event as readers are compared.
func appendCompared(b []byte, e *weir.Event) []byte {
	b = appendHead(b, e)
	b = appendHex(b, []byte(e.Name))
	return appendBytes(append(b, ','), e)
}

// appendShown appends an event as weir cat does.
func appendShown(b []byte, e *weir.Event, showSensitive bool) []byte {
	name, fields := e.Name, []weir.Field(nil)
	if name == "" {
		name = "weir.undefined" // the definition is lost
	}
	if showSensitive {
		var err error
		if fields, err = e.Fields(); err != nil {
			fields = []weir.Field{{Name: "payload", Value: e.Payload}}
		}
	} else {
		fields = e.Redacted()
	}
	b = appendOffset(b, e)
	b = append(b, `,"time":"`...)
	b = e.Time().AppendFormat(b, "2006-01-02T15:04:05.000000000Z")
	b = appendText(append(b, `","event":`...), name)
	b = appendValue(append(b, `,"fields":`...), fields)
	return append(b, "}\n"...)
}

// appendRaw appends an event as stored: its fields, and the bytes behind them.
func appendRaw(b []byte, e *weir.Event) []byte {
	b = appendHead(b, e)
	b = appendText(b, e.Name)
	b = append(b, `,"fields":`...)
	if fields, err := e.Fields(); err == nil {
		b = appendValue(b, fields)
	} else {
		b = append(b, "null"...)
	}
	return appendBytes(append(b, ','), e)
}

func appendOffset(b []byte, e *weir.Event) []byte {
	b = append(b, `{"offset":`...)
	b = strconv.AppendUint(b, e.Offset, 10)
	b = append(b, `,"id":"`...)
	b = append(b, e.ID.String()...)
	return append(b, '"')
}

func appendHead(b []byte, e *weir.Event) []byte {
	b = appendOffset(b, e)
	b = append(b, `,"time_ns":`...)
	b = strconv.AppendInt(b, e.TimeNS, 10)
	return append(b, `,"event":`...)
}

func appendBytes(b []byte, e *weir.Event) []byte {
	var fields, attributes []byte
	if e.Definition != nil {
		fields, attributes = e.Definition.FieldBytes, e.Definition.Attributes
	}
	b = appendHex(append(b, `"payload":`...), e.Payload)
	b = appendHex(append(b, `,"definition":`...), fields)
	b = appendHex(append(b, `,"attributes":`...), attributes)
	b = append(b, `,"context":`...)
	b = strconv.AppendUint(b, uint64(e.ContextNumber), 10)
	b = appendHexOrNull(append(b, `,"context_bytes":`...), e.Context)
	b = appendHexOrNull(append(b, `,"scope":`...), e.Scope)
	b = append(b, `,"monotonic_ns":`...)
	if e.MonotonicKnown {
		b = strconv.AppendInt(b, e.MonotonicNS, 10)
	} else {
		b = append(b, "null"...)
	}
	b = appendHex(append(b, `,"boot_id":`...), e.BootID[:])
	return append(b, "}\n"...)
}

func appendHex(b, bytes []byte) []byte {
	b = append(b, '"')
	start := len(b)
	b = append(b, make([]byte, 2*len(bytes))...)
	hex.Encode(b[start:], bytes)
	return append(b, '"')
}

func appendHexOrNull(b, bytes []byte) []byte {
	if bytes == nil {
		return append(b, "null"...)
	}
	return appendHex(b, bytes)
}

func appendValue(b []byte, value weir.Value) []byte {
	switch value := value.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, value)
	case float32:
		return appendFloat(b, float64(value), 32)
	case float64:
		return appendFloat(b, value, 64)
	case string:
		return appendText(b, value)
	case []byte:
		return appendBase64(b, value)
	case weir.UUID:
		return appendString(b, value.String())
	case weir.Date:
		return appendDate(b, float64(value))
	case []weir.Value:
		b = append(b, '[')
		for i, inner := range value {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, inner)
		}
		return append(b, ']')
	case []weir.Field:
		b = append(b, '{')
		for i, field := range value {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, field.Name), ':')
			b = appendValue(b, field.Value)
		}
		return append(b, '}')
	}
	return append(b, fmt.Sprint(value)...) // the integers
}

// appendText appends a text or a name, as base64 if the bytes are not UTF-8.
func appendText(b []byte, text string) []byte {
	if !utf8.ValidString(text) {
		return appendBase64(b, []byte(text))
	}
	return appendString(b, text)
}

func appendBase64(b, bytes []byte) []byte {
	return append(append(append(b, '"'), base64.StdEncoding.EncodeToString(bytes)...), '"')
}

// appendFloat appends the shortest digits that mean the same number. JSON has no infinities.
func appendFloat(b []byte, value float64, bits int) []byte {
	switch {
	case math.IsNaN(value):
		return append(b, `"NaN"`...)
	case math.IsInf(value, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(value, -1):
		return append(b, `"-Infinity"`...)
	}
	format := byte('f')
	if size := math.Abs(value); size != 0 && (size < 1e-4 || size >= 1e16) {
		format = 'e'
	}
	start := len(b)
	b = strconv.AppendFloat(b, value, format, -1, bits)
	if format == 'f' && !strings.Contains(string(b[start:]), ".") {
		b = append(b, ".0"...)
	}
	return b
}

// appendDate appends a date as ISO 8601 has dates, rounded to the nearest nanosecond, or as a number where the year has
// not four digits.
func appendDate(b []byte, seconds float64) []byte {
	const reference = 978307200 // 2001-01-01 in seconds since 1970
	if !(seconds >= -62167219200-reference && seconds < 253402300800-reference) {
		return appendFloat(b, seconds, 64)
	}
	whole := math.Floor(seconds)
	nanoseconds := int64(math.Round((seconds - whole) * 1e9))
	date := time.Unix(int64(whole)+reference, nanoseconds).UTC() // 1e9 nanoseconds are a second more
	layout := "2006-01-02T15:04:05Z"
	if date.Nanosecond() != 0 {
		layout = "2006-01-02T15:04:05.000000000Z"
	}
	return append(append(append(b, '"'), date.Format(layout)...), '"')
}

// isUnsafe says whether a character changes in transit or in a terminal: control characters, U+2028 and U+2029, which
// separate lines, characters that change the writing direction, U+FEFF.
func isUnsafe(c rune) bool {
	return c < ' ' || c >= 0x7f && c <= 0x9f || c == 0x200e || c == 0x200f || c >= 0x2028 && c <= 0x202e ||
		c >= 0x2066 && c <= 0x2069 || c == 0xfeff
}

func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case isUnsafe(c):
			b = append(b, fmt.Sprintf(`\u%04x`, c)...)
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
