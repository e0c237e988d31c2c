package main

import (
	"fmt"
	"math"
	"testing"

	"weir"
)

func TestDates(t *testing.T) {
	for _, each := range []struct {
		seconds float64
		want    string
	}{
		{0, `"2001-01-01T00:00:00Z"`},
		{math.Copysign(0, -1), `"2001-01-01T00:00:00Z"`},
		{0.5, `"2001-01-01T00:00:00.500000000Z"`},
		{-0.5, `"2000-12-31T23:59:59.500000000Z"`},
		{817000000.1, `"2026-11-22T00:26:40.100000024Z"`},
		// Less than half a nanosecond before a second.
		{-1e-10, `"2001-01-01T00:00:00Z"`},
		{1 - 1e-10, `"2001-01-01T00:00:01Z"`},
		{1e-10, `"2001-01-01T00:00:00Z"`},
		// The years that have four digits.
		{-63145526400, `"0000-01-01T00:00:00Z"`},
		{math.Nextafter(-63145526400, -1e300), "-63145526400.00001"},
		{math.Nextafter(252423993600, 0), `"9999-12-31T23:59:59.999969482Z"`},
		{252423993600, "252423993600.0"},
		{math.NaN(), `"NaN"`},
		{math.Inf(1), `"Infinity"`},
	} {
		if got := string(appendDate(nil, each.seconds)); got != each.want {
			t.Errorf("%v: %s, want %s", each.seconds, got, each.want)
		}
	}
}

// TestNamesThatAreNotUTF8 prints them as base64, so that two of them do not look alike.
func TestNamesThatAreNotUTF8(t *testing.T) {
	inner := []weir.Field{{Name: "\x80"}}
	fields := []weir.Field{{Name: "a\xff", Value: "b\xfe"}, {Name: "a\xfe", Value: inner}, {Name: "ö"}}
	if got, want := string(appendValue(nil, fields)), `{"Yf8=":"Yv4=","Yf4=":{"gA==":null},"ö":null}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(appendRaw(nil, &weir.Event{Name: "\xff"})), `{"offset":0,"id":"`+
		`00000000000000000000000000000000","time_ns":0,"event":"/w==","fields":null`; got[:len(want)] != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCharactersThatAreEscaped are those that JSONText.swift escapes: what a terminal, or a reader of lines, takes for
// more than text.
func TestCharactersThatAreEscaped(t *testing.T) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	unsafe := map[rune]bool{0x200e: true, 0x200f: true, 0xfeff: true}
	for _, between := range [][2]rune{{0, 0x1f}, {0x7f, 0x9f}, {0x2028, 0x202e}, {0x2066, 0x2069}} {
		for c := between[0]; c <= between[1]; c++ {
			unsafe[c] = true
		}
	}
	for c := rune(0); c < 0x10400; c++ {
		if c >= 0xd800 && c < 0xe000 {
			continue
		}
		want := string(c)
		if short[c] != "" {
			want = short[c]
		} else if unsafe[c] {
			want = fmt.Sprintf(`\u%04x`, c)
		}
		if got := string(appendString(nil, string(c))); got != `"`+want+`"` {
			t.Errorf("U+%04X: %s, want %s", c, got, want)
		}
	}
}
