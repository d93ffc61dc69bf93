package slot

import (
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// ID is the id of a slot: its dataset and its group, DATASET:GROUP. In both, every byte
// but ASCII letters and digits, the dot, the underscore and the dash is percent-encoded.
// So the id can be read by people in a log, is known before the slot exists, and leads
// back to the names.
type ID string

// NewID returns the id of the slot of a group of a dataset.
func NewID(dataset, group string) ID { return ID(escape(dataset) + ":" + escape(group)) }

// ParseID checks that s is the id of a slot, and returns its names.
func ParseID(s string) (id ID, dataset, group string, err error) {
	before, after, ok := strings.Cut(s, ":")
	dataset, group = unescape(before), unescape(after)
	if !ok || NewID(dataset, group) != ID(s) || Check(dataset, group) != nil {
		return "", "", "", fmt.Errorf("%q is not the id of a slot: want DATASET:GROUP, with other bytes than letters, digits and . _ - percent-encoded", s)
	}
	return ID(s), dataset, group, nil
}

// Aggregate names the slot as an aggregate.
func (id ID) Aggregate() domain.Aggregate {
	return domain.Aggregate{Kind: domain.KindSlot, ID: string(id)}
}

const upperHex = "0123456789ABCDEF"

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return b.String()
}

// unescape is the inverse of escape; of what escape never returns it returns anything.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
			if hi >= 0 && lo >= 0 {
				c, i = byte(hi<<4|lo), i+2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
