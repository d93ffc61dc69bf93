package setting

import (
	"fmt"
	"strings"
)

// Profile names the content that a profile was set to while the service runs. The content
// itself has addresses, so that it is in no event: the schema record has it, by name and
// version.
type Profile struct {
	Version string `json:"version"` // the first digits of SHA256
	SHA256  string `json:"sha256"`  // of the content as it is kept, in hexadecimal
}

const (
	// maxName bounds the name of a profile, a dataset or a discovery, in bytes.
	maxName = 64
	// digits is the length of a SHA-256 in hexadecimal, and minDigits of the shortest version.
	digits, minDigits = 64, 12
)

// CheckName refuses what cannot be the name of a profile, a dataset or a discovery.
func CheckName(of, name string) error {
	plain := func(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '-' }
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) || strings.ContainsAny(name[:1], "_-") {
		return fmt.Errorf("%q is not the name of a %s: use 1 to %d of a–z, 0–9, _ and -, the first a letter or digit", name, of, maxName)
	}
	return nil
}

// Check refuses what cannot name a content. p may be nil: nothing is set.
func (p *Profile) Check() error {
	hex := func(r rune) bool { return '0' <= r && r <= '9' || 'a' <= r && r <= 'f' }
	switch {
	case p == nil:
		return nil
	case len(p.SHA256) != digits || strings.ContainsFunc(p.SHA256, func(r rune) bool { return !hex(r) }):
		return fmt.Errorf("%q is not the SHA-256 of a profile", p.SHA256)
	case len(p.Version) < minDigits || !strings.HasPrefix(p.SHA256, p.Version):
		return fmt.Errorf("%q is not the version of a profile: it is the first digits of %s", p.Version, p.SHA256)
	}
	return nil
}
