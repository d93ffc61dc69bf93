package codec

import (
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// DefaultPrefix is what the subjects of the log begin with unless a setting says
// otherwise.
const DefaultPrefix = "accession.v1"

// Subject returns the one exact subject of an aggregate's events: PREFIX.KIND.TOKEN,
// without the first part when prefix is "". The token is the id with every byte outside
// of a–z, 0–9 and the dash written as _hh, so that no token has a wildcard, a dot or a
// space, and no two ids have the same subject.
func Subject(prefix string, a domain.Aggregate) (string, error) {
	if _, err := domain.ParseAggregate(a.String()); err != nil {
		return "", fmt.Errorf("subject: %w: %w", err, ErrBroken)
	}
	var b strings.Builder
	b.Grow(len(prefix) + len(a.Kind) + len(a.ID) + 2)
	if prefix != "" {
		b.WriteString(prefix)
		b.WriteByte('.')
	}
	b.WriteString(string(a.Kind))
	b.WriteByte('.')
	for i := range len(a.ID) {
		if c := a.ID[i]; plainToken(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'_', lowerHex[c>>4], lowerHex[c&15]})
		}
	}
	return b.String(), nil
}

// plainSubject reports whether a subject is that of a valid aggregate whose id needs no
// escapes, as nearly all ids.
func plainSubject(subject string, a domain.Aggregate) bool {
	token, found := strings.CutPrefix(subject, string(a.Kind))
	if !found || token == "" || token[0] != '.' || token[1:] != a.ID {
		return false
	}
	for i := range len(a.ID) {
		if !plainToken(a.ID[i]) {
			return false
		}
	}
	return true
}

const lowerHex = "0123456789abcdef"

func plainToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
}

// ParseSubject is the inverse of [Subject]; it refuses what Subject never returns.
func ParseSubject(prefix, subject string) (domain.Aggregate, error) {
	rest := subject
	if prefix != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(subject, prefix+"."); !ok {
			return domain.Aggregate{}, fmt.Errorf("subject %q does not begin with %s", subject, prefix)
		}
	}
	kind, token, _ := strings.Cut(rest, ".")
	id := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '_' && i+2 < len(token) {
			hi, lo := strings.IndexByte(lowerHex, token[i+1]), strings.IndexByte(lowerHex, token[i+2])
			if hi < 0 || lo < 0 {
				break
			}
			c, i = byte(hi<<4|lo), i+2
		}
		id = append(id, c)
	}
	a := domain.Aggregate{Kind: domain.Kind(kind), ID: string(id)}
	if again, err := Subject(prefix, a); err != nil || again != subject {
		return domain.Aggregate{}, fmt.Errorf("subject %q names no aggregate", subject)
	}
	return a, nil
}
