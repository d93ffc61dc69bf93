package text

import "regexp"

// MaxMediaType is the most bytes of a media type.
const MaxMediaType = 255

// OctetStream is the media type of content of which nothing is known.
const OctetStream = "application/octet-stream"

// isMediaType follows the grammar of RFC 6838 for the names, and of RFC 9110 for
// parameters.
var isMediaType = func() *regexp.Regexp {
	const (
		name   = `[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}`
		token  = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"
		quoted = `"[^"\\\x00-\x1f\x7f-\x{10ffff}]*"`
	)
	return regexp.MustCompile(`^` + name + `/` + name + `( ?; ?` + token + `=(` + token + `|` + quoted + `))*$`)
}()

// MediaType reports whether s is a media type, such as text/csv or
// text/plain; charset=utf-8.
func MediaType(s string) bool { return len(s) <= MaxMediaType && isMediaType.MatchString(s) }
