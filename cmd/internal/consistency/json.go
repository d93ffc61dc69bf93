package consistency

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
)

// sameJSON reports whether two JSON texts are equal but for the order of members, spaces
// and the way in which strings are escaped. It compares hashes of 64 bits, whose seed is
// new in each process. false may also mean that a text is not JSON, or that a number is
// written in two ways.
func sameJSON(a, b []byte) bool {
	x, okA := hashJSON(a)
	y, okB := hashJSON(b)
	return okA && okB && x == y
}

var hashSeed = maphash.MakeSeed()

func hashJSON(text []byte) (sum uint64, ok bool) {
	h := jsonHash{rest: text, ok: true}
	sum = h.value()
	h.space()
	return sum, h.ok && len(h.rest) == 0
}

// jsonHash hashes a text from its beginning. Of text that is not JSON it may take some
// for JSON: the texts come from encoders.
type jsonHash struct {
	rest []byte
	ok   bool
}

// kinds keep the hashes of different things apart.
const (
	hashObject = iota + 1
	hashArray
	hashText
	hashOther
)

type hashed struct {
	kind        int
	first, then uint64
}

func mix(kind int, first, then uint64) uint64 {
	return maphash.Comparable(hashSeed, hashed{kind, first, then})
}

func (h *jsonHash) space() {
	for len(h.rest) > 0 && (h.rest[0] == ' ' || h.rest[0] == '\n' || h.rest[0] == '\t' || h.rest[0] == '\r') {
		h.rest = h.rest[1:]
	}
}

// next skips a byte, and reports whether it was the next one.
func (h *jsonHash) next(c byte) bool {
	h.space()
	if !h.ok || len(h.rest) == 0 || h.rest[0] != c {
		return false
	}
	h.rest = h.rest[1:]
	return true
}

func (h *jsonHash) value() uint64 {
	switch {
	case h.next('{'):
		return h.object()
	case h.next('['):
		return h.array()
	case h.next('"'):
		return h.text()
	}
	n := bytes.IndexAny(h.rest, ",]} \n\t\r")
	if n < 0 {
		n = len(h.rest)
	}
	h.ok = h.ok && n > 0
	sum := maphash.Bytes(hashSeed, h.rest[:n])
	h.rest = h.rest[n:]
	return mix(hashOther, sum, 0)
}

// object adds the hashes of the members, so that their order does not matter.
func (h *jsonHash) object() uint64 {
	sum, members := uint64(0), uint64(0)
	for !h.next('}') {
		if members > 0 {
			h.ok = h.next(',')
		}
		h.ok = h.ok && h.next('"')
		if !h.ok {
			return 0
		}
		key := h.text()
		h.ok = h.ok && h.next(':')
		sum, members = sum+mix(hashObject, key, h.value()), members+1
	}
	return mix(hashObject, sum, members)
}

func (h *jsonHash) array() uint64 {
	sum, items := uint64(0), uint64(0)
	for !h.next(']') {
		if items > 0 {
			h.ok = h.next(',')
		}
		if !h.ok || len(h.rest) == 0 {
			h.ok = false
			return 0
		}
		sum, items = mix(hashArray, sum, h.value()), items+1
	}
	return mix(hashArray, sum, items)
}

// text hashes a string whose quotation mark was read.
func (h *jsonHash) text() uint64 {
	escaped := false
	for i := 0; i < len(h.rest); i++ {
		switch h.rest[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			text := h.rest[:i]
			h.rest = h.rest[i+1:]
			if escaped {
				var plain string
				h.ok = json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &plain) == nil
				text = []byte(plain)
			}
			return mix(hashText, maphash.Bytes(hashSeed, text), 0)
		}
	}
	h.ok = false
	return 0
}
