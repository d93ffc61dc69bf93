package entry

import (
	"fmt"
	"strconv"
	"strings"
)

// Name is the name of the nodes of an entry. It has all that a worker needs to choose, so
// that one listing of names shows it.
type Name struct {
	Priority Priority
	Group
	Sequence int64 // the number of the entry, in the order of requests
}

// MaxSequence is the highest number of an entry.
const MaxSequence = 9_999_999_999

// String returns entry-PRIORITY-DATASET:GROUP-SEQUENCE, with 3 digits of the priority and 10
// of the sequence; dataset and group are percent-encoded.
func (n Name) String() string {
	return fmt.Sprintf("entry-%03d-%s:%s-%010d", n.Priority, encode(n.Dataset), encode(n.Group.Group), n.Sequence)
}

// ParseName is the inverse of [Name.String]: it refuses a text that is not the name of an
// entry in exactly that form.
func ParseName(s string) (n Name, err error) {
	wrong := func() (Name, error) {
		return Name{}, fmt.Errorf("%q is not the name of an entry: want entry-PRIORITY-DATASET:GROUP-SEQUENCE, for example entry-100-maps:2026-0000000042", s)
	}
	parts := strings.Split(s, "-")
	if len(parts) != 4 || parts[0] != "entry" {
		return wrong()
	}
	priority, perr := strconv.ParseUint(parts[1], 10, 16)
	sequence, serr := strconv.ParseUint(parts[3], 10, 62)
	dataset, group, ok := strings.Cut(parts[2], ":")
	if perr != nil || serr != nil || !ok {
		return wrong()
	}
	n = Name{Priority: Priority(priority), Sequence: int64(sequence)} //nolint:gosec // 62 bits
	if n.Dataset, ok = decode(dataset); !ok {
		return wrong()
	}
	if n.Group.Group, ok = decode(group); !ok {
		return wrong()
	}
	if n.Priority > MaxPriority || n.Sequence < 1 || n.Sequence > MaxSequence || n.String() != s {
		return wrong()
	}
	if err := (Work{Dataset: n.Dataset, Group: n.Group.Group, Key: "-"}).Check(); err != nil {
		return wrong()
	}
	return n, nil
}

const hexDigits = "0123456789ABCDEF"

// encode percent-encodes what a name cannot hold: its own separators, what no node may be
// named, and all that is not ASCII.
func encode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

func plain(c byte) bool { return c > ' ' && c < 0x7f && !strings.ContainsRune("-:/%", rune(c)) }

// decode is the inverse of encode, for what may be its result.
func decode(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b, i = append(b, byte(c)), i+2
	}
	return string(b), true
}
