package compute

import (
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/text"
)

// MaxLastLines is how many bytes of the last lines of a command a message has, at most.
const MaxLastLines = 1 << 10

// Separators of a message: between its lines, and in place of what is left out.
const (
	betweenLines = " / "
	leftOut      = "…"
)

// WithLastLines returns a message with the last lines that a command wrote behind it, as one
// line that is safe to show. Empty lines count for nothing, and white space is one space. If
// there is no room for all of them the last ones are kept, of a last line that is too long
// the beginning.
func WithLastLines(message, lines string) string {
	message = text.Line(message)
	room := MaxLastLines - len(leftOut+betweenLines)
	var kept []string
	for _, line := range slices.Backward(strings.FieldsFunc(lines, func(r rune) bool { return r == '\n' || r == '\r' })) {
		line = text.Line(strings.Join(strings.Fields(line), " "))
		if line == "" {
			continue
		}
		if len(line) > room && len(kept) == 0 {
			return message + ": " + strings.ToValidUTF8(line[:room], "") + leftOut
		}
		if len(line) > room {
			kept = append(kept, leftOut)
			break
		}
		kept = append(kept, line)
		room = max(0, room-len(line)-len(betweenLines))
	}
	if len(kept) == 0 {
		return message
	}
	slices.Reverse(kept)
	return message + ": " + strings.Join(kept, betweenLines)
}
