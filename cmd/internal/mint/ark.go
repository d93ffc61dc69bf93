package mint

import (
	"fmt"
	"strings"
)

// ARK is a parsed identifier.
type ARK struct {
	NAAN string // lower case
	Name string // everything after the NAAN's slash, without hyphens
}

// String returns the normal form, ark:/NAAN/name: two ARKs name the same thing
// when their normal forms are equal.
func (a ARK) String() string { return "ark:/" + a.NAAN + "/" + a.Name }

// hyphens have no meaning in an ARK: line breaking and word processors add
// them and turn them into their look-alikes.
var hyphens = strings.NewReplacer("-", "", "\u2010", "", "\u2011", "", "\u2012", "", "\u2013", "", "\u2014", "", "\u2015", "")

// Parse parses an ARK in any of its spellings: with or without the slash after
// the label, label and NAAN in any case, hyphens anywhere after the label, a
// resolver's address in front. The case of the name counts. The error is an
// *Error with CodeARKInvalid.
func Parse(s string) (ARK, error) {
	if len(s) > 2048 {
		return ARK{}, invalid(s[:40]+"...", "it is longer than 2,048 bytes")
	}
	rest := s
	if at := strings.Index(rest, "://"); at >= 0 {
		_, rest, _ = strings.Cut(rest[at+3:], "/")
	}
	if len(rest) < 4 || !strings.EqualFold(rest[:4], "ark:") {
		return ARK{}, invalid(s, "it does not begin with ark:/")
	}
	rest = hyphens.Replace(strings.TrimPrefix(rest[4:], "/"))
	naan, name, _ := strings.Cut(rest, "/")
	naan = strings.ToLower(naan)
	if !isNAAN(naan) {
		return ARK{}, invalid(s, fmt.Sprintf("after ark:/ it needs an authority number of %d to %d digits or consonants", minNAAN, maxNAAN))
	}
	name = strings.TrimRight(name, "/")
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case name == "":
			return ARK{}, invalid(s, "it has no name after the authority number")
		case part == "" || part == "." || part == "..":
			return ARK{}, invalid(s, fmt.Sprintf("its name has the part %q, which names nothing", part))
		}
	}
	if name = strings.TrimRight(name, "./"); strings.HasPrefix(name, ".") {
		return ARK{}, invalid(s, "its name begins with a dot")
	}
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\^{|}`+"`?#", r) {
			return ARK{}, invalid(s, fmt.Sprintf("%q may not stand in a name", r))
		}
	}
	return ARK{NAAN: naan, Name: name}, nil
}

func invalid(s, why string) error {
	return &Error{Code: CodeARKInvalid, Message: fmt.Sprintf("identifier %q is not an ARK: %s", s, why)}
}
