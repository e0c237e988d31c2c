package weir

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// errLZ4 is the answer to every block that is not LZ4: which byte is at fault matters to nobody, for the whole block is
// lost with it.
var errLZ4 = errors.New("not an LZ4 block")

// A block ends with literals: no match ends in the last five bytes of its content, and only the last literals reach
// into the last twelve. Behind all other literals are an offset, a token and five literals.
const (
	lz4LastLiterals = 5
	lz4MatchRoom    = 12
	lz4EndBytes     = 8
)

// decodeLZ4 appends the content of an LZ4 block to history, and answers both. Matches may reach back into history. More
// than limit bytes of content are refused, so a forged block costs no more memory than its frame allows. With an error
// comes what the block gave before its fault.
func decodeLZ4(history, block []byte, limit int) ([]byte, error) {
	out, end := history, len(history)+limit
	for at := 0; at < len(block); {
		token := block[at]
		literals, after, ok := lz4Length(block, at+1, int(token>>4))
		left := len(block) - after
		if !ok {
			return out, errLZ4
		}
		last := literals > end-len(out)-lz4MatchRoom || literals+lz4EndBytes > left
		if last && (literals != left || literals > end-len(out)) {
			return out, errLZ4
		}
		out = append(out, block[after:after+literals]...)
		at = after + literals
		if last {
			return out, nil
		}
		distance := int(binary.LittleEndian.Uint16(block[at:]))
		match, after, ok := lz4Length(block, at+2, int(token&15))
		match += 4
		if !ok || distance > len(out) || match > end-len(out)-lz4LastLiterals {
			return out, errLZ4
		}
		if distance == 0 {
			// Only a damaged block has it; what follows may be whole all the same.
			out = append(out, make([]byte, match)...)
		}
		for from := len(out) - distance; match > 0 && distance > 0; {
			// A match may overlap what it makes: each round copies what is there, and doubles it.
			count := min(match, len(out)-from)
			out = append(out, out[from:from+count]...)
			match -= count
		}
		at = after
	}
	// A block ends with literals, if only with none.
	return out, errLZ4
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// lz4Length reads the rest of a length whose first four bits are short, and answers the length and where it ends.
func lz4Length(block []byte, at, short int) (length, after int, ok bool) {
	length = short
	if short < 15 {
		return length, at, true
	}
	for at < len(block) && length < 1<<30 {
		more := block[at]
		at++
		length += int(more)
		if more != 255 {
			return length, at, true
		}
	}
	return 0, 0, false
}

const (
	prime1 uint32 = 2654435761
	prime2 uint32 = 2246822519
	prime3 uint32 = 3266489917
	prime4 uint32 = 668265263
	prime5 uint32 = 374761393
)

// xxh32 is the XXH32 of data with the seed 0, which LZ4 frames have as their checksum.
func xxh32(data []byte) uint32 {
	var hash uint32
	rest := data
	if len(data) >= 16 {
		var seed uint32 // a variable, because the sums wrap around, which constants may not
		v1, v2, v3, v4 := seed+prime1+prime2, seed+prime2, seed, seed-prime1
		for len(rest) >= 16 {
			v1 = bits.RotateLeft32(v1+binary.LittleEndian.Uint32(rest)*prime2, 13) * prime1
			v2 = bits.RotateLeft32(v2+binary.LittleEndian.Uint32(rest[4:])*prime2, 13) * prime1
			v3 = bits.RotateLeft32(v3+binary.LittleEndian.Uint32(rest[8:])*prime2, 13) * prime1
			v4 = bits.RotateLeft32(v4+binary.LittleEndian.Uint32(rest[12:])*prime2, 13) * prime1
			rest = rest[16:]
		}
		hash = bits.RotateLeft32(v1, 1) + bits.RotateLeft32(v2, 7) + bits.RotateLeft32(v3, 12) + bits.RotateLeft32(v4, 18)
	} else {
		hash = prime5
	}
	hash += uint32(len(data))
	for ; len(rest) >= 4; rest = rest[4:] {
		hash = bits.RotateLeft32(hash+binary.LittleEndian.Uint32(rest)*prime3, 17) * prime4
	}
	for _, b := range rest {
		hash = bits.RotateLeft32(hash+uint32(b)*prime5, 11) * prime1
	}
	hash = (hash ^ hash>>15) * prime2
	hash = (hash ^ hash>>13) * prime3
	return hash ^ hash>>16
}
