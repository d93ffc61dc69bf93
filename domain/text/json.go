package text

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON returns JSON with escapes for the characters that are no text and that
// JSON allows as they are; it means the same. data is valid JSON or whole characters of
// it.
func EscapeJSON(data []byte) []byte {
	if !bytes.ContainsFunc(data, jsonEscapes) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case !jsonEscapes(r):
			out = append(out, data[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[size:]
	}
	return out
}

// jsonEscapes reports whether a character that JSON allows is escaped. Those below a
// space stand between values only.
func jsonEscapes(r rune) bool { return r >= 0x7f && KindOf(r) != Plain }
